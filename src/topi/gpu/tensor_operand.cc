#include "topi/gpu/tensor_operand.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "arith/linear.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "topi/gpu/nest.h"

namespace tessera::topi {
namespace {

constexpr size_t kImageAxes = 4;  // images, rows, columns, channels
constexpr int64_t kUnitBytes = 16;

/// factor of each variable, in order, and what is left.
struct LinearForm {
  std::vector<int64_t> factors;
  int64_t rest = 0;
  bool operator==(const LinearForm&) const = default;
};

std::optional<LinearForm> linear_form(const PrimExpr& value, const std::vector<Var>& vars) {
  arith::Analyzer analyzer;
  const Array<PrimExpr> parts =
      arith::detect_linear_equation(analyzer.simplify(value), Array<Var>(vars.begin(), vars.end()));
  if (parts.empty()) return std::nullopt;
  LinearForm out;
  for (size_t i = 0; i < parts.size(); ++i) {
    const PrimExpr part = analyzer.simplify(parts[i]);
    const int64_t* known = as_int(part);
    if (!known) return std::nullopt;
    if (i < vars.size()) out.factors.push_back(*known);
    else out.rest = *known;
  }
  return out;
}

LinearForm minus(LinearForm a, const LinearForm& b) {
  for (size_t i = 0; i < a.factors.size(); ++i) a.factors[i] -= b.factors[i];
  a.rest -= b.rest;
  return a;
}

void split_and(const PrimExpr& condition, std::vector<PrimExpr>* out) {
  if (auto* both = condition.as<And>()) {
    split_and(both->a, out);
    split_and(both->b, out);
  } else if (auto* call = condition.as<Call>(); call && is_call(call, "tir.likely")) {
    split_and(call->args[0], out);
  } else if (auto* call = condition.as<Call>(); call && is_call(call, "tir.bitwise_and")) {
    split_and(call->args[0], out);
    split_and(call->args[1], out);
  } else {
    out->push_back(condition);
  }
}

/// A comparison as a form that is at least 0 where it holds.
std::optional<LinearForm> comparison(const PrimExpr& condition, const std::vector<Var>& vars) {
  auto form = [&](const PrimExpr& greater, const PrimExpr& less, int64_t least) -> std::optional<LinearForm> {
    auto a = linear_form(greater, vars), b = linear_form(less, vars);
    if (!a || !b) return std::nullopt;
    LinearForm out = minus(*a, *b);
    out.rest -= least;
    return out;
  };
  if (auto* op = condition.as<LT>()) return form(op->b, op->a, 1);
  if (auto* op = condition.as<LE>()) return form(op->b, op->a, 0);
  if (auto* op = condition.as<GT>()) return form(op->a, op->b, 1);
  if (auto* op = condition.as<GE>()) return form(op->a, op->b, 0);
  return std::nullopt;
}

struct WindowAxes {
  std::vector<Var> vars;  // images, positions, window elements, channels
  std::vector<int64_t> extents;
};

/// The only variables of the form, and no others, have factors.
bool has_only(const LinearForm& form, std::initializer_list<int> allowed) {
  for (size_t i = 0; i < form.factors.size(); ++i)
    if (form.factors[i] != 0 && std::find(allowed.begin(), allowed.end(), static_cast<int>(i)) == allowed.end())
      return false;
  return true;
}

int64_t least_of(const LinearForm& form, const std::vector<int64_t>& extents) {
  int64_t out = form.rest;
  for (size_t i = 0; i < extents.size(); ++i) out += std::min<int64_t>(0, form.factors[i] * (extents[i] - 1));
  return out;
}

/// Whether elements are zeros just where a row or a column is outside of the image.
bool condition_is_border(const PrimExpr& condition, const std::vector<Var>& vars, const std::vector<int64_t>& extents,
                         const std::vector<LinearForm>& borders) {
  std::vector<PrimExpr> parts;
  split_and(condition, &parts);
  std::vector<bool> is_asked(borders.size(), false);
  for (const PrimExpr& part : parts) {
    if (is_one(part)) continue;
    std::optional<LinearForm> form = comparison(part, vars);
    if (!form) return false;
    auto border = std::find(borders.begin(), borders.end(), *form);
    if (border != borders.end()) is_asked[static_cast<size_t>(border - borders.begin())] = true;
    else if (least_of(*form, extents) < 0) return false;
  }
  for (size_t i = 0; i < borders.size(); ++i)
    if (!is_asked[i] && least_of(borders[i], extents) < 0) return false;
  return true;
}

/// The axis of `axes` among those that are left, of which an index is made.
std::optional<TensorOperand> as_windows(const GpuContraction& c, const GemmOperand& operand, const GemmAxes& rows) {
  if (!operand.load || !operand.flat || !c.batch.vars.empty()) return std::nullopt;
  const Array<PrimExpr>&indices = operand.load->indices, &shape = operand.load->buffer->shape;
  if (indices.size() != kImageAxes || rows.vars.size() > 3 || c.k.vars.size() > 3) return std::nullopt;
  std::vector<Var> vars;
  std::vector<int64_t> extents;
  for (const GemmAxes* axes : {&rows, &c.k})
    for (size_t i = 0; i < axes->vars.size(); ++i) {
      const int64_t* extent = as_int(axes->extents[i]);
      if (!extent) return std::nullopt;
      vars.push_back(axes->vars[i]);
      extents.push_back(*extent);
    }
  std::vector<LinearForm> forms;
  for (const PrimExpr& index : indices) {
    auto form = linear_form(index, vars);
    if (!form) return std::nullopt;
    forms.push_back(*form);
  }
  // which variable is what; -1 for axes of one iteration, which have none
  const int count = static_cast<int>(vars.size()), in_rows = static_cast<int>(rows.vars.size());
  auto only_of = [&](const LinearForm& form, int from, int to) {
    int out = -1;
    for (int i = from; i < to; ++i)
      if (form.factors[static_cast<size_t>(i)] != 0) out = out == -1 ? i : -2;
    return out;
  };
  const int image = only_of(forms[0], 0, in_rows), row = only_of(forms[1], 0, in_rows),
            column = only_of(forms[2], 0, in_rows), down = only_of(forms[1], in_rows, count),
            across = only_of(forms[2], in_rows, count), channel = only_of(forms[3], in_rows, count);
  for (int found : {image, row, column, down, across, channel})
    if (found == -2) return std::nullopt;
  auto factor = [&](size_t form, int var) { return var < 0 ? 0 : forms[form].factors[static_cast<size_t>(var)]; };
  auto extent = [&](int var) { return var < 0 ? int64_t{1} : extents[static_cast<size_t>(var)]; };
  if (!has_only(forms[0], {image}) || !has_only(forms[1], {row, down}) || !has_only(forms[2], {column, across}) ||
      !has_only(forms[3], {channel}))
    return std::nullopt;
  if ((image >= 0 && factor(0, image) != 1) || forms[0].rest != 0 || factor(3, channel) != 1 || forms[3].rest != 0)
    return std::nullopt;
  // rows count images, rows, columns; k counts window elements, then channels
  auto in_order = [](std::initializer_list<int> found, int from, int to) {
    int next = from;
    for (int var : found)
      if (var >= 0 && var != next++) return false;
    return next == to;
  };
  if (!in_order({image, row, column}, 0, in_rows) || !in_order({down, across, channel}, in_rows, count))
    return std::nullopt;

  int64_t sizes[kImageAxes];
  for (size_t i = 0; i < kImageAxes; ++i) {
    const int64_t* size = as_int(shape[i]);
    if (!size) return std::nullopt;
    sizes[i] = *size;
  }
  if (extent(image) > sizes[0] || extent(channel) > sizes[3]) return std::nullopt;
  TensorOperand out{.operand = operand};
  const int64_t bytes = operand.dtype.bytes();
  if (extent(channel) % out.line() != 0 || sizes[3] * bytes % kUnitBytes != 0) return std::nullopt;
  const std::vector<LinearForm> borders = [&] {
    std::vector<LinearForm> all;
    for (size_t axis : {size_t{1}, size_t{2}}) {
      LinearForm from_end;
      for (int64_t f : forms[axis].factors) from_end.factors.push_back(-f);
      from_end.rest = sizes[axis] - 1 - forms[axis].rest;
      all.push_back(forms[axis]);
      all.push_back(from_end);
    }
    return all;
  }();
  if (!condition_is_border(operand.condition, vars, extents, borders)) return std::nullopt;
  out.map.dtype = operand.dtype;
  out.map.extents = {extent(channel), sizes[2], sizes[1], extent(image)};
  out.map.strides = {sizes[3] * bytes, sizes[2] * sizes[3] * bytes, sizes[1] * sizes[2] * sizes[3] * bytes};
  struct Axis {
    size_t form;
    int position, element;
    int64_t size;
  };
  for (const Axis& axis : {Axis{2, column, across, sizes[2]}, Axis{1, row, down, sizes[1]}}) {
    const int64_t step = axis.position < 0 ? 1 : factor(axis.form, axis.position), begin = forms[axis.form].rest;
    const int64_t dilation = axis.element < 0 ? 1 : factor(axis.form, axis.element);
    if (step < 1 || step > 8 || dilation < 1 || dilation * (extent(axis.element) - 1) > 255) return std::nullopt;
    out.begins.push_back(begin);
    out.steps.push_back(step);
    out.dilation.push_back(dilation);
    out.map.lower.push_back(begin);
    out.map.upper.push_back(begin + (extent(axis.position) - 1) * step + 1 - axis.size);
    out.map.steps.push_back(step);
  }
  for (const auto* corner : {&out.map.lower, &out.map.upper})
    for (int64_t value : *corner)
      if (value < -128 || value > 127) return std::nullopt;
  out.positions = {number(extent(image)), number(extent(row)), number(extent(column))};
  out.elements = {number(extent(down)), number(extent(across)), number(extent(channel))};
  return out;
}

}  // namespace

std::optional<TensorOperand> as_tensor_operand(const GpuContraction& c, const GemmOperand& given,
                                               const GemmAxes& rows) {
  if (!given.load || !given.flat || c.is_dynamic()) return std::nullopt;
  const auto [operand, batch] = in_batch_digits(c, given, rows);
  if (!operand.load || !operand.flat) return std::nullopt;
  const int64_t bytes = operand.dtype.bytes();
  if (!is_one(operand.condition) || !operand.is_linear_in_k || !operand.is_linear_in_row)
    return &rows == &c.m ? as_windows(c, operand, rows) : std::nullopt;
  TensorOperand out{.operand = operand, .along_k = operand.lies_along_k(), .batch = batch};
  if (operand.lanes() * bytes != kUnitBytes) return std::nullopt;
  std::vector<Var> all{c.k.vars.back(), rows.vars.back()};
  all.insert(all.end(), batch.vars.begin(), batch.vars.end());
  Map<Var, PrimExpr> zeros;
  for (const GemmAxes* axes : {&rows, &c.k})
    for (size_t i = 0; i + 1 < axes->vars.size(); ++i) zeros.set(axes->vars[i], make_zero(axes->vars[i]->dtype));
  std::optional<LinearForm> form = linear_form(substitute(operand.index, zeros), all);
  if (!form || all.size() > 5 || form->rest < 0) return std::nullopt;
  out.map.dtype = operand.dtype;
  out.map.offset = form->rest;
  const int64_t k_step = form->factors[0], row_step = form->factors[1];
  if ((out.along_k ? k_step : row_step) != 1) return std::nullopt;
  out.map.extents = {out.along_k ? c.k.known : rows.known, out.along_k ? rows.known : c.k.known};
  out.map.strides = {(out.along_k ? row_step : k_step) * bytes};
  for (size_t i = batch.vars.size(); i-- > 0;) {
    out.map.extents.push_back(*as_int(batch.extents[i]));
    out.map.strides.push_back(form->factors[2 + i] * bytes);
  }
  for (int64_t stride : out.map.strides)
    if (stride <= 0 || stride % kUnitBytes != 0) return std::nullopt;
  return out;
}

Stmt copy_box(const TensorOperand& tensor, const PrimExpr& batch, const PrimExpr& row, const PrimExpr& k, int64_t rows,
              const Buffer& memory, const PrimExpr& to, const PrimExpr& barrier, const PrimExpr& mask) {
  const int64_t line = tensor.line();
  cuda::TensorMap map = tensor.map;
  auto copy = [&](const PrimExpr& target, const std::vector<PrimExpr>& coordinates,
                  const std::vector<PrimExpr>& offsets) {
    Array<PrimExpr> args{string_imm(map.text()),
                         tensor.operand.flat->data,
                         memory->data,
                         target,
                         barrier,
                         mask,
                         number(static_cast<int64_t>(coordinates.size()))};
    for (const PrimExpr& coordinate : coordinates) args.push_back(coordinate);
    for (const PrimExpr& offset : offsets) args.push_back(offset);
    return evaluate(make_call(DataType::Int(32), "tir.ptx_tensor_copy", args));
  };
  if (tensor.has_windows()) {
    map.box = {line, rows};
    const std::vector<PrimExpr> at = digits_of(row, tensor.positions), element = digits_of(k, tensor.elements);
    return copy(to,
                {element[2], at[2] * number(tensor.steps[0]) + number(tensor.begins[0]),
                 at[1] * number(tensor.steps[1]) + number(tensor.begins[1]), at[0]},
                {element[1] * number(tensor.dilation[0]), element[0] * number(tensor.dilation[1])});
  }
  std::vector<PrimExpr> matrix = digits_of(batch, tensor.batch.extents);
  std::reverse(matrix.begin(), matrix.end());
  auto coordinates = [&](const PrimExpr& first, const PrimExpr& second) {
    std::vector<PrimExpr> out{first, second};
    out.insert(out.end(), matrix.begin(), matrix.end());
    return out;
  };
  map.box = tensor.along_k ? std::vector<int64_t>{line, rows} : std::vector<int64_t>{line, line};
  map.box.resize(map.extents.size(), 1);
  if (tensor.along_k) return copy(to, coordinates(k, row), {});
  std::vector<Stmt> parts;  // each of as many rows as a line holds
  for (int64_t first = 0; first < rows; first += line)
    parts.push_back(copy(to + number(first * line), coordinates(row + number(first), k), {}));
  return sequence(parts);
}

}  // namespace tessera::topi

#include "topi/cpu/contraction/matmul.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "topi/cpu/number.h"

namespace tessera::topi {
namespace {

constexpr int64_t kMaxElements = INT32_MAX;

const DataType kInt32 = DataType::Int(32);

/// index * factor, without a term that is nothing.
PrimExpr times(const PrimExpr& index, int64_t factor) {
  return factor == 0 ? make_zero(index.dtype()) : index * make_const(index.dtype(), factor);
}

bool is_zero_number(const PrimExpr& value) {
  auto* constant = value.as<FloatImm>();
  return constant ? constant->value == 0 : is_zero(value);
}

const BufferLoad* load_of(const PrimExpr& value) {
  auto* widened = value.as<Cast>();
  return (widened ? widened->value : value).as<BufferLoad>();
}

struct Factors {
  const BufferLoad *a, *b;
};

/// The two factors of `C[...] = C[...] + x * y`, which may be cast to the type of C; nothing for other statements.
std::optional<Factors> factors_of(const BlockNode* block) {
  auto* store = block->body.as<BufferStore>();
  auto* sum = store ? store->value.as<Add>() : nullptr;
  auto* multiply = sum ? sum->b.as<Mul>() : nullptr;
  auto* before = sum ? sum->a.as<BufferLoad>() : nullptr;
  auto *x = multiply ? load_of(multiply->a) : nullptr, *y = multiply ? load_of(multiply->b) : nullptr;
  if (!x || !y || !before || !before->buffer.same_as(store->buffer)) return {};
  auto* init = block->init.as<BufferStore>();
  if (!init || !is_zero_number(init->value)) return {};
  return Factors{x, y};
}

bool is_parameter(const PrimFunc& function, const Buffer& buffer) {
  return std::any_of(function->params.begin(), function->params.end(),
                     [&](const Var& param) { return buffer.same_as(function->buffer_map.get_or_null(param)); });
}

/// The tensor with one dimension; empty where it is not compact, or too large for indices of 32 bits. Extents may be dynamic where
/// indices are of 64.
Buffer flattened(const Buffer& buffer, bool may_be_dynamic) {
  if (!buffer->strides.empty() || (buffer->elem_offset && !is_zero(buffer->elem_offset))) return nullptr;
  int64_t elements = 1;
  PrimExpr all = make_const(DataType::Int(64), 1);
  for (const PrimExpr& extent : buffer->shape) {
    const int64_t* value = as_int(extent);
    all = all * cast(DataType::Int(64), extent);
    if (may_be_dynamic) continue;
    if (!value || *value < 1 || elements > kMaxElements / *value) return nullptr;
    elements *= *value;
  }
  BufferNode out = *buffer.get();
  out.shape = {may_be_dynamic ? all : number(elements)};
  return make(std::move(out));
}

/// True where all indices are 0 when all axes are.
bool starts_at_zero(const BufferLoad* load) {
  for (const PrimExpr& index : load->indices) {
    PrimExpr first = substitute(index, [](const Var& var) { return make_zero(var->dtype); });
    if (!is_zero(arith::Analyzer().simplify(first))) return false;
  }
  return true;
}

bool varies_along(const BufferLoad* load, const Var& axis) {
  bool found = false;
  for (const PrimExpr& index : load->indices) walk(index, [&](const VarNode* var) { found |= var == axis.get(); });
  return found;
}

/// True where element (k, j) of the matrix lies as MatrixView::panel says; the group is the last extent of four.
bool lies_in_panels(const BufferLoad* load, const Var& k, int64_t depth, const Var& j, int64_t columns) {
  const Array<PrimExpr>& shape = load->buffer->shape;
  if (shape.size() != 3 && shape.size() != 4) return false;
  for (const PrimExpr& extent : shape)
    if (!as_int(extent)) return false;
  const PrimExpr group = shape.size() == 4 ? shape[3] : PrimExpr(1);
  arith::Analyzer analyzer;
  analyzer.bind(k, make_range(0, number(depth)));
  analyzer.bind(j, make_range(0, number(columns)));
  Array<PrimExpr> wanted{floordiv(j, shape[2]), floordiv(k, group), floormod(j, shape[2])};
  if (shape.size() == 4) wanted.push_back(floormod(k, group));
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!analyzer.can_prove_equal(load->indices[i], wanted[i])) return false;
  return *as_int(shape[1]) == ceil_div(depth, *as_int(group)) && *as_int(shape[0]) * *as_int(shape[2]) >= columns;
}

}  // namespace

PrimExpr MatrixView::at(const PrimExpr& base, const PrimExpr& i, const PrimExpr& j) const {
  return base + times(i, row) + times(j, column);
}

PrimExpr Matmul::base(const MatrixView& view, const PrimExpr& batch_index) const {
  PrimExpr out = 0;
  int64_t inner = batch;
  for (size_t i = 0; i < batch_extents.size(); ++i) {
    const int64_t outer = inner;
    inner /= batch_extents[i];
    PrimExpr digit = floordiv(batch_index, number(inner));
    if (outer != batch) digit = floormod(digit, number(batch_extents[i]));
    out = out + times(digit, view.batch[i]);
  }
  return out;
}

Stmt Matmul::store(const PrimExpr& batch_index, const PrimExpr& i, const PrimExpr& j, const PrimExpr& value) const {
  Array<PrimExpr> indices;
  for (size_t n = 0; n < axes_.size(); ++n) {
    const Axis& axis = axes_[n];
    PrimExpr digit = 0;
    if (axis.from != From::Unit) {
      digit = floordiv(axis.from == From::Batch ? batch_index : axis.from == From::Row ? i : j, axis.divisor);
      if (!axis.is_outermost) digit = floormod(digit, axis.extent);
    }
    indices.push_back(cast(block->iter_vars[n]->var->dtype, digit));
  }
  const Buffer& sums = block->writes[0]->buffer;
  if (!epilogue) return make(BufferStore{.buffer = sums, .value = value, .indices = indices});
  Map<Var, PrimExpr> values;
  for (size_t n = 0; n < indices.size(); ++n) values.set(epilogue->iter_vars[n]->var, indices[n]);
  Stmt body = rewrite(epilogue->body, [&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
    return load->buffer.same_as(sums) ? value : PrimExpr(self.children(load));
  });
  return substitute(body, values);
}

bool Matmul::stores_by_functions() const {
  if (!epilogue) return false;
  int calls = 0;
  walk(epilogue->body, [&](const Call*) { ++calls; });
  return calls > 0;
}

std::optional<Matmul> as_matmul(const schedule::State& state, const schedule::BlockRef& ref, const PrimFunc& function) {
  std::optional<Reduction> reduction = as_reduction(state.find(ref), true);
  if (!reduction || reduction->reduce_axes != 1 || reduction->reduce_extents[0] == kDynamic) return {};
  std::optional<Factors> factors = factors_of(reduction->block);
  if (!factors) return {};
  auto [x, y] = *factors;
  for (const BufferLoad* load : {x, y})
    if (!is_parameter(function, load->buffer) || !starts_at_zero(load)) return {};
  const std::vector<Var>& axes = reduction->axes;
  const std::vector<int64_t>& extents = reduction->extents;
  const Var& along = reduction->block->iter_vars.back()->var;

  // What varies along the last axis is the matrix on the right, and it alone.
  std::optional<size_t> last;
  for (size_t i = 0; i < axes.size(); ++i)
    if (extents[i] != 1) last = i;
  if (last && extents[*last] == kDynamic) return {};
  if (last && !varies_along(y, axes[*last])) std::swap(x, y);
  if (last && (varies_along(x, axes[*last]) || !varies_along(y, axes[*last]))) return {};

  Matmul out;
  out.block = reduction->block;
  out.dtype = out.block->writes[0]->buffer->dtype;
  out.a_dtype = x->buffer->dtype;
  out.b_dtype = y->buffer->dtype;
  out.k = reduction->reduce_extents[0];
  out.axes_.resize(axes.size());
  if (last) {
    out.n = extents[*last];
    out.axes_[*last] = {Matmul::From::Column, 1, number(out.n), true};
  }

  // how the factors move along each axis
  auto k_x = stride(x, along), k_y = stride(y, along);
  auto n_y = last ? stride(y, axes[*last]) : std::optional<int64_t>(0);
  if (!k_x) return {};
  out.a.column = *k_x;
  if (k_y && n_y) {
    out.b.row = *k_y;
    out.b.column = *n_y;
  } else if (last && lies_in_panels(y, along, out.k, axes[*last], out.n)) {
    out.b.panel = *as_int(y->buffer->shape[2]);
    out.group = y->buffer->shape.size() == 4 ? *as_int(y->buffer->shape[3]) : 1;
  } else {
    return {};
  }

  // rows: the innermost axes of a alone, as far as they are one axis in its memory
  PrimExpr rows = 1;
  size_t left = last.value_or(0);  // axes that are no rows
  std::vector<size_t> row_axes;
  arith::Analyzer analyzer;
  for (size_t i = left; i-- > 0;) {
    if (extents[i] == 1) continue;
    if (varies_along(y, axes[i]) || !varies_along(x, axes[i])) break;
    PrimExpr apart = stride_of(x->buffer, x->indices, axes[i]);
    const bool is_first = row_axes.empty();
    if (is_first ? !as_int(apart) : !analyzer.can_prove_equal(apart, cast(apart.dtype(), rows) * number(out.a.row)))
      break;
    if (is_first) out.a.row = *as_int(apart);
    PrimExpr extent = cast(kInt32, out.block->iter_vars[i]->dom->extent);
    out.axes_[i] = {Matmul::From::Row, rows, extent, false};
    row_axes.push_back(i);
    rows = analyzer.simplify(rows * extent);
  }
  if (!row_axes.empty()) out.axes_[row_axes.back()].is_outermost = true;
  out.m = as_int(rows) ? *as_int(rows) : kGuessedRows;
  if (!as_int(rows)) out.dynamic_m = rows;

  std::vector<size_t> batch;
  for (size_t i = 0; i < left; ++i)
    if (extents[i] != 1 && std::find(row_axes.begin(), row_axes.end(), i) == row_axes.end()) batch.push_back(i);
  for (size_t i : batch) {
    auto a = stride(x, axes[i]), b = stride(y, axes[i]);
    if (!a || !b || extents[i] == kDynamic || out.is_dynamic()) return {};
    out.batch *= extents[i];
    out.batch_extents.push_back(extents[i]);
    out.a.batch.push_back(*a);
    out.b.batch.push_back(*b);
  }
  int64_t inner = out.batch;
  for (size_t i : batch)
    out.axes_[i] = {Matmul::From::Batch, number(inner /= extents[i]), number(extents[i]), i == batch[0]};

  out.a.flat = flattened(x->buffer, out.is_dynamic());
  out.b.flat = flattened(y->buffer, false);
  if (!out.a.flat || !out.b.flat) return {};
  out.epilogue_ref = epilogue_of(state, ref, *reduction);
  if (out.epilogue_ref.key) {
    out.epilogue = state.find(out.epilogue_ref).block();
    if (!out.epilogue->body.as<BufferStore>()) out.epilogue = nullptr, out.epilogue_ref = {};
  }
  return out;
}

}  // namespace tessera::topi

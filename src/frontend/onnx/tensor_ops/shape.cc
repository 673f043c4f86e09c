// Operators that rearrange elements, and those that make tensors or ask for shapes.

#include <algorithm>
#include <cmath>

#include "frontend/common/extents.h"
#include "frontend/common/known.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/nn/pad_dynamic.h"
#include "frontend/onnx/scope.h"
#include "ir/prim/ops.h"
#include "relay/attrs/index.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/rule.h"
#include "runtime/function/element.h"
#include "runtime/function/shape_functions.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// The shape of a tensor as a value: a constant where it is fixed.
Expr shape_value(Operation& in, const Expr& x, DataType dtype = DataType::Int(64)) {
  if (std::optional<std::vector<int64_t>> shape = in.fixed_shape(x)) return make_ints(*shape, dtype);
  return call_op("shape_of", {x}, make_attrs<ShapeOfAttrs>([&](auto& attrs) { attrs.dtype = dtype; }));
}

// ---- made from nothing ----------------------------------------------------------------------------------------------

Values constant(Operation& in) {
  if (std::optional<Value> value = in.tensor_value("value")) return {*value};
  if (in.has_attribute("value_float")) return {make_scalar(in.number("value_float", 0), DataType::Float(32))};
  if (in.has_attribute("value_int")) return {make_constant(int_scalar(in.integer("value_int"), DataType::Int(64)))};
  if (in.has_attribute("value_ints")) return {make_ints(in.integers("value_ints"))};
  if (const Attribute* sparse = in.find("sparse_value"); sparse && sparse->sparse_tensors.size() == 1)
    return {make_constant(to_ndarray(sparse->sparse_tensors[0], {}))};
  if (in.has_attribute("value_floats")) {
    std::vector<float> values = in.numbers("value_floats");
    auto count = static_cast<int64_t>(values.size());
    NDArray data = NDArray::empty(std::span(&count, 1), DataType::Float(32));
    std::copy(values.begin(), values.end(), data.data<float>());
    return {make_constant(data)};
  }
  if (in.has_attribute("value_string")) return {Value::of(Texts{{}, {in.text("value_string", "")}})};
  if (in.has_attribute("value_strings")) {
    std::vector<std::string> items = in.texts("value_strings");
    return {Value::of(Texts{{static_cast<int64_t>(items.size())}, items})};
  }
  in.unsupported("a constant that is no tensor");
}

Values constant_of_shape(Operation& in) {
  NDArray value = in.tensor("value").value_or(float_scalar(0, DataType::Float(32)));
  Expr scalar = make_constant(value.view({}, value.dtype()));
  if (std::optional<std::vector<int64_t>> shape = in.constant_ints(in[0]))
    return {call_op("full", {scalar}, make_attrs<InitOpAttrs>([&](auto& attrs) {
                      attrs.shape = int_array(*shape);
                      attrs.dtype = value.dtype();
                    }))};
  return {
      call_op("dyn.full", {scalar, in[0]}, make_attrs<InitOpAttrs>([&](auto& attrs) { attrs.dtype = value.dtype(); }))};
}

Values eye_like(Operation& in) {
  if (in.rank(in[0]) != 2) in.invalid("the input has two dimensions");
  DataType dtype =
      in.has_attribute("dtype") ? element_type(static_cast<ElementType>(in.integer("dtype"))) : in.dtype(in[0]);
  if (!in.fixed_shape(in[0])) {
    Expr shift = make_constant(int_scalar(in.integer("k", 0), DataType::Int(64)));
    Expr diagonal = add(positions_along(in, in[0], 0), shift);
    return {cast(equal(expand_dims(diagonal, 1), positions_along(in, in[0], 1)), dtype)};
  }
  Ints shape = in.static_shape(in[0], "EyeLike");
  NDArray out = NDArray::empty(shape, dtype);
  int64_t k = in.integer("k", 0);
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j)
      write_int(dtype, j - i == k, out.data<char>() + (i * shape[1] + j) * int64_t(dtype.bytes()));
  return {make_constant(out)};
}

Values range(Operation& in) {
  DataType dtype = in.dtype(in[0]);
  auto scalar = [&](size_t i) { return in.rank(in[i]) == 0 ? in[i] : reshape(in[i], Array<PrimExpr>{}); };
  std::optional<NDArray> bounds[3];
  bool is_known = true;
  for (size_t i = 0; i < 3; ++i) {
    bounds[i] = in.constant(in[i]);
    if (bounds[i] && bounds[i]->size() != 1) in.invalid("start, limit and delta are one number each");
    is_known &= bounds[i].has_value();
  }
  int64_t count = is_known ? arange_count(bounds[0]->tensor(), bounds[1]->tensor(), bounds[2]->tensor()) : -1;
  constexpr int64_t kMaxFolded = 1 << 20;
  if (is_known && count < kMaxFolded) {  // known at once
    NDArray out = NDArray::empty(std::span(&count, 1), dtype);
    const char *first = bounds[0]->data<char>(), *by = bounds[2]->data<char>();
    for (int64_t i = 0; i < count; ++i) {
      char* at = out.data<char>() + i * int64_t(dtype.bytes());
      if (dtype.is_floating())
        write_float(dtype, read_float(dtype, first) + static_cast<double>(i) * read_float(dtype, by), at);
      else write_int(dtype, read_int(dtype, first) + i * read_int(dtype, by), at);
    }
    return {make_constant(out)};
  }
  Expr start = scalar(0), stop = scalar(1), step = scalar(2);
  return {call_op("arange", {start, stop, step}, make_attrs<ArangeAttrs>([&](auto& attrs) {
                    attrs.start = start;
                    attrs.stop = stop;
                    attrs.step = step;
                    attrs.dtype = dtype;
                  }))};
}

// ---- asking ---------------------------------------------------------------------------------------------------------

Values shape(Operation& in) {
  Expr out = shape_value(in, in[0]);
  auto rank = static_cast<int64_t>(in.rank(in[0]));
  auto bound = [&](const char* name, int64_t otherwise) {
    int64_t at = in.integer(name, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  int64_t start = bound("start", 0), end = bound("end", rank);
  if (start == 0 && end == rank) return {out};
  if (auto* known = out.as<Constant>()) {
    auto* data = known->data.data<int64_t>();
    return {make_ints(start < end ? std::vector<int64_t>(data + start, data + end) : std::vector<int64_t>())};
  }
  return {call_op("strided_slice", {out}, make_attrs<StridedSliceAttrs>([&](auto& attrs) {
                    attrs.begin = int_array({start});
                    attrs.end = int_array({std::max(start, end)});
                    attrs.strides = int_array({1});
                  }))};
}

Values size(Operation& in) {
  if (std::optional<std::vector<int64_t>> extents = in.fixed_shape(in[0])) {
    int64_t count = 1;
    for (int64_t extent : *extents) count *= extent;
    return {make_constant(int_scalar(count, DataType::Int(64)))};
  }
  return {call_op("ndarray_size", {in[0]},
                  make_attrs<NdarraySizeAttrs>([](auto& attrs) { attrs.dtype = DataType::Int(64); }))};
}

// ---- other shapes ---------------------------------------------------------------------------------------------------

Values concat(Operation& in) {
  int axis = in.axis(in.version() >= 4 ? in.integer("axis") : in.integer("axis", 1), in.rank(in[0]));
  return {concatenate(in.tensors(), axis)};
}

/// True where a tensor has elements along all axes but one.
bool fixed_elsewhere(const Operation& in, const Expr& x, int axis) {
  const Array<PrimExpr> shape = in.shape(x);
  for (size_t i = 0; i < shape.size(); ++i)
    if (const int64_t* extent = as_int(shape[i]); static_cast<int>(i) != axis && (!extent || *extent < 1)) return false;
  return true;
}

/// Ones of an extent of an input, with `behind` dimensions of extent 1 after it.
Expr ones_along(Operation& in, const Expr& input, int axis, int behind) {
  std::vector<int64_t> begin, end, axes;
  for (int i = 0; i < static_cast<int>(in.rank(input)); ++i) {
    if (i == axis) continue;
    begin.push_back(0);
    end.push_back(1);
    axes.push_back(i);
  }
  Expr out = input;
  if (!axes.empty())
    out = call_op("strided_slice", {input}, make_attrs<StridedSliceAttrs>([&](auto& attrs) {
                    attrs.begin = int_array(begin);
                    attrs.end = int_array(end);
                    attrs.strides = int_array(std::vector<int64_t>(axes.size(), 1));
                    attrs.axes = int_array(axes);
                  }));
  std::vector<int64_t> shape(static_cast<size_t>(behind) + 1, 1);
  shape[0] = -1;
  return cast_if_needed(in, ones_like(reshape(out, int_array(shape))), in.dtype(in[0]));
}

/// Where each extent of the result is seen: the data itself, or repeated along axes of extent 1. Null where it is not.
Expr expanded_by_names(Operation& in) {
  std::optional<std::vector<PrimExpr>> wanted = seen_extents(in, in[1]);
  size_t rank = in.rank(in[0]);
  if (!wanted) return nullptr;
  if (wanted->size() < rank) wanted->insert(wanted->begin(), rank - wanted->size(), PrimExpr(1));
  Expr x = wanted->size() > rank ? expand_dims(in[0], 0, static_cast<int>(wanted->size() - rank)) : in[0];
  const Array<PrimExpr> own = in.shape(x);
  std::vector<int64_t> counts(wanted->size(), 1);
  bool repeats = false;
  std::vector<Expr> ones;  // for axes whose extent is an input's
  for (size_t i = 0; i < own.size(); ++i) {
    const PrimExpr& extent = (*wanted)[i];
    if (!extent) return nullptr;
    if (is_one(extent) || same_extent(own[i], extent)) continue;
    if (!is_one(own[i])) return nullptr;
    const int64_t* count = as_int(extent);
    auto input = in.importer().input_of(extent);
    if (count ? *count < 1 : !input || in.dtype(in[0]) == DataType::Bool()) return nullptr;
    if (count) counts[i] = *count, repeats = true;
    else if (fixed_elsewhere(in, input->first, input->second))
      ones.push_back(ones_along(in, input->first, input->second, static_cast<int>(own.size() - i) - 1));
    else return nullptr;
  }
  for (const Expr& one : ones) x = multiply(x, one);
  if (!repeats) return x;
  return call_op("tile", {x}, make_attrs<TileAttrs>([&](auto& attrs) { attrs.reps = int_array(counts); }));
}

/// What Expand gives, whose type forgot extents that are seen: numbers, and those of inputs.
Expr with_seen_extents(Operation& in, Expr out) {
  std::optional<std::vector<PrimExpr>> wanted = seen_extents(in, in[1]);
  const Array<PrimExpr> own = in.shape(in[0]);
  const size_t rank = in.rank(out);
  if (!wanted || wanted->size() != rank || own.size() > rank) return out;
  std::vector<int64_t> numbers(rank, 0);
  bool has_number = false;
  for (size_t i = 0; i < rank; ++i) {
    const bool is_new = i < rank - own.size() || is_one(own[i - (rank - own.size())]);
    const PrimExpr extent = (*wanted)[i];
    if (!extent || !is_new || !relay::is_any(in.shape(out)[i])) continue;
    if (const int64_t* number = as_int(extent); number && *number > 0) {
      numbers[i] = *number;
      has_number = true;
    } else if (auto input = in.importer().input_of(extent)) {
      int axis = static_cast<int>(i);
      out = reshaped_as(out, axis, axis + 1, input->first, input->second, input->second + 1);
    }
  }
  return has_number ? reshape(out, int_array(numbers)) : out;
}

Values expand(Operation& in) {
  if (std::optional<std::vector<int64_t>> shape = in.constant_ints(in[1])) {
    if (std::optional<std::vector<int64_t>> own = in.fixed_shape(in[0])) {
      std::vector<int64_t> wide = *shape;  // broadcast both ways
      if (wide.size() < own->size()) wide.insert(wide.begin(), own->size() - wide.size(), 1);
      for (size_t i = 0; i < own->size(); ++i) {
        int64_t& extent = wide[wide.size() - own->size() + i];
        if (extent == 1) extent = (*own)[i];
      }
      return {broadcast_to(in[0], int_array(wide))};
    }
  }
  if (Expr seen = expanded_by_names(in); seen.defined()) return {seen};
  // One operator, which forgets what extents are known; where there are none but 1 that is nothing.
  const Array<PrimExpr> own = in.shape(in[0]);
  const bool is_dynamic =
      std::all_of(own.begin(), own.end(), [](const PrimExpr& e) { return !as_int(e) || is_one(e); });
  const int64_t* length = as_int(in.shape(in[1])[0]);
  if (is_dynamic && length && *length >= static_cast<int64_t>(own.size()))
    return {with_seen_extents(in, call_op("dyn.broadcast_to", {in[0], in[1]}, make_attrs<InitOpAttrs>([](auto&) {})))};
  Expr ones =
      call_op("dyn.ones", {in[1]}, make_attrs<InitOpAttrs>([&](auto& attrs) { attrs.dtype = in.dtype(in[0]); }));
  if (in.dtype(in[0]) == DataType::Bool()) return {call_op("logical_and", {in[0], ones})};
  return {with_seen_extents(in, multiply(in[0], ones))};
}

/// All dimensions before `axis` become one, and all from it on.
Values flatten(Operation& in) {
  size_t rank = in.rank(in[0]);
  int64_t given = in.integer("axis", 1);
  int axis = given == static_cast<int64_t>(rank) ? static_cast<int>(rank) : in.axis(given, rank);
  if (axis == 0) return {reshape(in[0], int_array({1, -1}))};
  if (axis == static_cast<int>(rank)) return {reshape(in[0], int_array({-1, 1}))};
  if (axis == 1) return {call_op("nn.batch_flatten", {in[0]})};
  // One of the two extents is enough.
  std::optional<int64_t> before = 1, after = 1;
  Array<PrimExpr> shape = in.shape(in[0]);
  for (size_t i = 0; i < rank; ++i) {
    std::optional<int64_t>& side = static_cast<int>(i) < axis ? before : after;
    auto* extent = shape[i].as<IntImm>();
    side = side && extent ? std::optional<int64_t>(*side * extent->value) : std::nullopt;
  }
  if (before || after) return {reshape(in[0], int_array({before.value_or(-1), after.value_or(-1)}))};
  constexpr int kMergeTwo = -3, kAllOthers = -2;
  Expr merged = in[0];
  for (int i = 1; i < axis; ++i) merged = reshape(merged, int_array({kMergeTwo, kAllOthers}));
  return {call_op("nn.batch_flatten", {merged})};
}

/// Where each extent of the result but one is seen, and numbers can say them; null where not.
Expr reshaped_by_names(Operation& in, bool zero_is_zero) {
  std::optional<std::vector<PrimExpr>> wanted = seen_extents(in, in[1]);
  if (!wanted) return nullptr;
  const Array<PrimExpr> own = in.shape(in[0]);
  for (size_t i = 0; i < wanted->size(); ++i) {
    if (!(*wanted)[i] || !is_zero((*wanted)[i])) continue;
    if (zero_is_zero || i >= own.size() || relay::is_any(own[i])) return nullptr;
    (*wanted)[i] = own[i];
  }
  return reshaped_to(in, in[0], *wanted);
}

Values reshaped(Operation& in) {
  bool zero_is_zero = in.integer("allowzero", 0) != 0;
  std::optional<std::vector<int64_t>> shape;
  if (in.has_attribute("shape")) shape = in.integers("shape");
  else shape = in.constant_ints(in[1]);
  if (!shape) {
    if (Expr seen = reshaped_by_names(in, zero_is_zero); seen.defined()) return {seen};
    return {call_op("dyn.reshape", {in[0], in[1]}, make_attrs<ReshapeAttrs>([&](auto& attrs) {
                      attrs.newshape = zero_is_zero ? int_array({-1}) : int_array({0, -1});
                      attrs.allowzero = zero_is_zero;
                    }))};
  }
  for (int64_t extent : *shape)
    if (extent < -1) in.invalid("the shape has the extent " + std::to_string(extent));
  std::optional<std::vector<int64_t>> own = in.fixed_shape(in[0]);
  if (own) {  // all numbers can be said, also where an extent is zero
    int64_t total = 1, known = 1;
    bool is_too_large = false;
    for (int64_t extent : *own) is_too_large |= __builtin_mul_overflow(total, extent, &total);
    int64_t* open = nullptr;
    for (size_t i = 0; i < shape->size(); ++i) {
      int64_t& extent = (*shape)[i];
      if (extent == 0 && !zero_is_zero) {
        if (i >= own->size()) in.invalid("the shape keeps an extent that the input does not have");
        extent = (*own)[i];
      }
      if (extent == -1 && open) in.invalid("the shape has two dynamic extents");
      if (extent == -1) open = &extent;
      else is_too_large |= __builtin_mul_overflow(known, extent, &known);
    }
    if (is_too_large || (open && known && total % known))
      in.invalid("a tensor of shape " + shape_text(*own) + " cannot be reshaped to " + shape_text(*shape));
    if (open) *open = known ? total / known : 0;
    zero_is_zero = true;
  }
  return {call_op("reshape", {in[0]}, make_attrs<ReshapeAttrs>([&](auto& attrs) {
                    attrs.newshape = int_array(*shape);
                    attrs.allowzero = zero_is_zero;
                  }))};
}

/// True where numbers are an attribute, left out, or a constant input.
bool is_known(Operation& in, const char* attribute, size_t i) {
  return in.has_attribute(attribute) || !in.has(i) || in.constant_ints(in[i]);
}

/// Axes of a tensor of `rank` dimensions that are known at run time, as int64 from 0 on.
Expr counted_from_front(Operation& in, const Expr& axes, size_t rank) {
  const DataType dtype = DataType::Int(64);
  Expr given = cast_if_needed(in, axes, dtype), count = make_constant(int_scalar(static_cast<int64_t>(rank), dtype));
  if (in.rank(given) == 0) given = reshape(given, int_array({1}));
  return where(less(given, make_constant(int_scalar(0, dtype))), add(given, count), given);
}

/// How many axes an input names; an error where that is not known.
int64_t number_of_axes(Operation& in, const Expr& axes) {
  if (in.rank(axes) == 0) return 1;
  const int64_t* count = as_int(in.shape(axes)[0]);
  if (!count) in.unknown("the number of axes must be known", axes);
  return *count;
}

Values squeezed(Operation& in) {
  if (!is_known(in, "axes", 1)) {
    number_of_axes(in, in[1]);
    return {call_op("dyn.squeeze", {in[0], counted_from_front(in, in[1], in.rank(in[0]))},
                    make_attrs<SqueezeAttrs>([](auto&) {}))};
  }
  std::optional<std::vector<int64_t>> axes = in.integers_or_input("axes", 1);
  if (!axes) return {squeeze(in[0])};
  std::vector<int64_t> positions;
  for (int64_t axis : *axes) positions.push_back(in.axis(axis, in.rank(in[0])));
  return {positions.empty() ? in[0] : squeeze(in[0], int_array(positions))};
}

/// With axes that are known at run time: the shape has 1 where an axis is named, else the next extent of the data.
Expr unsqueezed_at_run_time(Operation& in) {
  const DataType dtype = DataType::Int(64);
  auto number = [&](int64_t value) { return make_constant(int_scalar(value, dtype)); };
  const int64_t rank = static_cast<int64_t>(in.rank(in[0])) + number_of_axes(in, in[1]);
  std::vector<int64_t> all(static_cast<size_t>(rank));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  Expr axes = counted_from_front(in, in[1], all.size()), positions = make_ints(all);
  Expr named = cast(equal(expand_dims(positions, 1), expand_dims(axes, 0)), dtype);
  Expr is_new = reduce("max", named, int_array({1}));
  Expr before = call_op("cumsum", {subtract(number(1), is_new)}, make_attrs<ScanopAttrs>([&](auto& attrs) {
                          attrs.axis = PrimExpr(0);
                          attrs.dtype = dtype;
                          attrs.exclusive = bool_imm(true);
                        }));
  // Behind the data's extents stands a 1, which is what a named axis has.
  Expr extents = concatenate({shape_at_run_time(in[0]), make_ints({1})}, 0);
  Expr shape = where(equal(is_new, number(0)), take(extents, before, 0), number(1));
  return call_op("dyn.reshape", {in[0], shape}, make_attrs<ReshapeAttrs>([&](auto& attrs) {
                   attrs.newshape = int_array({-1});
                   attrs.allowzero = true;
                 }));
}

Values unsqueezed(Operation& in) {
  if (!is_known(in, "axes", 1)) return {unsqueezed_at_run_time(in)};
  std::optional<std::vector<int64_t>> axes = in.integers_or_input("axes", 1);
  if (!axes) in.invalid("the axes are missing");
  size_t rank = in.rank(in[0]) + axes->size();
  std::vector<int> positions;
  for (int64_t axis : *axes) positions.push_back(in.axis(axis, rank));
  std::sort(positions.begin(), positions.end());
  if (std::adjacent_find(positions.begin(), positions.end()) != positions.end()) in.invalid("an axis is given twice");
  Expr out = in[0];
  for (int position : positions) out = expand_dims(out, position);
  return {out};
}

Values transposed(Operation& in) {
  Ints axes = in.integers("perm");
  if (axes.empty() && in.rank(in[0]) == 0) return {in[0]};
  return {transpose(in[0], axes.empty() ? Array<PrimExpr>(nullptr) : int_array(axes))};
}

/// Axes from `begin` to before `end` by steps, vectors of int64 with a number for each of `axes`. `known`: the axes, where
/// they are; the others keep what is known of their extents.
Expr cut_at_run_time(Operation& in, const Expr& x, const Expr& begin, const Expr& end, const Expr& steps,
                     const Expr& axes, const std::optional<std::vector<int64_t>>& known) {
  const size_t rank = in.rank(x);
  auto whole = [&](const Expr& given, int64_t otherwise) {
    return call_op(
        "scatter",
        {make_ints(std::vector<int64_t>(rank, otherwise)), axes, cast_if_needed(in, given, DataType::Int(64))},
        make_attrs<ScatterAttrs>([](auto& attrs) { attrs.axis = 0; }));
  };
  Expr by = steps.defined() ? whole(steps, 1) : make_ints(std::vector<int64_t>(rank, 1));
  return call_op("dyn.strided_slice", {x, whole(begin, 0), whole(end, INT64_MAX), by},
                 make_attrs<StridedSliceAttrs>([&](auto& attrs) {
                   if (known && known->size() < rank) attrs.axes = int_array(*known);
                 }));
}

/// Along an axis whose extent is known at run time: parts of ceil(extent / count) elements, the last of what is left.
Values parted_at_run_time(Operation& in, int axis, int64_t count) {
  auto number = [](int64_t value) { return make_ints({value}); };
  Expr extent = reshape(extent_at_run_time(in, in[0], axis), int_array({1}));
  Expr each = call_op("floor_divide", {add(extent, number(count - 1)), number(count)});
  Values out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(cut_at_run_time(in, in[0], multiply(each, number(i)), multiply(each, number(i + 1)), nullptr,
                                  number(axis), std::vector<int64_t>{axis}));
  return out;
}

Values parted(Operation& in) {
  size_t rank = in.rank(in[0]);
  int axis = in.axis(in.integer("axis", 0), rank);
  std::optional<std::vector<int64_t>> sizes = in.integers_or_input("split", 1);
  size_t count = static_cast<size_t>(in.integer("num_outputs", static_cast<int64_t>(in.num_outputs())));
  if (count == 0) in.invalid("there are no outputs");
  if (count != in.num_outputs()) in.invalid("num_outputs is not the number of outputs");
  if (!sizes) {
    const int64_t* known = as_int(in.shape(in[0])[static_cast<size_t>(axis)]);
    if (!known) return parted_at_run_time(in, axis, static_cast<int64_t>(count));
    int64_t extent = *known, n = static_cast<int64_t>(count), each = (extent + n - 1) / n;
    sizes.emplace();
    for (int64_t i = 0; i < n; ++i) sizes->push_back(std::clamp<int64_t>(extent - i * each, 0, each));
  }
  if (sizes->size() == 1) return {in[0]};
  std::vector<int64_t> points;
  int64_t at = 0;
  for (size_t i = 0; i + 1 < sizes->size(); ++i) points.push_back(at += (*sizes)[i]);
  Expr parts = split(in[0], points, axis);
  Values out;
  for (size_t i = 0; i < sizes->size(); ++i) out.push_back(make_get_item(parts, static_cast<int>(i)));
  return out;
}

Values tiled(Operation& in) {
  if (in.version() < 6) {
    Ints count = in.needed_ints(in[1], "tiles"), axis = in.needed_ints(in[2], "axis");
    if (count.size() != 1 || axis.size() != 1) in.invalid("tiles and axis are one number each");
    std::vector<int64_t> reps(in.rank(in[0]), 1);
    reps[static_cast<size_t>(in.axis(axis[0], reps.size()))] = count[0];
    return {call_op("tile", {in[0]}, make_attrs<TileAttrs>([&](auto& attrs) { attrs.reps = int_array(reps); }))};
  }
  if (std::optional<std::vector<int64_t>> reps = in.constant_ints(in[1])) {
    if (std::count(reps->begin(), reps->end(), 0)) in.unsupported("a tensor repeated zero times");
    return {call_op("tile", {in[0]}, make_attrs<TileAttrs>([&](auto& attrs) { attrs.reps = int_array(*reps); }))};
  }
  return {call_op("dyn.tile", {in[0], in[1]}, make_attrs<TileAttrs>([](auto&) {}))};
}

// ---- slices and borders ---------------------------------------------------------------------------------------------

Expr sliced_by(Operation& in, std::vector<int64_t> begin, std::vector<int64_t> end, std::vector<int64_t> strides,
               std::vector<int64_t> axes) {
  if (end.size() != begin.size() || strides.size() != begin.size() || axes.size() != begin.size())
    in.invalid("starts, ends, axes and steps differ in length");
  auto rank = static_cast<int64_t>(in.rank(in[0]));
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = in.axis(axes[i], static_cast<size_t>(rank));
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(in[0]);
  for (size_t i = 0; i < begin.size(); ++i) {
    // Bounds far outside mean the ends, and a longer step than any extent one element.
    constexpr int64_t kFar = int64_t{1} << 31;
    for (int64_t* number : {&begin[i], &end[i], &strides[i]}) *number = std::clamp(*number, -kFar + 1, kFar - 1);
    if (!shape) continue;
    int64_t extent = (*shape)[static_cast<size_t>(axes[i])];
    bool backwards = strides[i] < 0;
    auto bound = [&](int64_t value) {
      if (value < 0) value += extent;
      return backwards ? std::clamp<int64_t>(value, -1, extent - 1) : std::clamp<int64_t>(value, 0, extent);
    };
    for (int64_t* number : {&begin[i], &end[i]}) {
      *number = bound(*number);
      if (*number == -1) *number = -extent - 1;  // before the first element
    }
  }
  return call_op("strided_slice", {in[0]}, make_attrs<StridedSliceAttrs>([&](auto& attrs) {
                   attrs.begin = int_array(begin);
                   attrs.end = int_array(end);
                   attrs.strides = int_array(strides);
                   attrs.axes = int_array(axes);
                 }));
}

std::vector<int64_t> counted(size_t count) {
  std::vector<int64_t> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<int64_t>(i);
  return out;
}

Values slice_1(Operation& in) {
  Ints begin = in.integers("starts"), end = in.integers("ends");
  if (begin.size() != end.size()) in.invalid("starts and ends are not equally many");
  std::vector<int64_t> ones(begin.size(), 1);
  return {sliced_by(in, begin, end, ones, in.integers("axes", counted(begin.size())))};
}

/// True where each axis begins at 0 and is seen to end no earlier than the data.
bool keeps_all(Operation& in, const std::vector<int64_t>& axes, const std::optional<std::vector<int64_t>>& strides) {
  if (in.has(4) && (!strides || std::count(strides->begin(), strides->end(), 1) != int64_t(strides->size())))
    return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    std::optional<Element> begin = element_of(in[1], int64_t(i)), end = element_of(in[2], int64_t(i));
    if (!begin || begin->value != 0 || !end) return false;
    PrimExpr extent = end->as_extent();
    if (!extent || !same_extent(extent, in.shape(in[0])[static_cast<size_t>(axes[i])])) return false;
  }
  return true;
}

Values slice_10(Operation& in) {
  std::optional<std::vector<int64_t>> begin = in.constant_ints(in[1]), end = in.constant_ints(in[2]), axes, strides;
  if (in.has(3)) axes = in.constant_ints(in[3]);
  if (in.has(4)) strides = in.constant_ints(in[4]);
  bool is_known = begin && end && (axes || !in.has(3)) && (strides || !in.has(4));
  if (is_known) {
    if (begin->size() != end->size()) in.invalid("starts and ends are not equally many");
    if (!axes) axes = counted(begin->size());
    if (!strides) strides = std::vector<int64_t>(begin->size(), 1);
    if (std::count(strides->begin(), strides->end(), 0)) in.invalid("a step is zero");
    return {sliced_by(in, *begin, *end, *strides, *axes)};
  }
  // Bounds for all axes: those of other axes keep everything.
  size_t rank = in.rank(in[0]);
  std::optional<std::vector<int64_t>> count = in.fixed_shape(in[1]);
  if (!count) in.unsupported("bounds of unknown number");
  Expr positions;
  if (in.has(3) && !axes) {
    positions = counted_from_front(in, in[3], rank);
  } else {
    if (!axes) axes = counted(static_cast<size_t>((*count)[0]));
    for (int64_t& axis : *axes) axis = in.axis(axis, rank);
    positions = make_ints(*axes);
  }
  if (strides && std::count(strides->begin(), strides->end(), 0)) in.invalid("a step is zero");
  if (axes && keeps_all(in, *axes, strides)) return {in[0]};
  return {cut_at_run_time(in, in[0], in[1], in[2], in.get_or(4, nullptr), positions, axes)};
}

Values padded(Operation& in) {
  std::string mode = in.text("mode", "constant");
  size_t rank = in.rank(in[0]);
  std::optional<std::vector<int64_t>> pads, axes;
  Expr value = make_scalar(0, in.dtype(in[0]));
  if (in.version() < 11) {
    pads = in.integers(in.has_attribute("pads") ? "pads" : "paddings");
    value = make_scalar(in.number("value", 0), in.dtype(in[0]));
  } else {
    if (in.has(2)) value = reshape(in[2], Array<PrimExpr>{});
    pads = in.constant_ints(in[1]);
    if (in.has(3) && !in.constant_ints(in[3])) {  // pads of all axes: 0 where none is named
      Expr positions = counted_from_front(in, in[3], rank), last = make_ints({static_cast<int64_t>(rank)});
      Expr zeros = make_ints(std::vector<int64_t>(2 * rank, 0));
      Expr all = call_op(
          "scatter",
          {zeros, concatenate({positions, add(positions, last)}, 0), cast_if_needed(in, in[1], DataType::Int(64))},
          make_attrs<ScatterAttrs>([](auto& attrs) { attrs.axis = 0; }));
      return {padded_at_run_time(in, in[0], all, counted(rank), value, mode)};
    }
    if (in.has(3)) axes = in.needed_ints(in[3], "axes");
    if (!pads) return {padded_at_run_time(in, in[0], in[1], axes ? *axes : counted(rank), value, mode)};
  }
  if (!axes) axes = counted(rank);
  if (pads->size() != 2 * axes->size()) in.invalid("there must be two pads for each axis");
  std::vector<int64_t> before(rank, 0), after(rank, 0);
  bool crops = false;
  for (size_t i = 0; i < axes->size(); ++i) {
    auto axis = static_cast<size_t>(in.axis((*axes)[i], rank));
    before[axis] = (*pads)[i];
    after[axis] = (*pads)[i + axes->size()];
    for (int64_t pad : {before[axis], after[axis]}) {
      if (std::abs(static_cast<double>(pad)) > INT32_MAX) in.invalid("a pad of " + std::to_string(pad) + " elements");
      crops |= pad < 0;
    }
  }
  Expr data = in[0];
  if ((crops || mode == "wrap") && !in.fixed_shape(data))
    return {padded_at_run_time(in, data, make_ints(*pads), *axes, value, mode)};
  if (crops) {
    Ints extents = in.static_shape(data, "a pad that crops"), end(rank), begin(rank), ones(rank, 1);
    for (size_t i = 0; i < rank; ++i) {
      int64_t total = before[i] + extents[i] + after[i];
      if (total < 0)
        in.invalid("pads of " + std::to_string(before[i]) + " and " + std::to_string(after[i]) + " leave axis " +
                   std::to_string(i) + " of " + shape_text(extents) + " less than nothing");
      begin[i] = std::max<int64_t>(-before[i], 0);
      end[i] = extents[i] + std::min<int64_t>(after[i], 0);
      before[i] = std::max<int64_t>(before[i], 0);
      after[i] = std::max<int64_t>(after[i], 0);
      if (begin[i] < end[i]) continue;
      begin[i] = end[i] = 0;  // nothing of the data is left
      before[i] = total;
      after[i] = 0;
    }
    data = call_op("strided_slice", {data}, make_attrs<StridedSliceAttrs>([&](auto& attrs) {
                     attrs.begin = int_array(begin);
                     attrs.end = int_array(end);
                     attrs.strides = int_array(ones);
                   }));
  }
  if (mode == "wrap") {  // the other end goes on
    Ints extents = in.static_shape(data, "wrapping");
    for (size_t axis = 0; axis < rank; ++axis) {
      if (before[axis] == 0 && after[axis] == 0) continue;
      std::vector<int64_t> indices;
      int64_t n = extents[axis];
      if (n == 0) in.invalid("an empty axis cannot wrap");
      for (int64_t i = -before[axis]; i < n + after[axis]; ++i) indices.push_back(((i % n) + n) % n);
      data = call_op("take", {data, make_ints(indices)},
                     make_attrs<TakeAttrs>([&](auto& attrs) { attrs.axis = PrimExpr(static_cast<int>(axis)); }));
    }
    return {data};
  }
  if (mode != "constant" && mode != "edge" && mode != "reflect") in.unsupported("the mode " + mode);
  Array<Array<PrimExpr>> widths;
  for (size_t i = 0; i < rank; ++i) widths.push_back(int_array({before[i], after[i]}));
  return {call_op("nn.pad", {data, value}, make_attrs<PadAttrs>([&](auto& attrs) {
                    attrs.pad_width = widths;
                    attrs.pad_mode = mode;
                  }))};
}

Values triangle(Operation& in) {
  bool upper = in.integer("upper", 1) != 0;
  Expr k = make_constant(int_scalar(0, DataType::Int(64)));
  if (in.has(1)) k = reshape(in[1], Array<PrimExpr>{});
  return {call_op("trilu", {in[0], k}, make_attrs<TriluAttrs>([&](auto& attrs) { attrs.upper = upper; }))};
}

Converter sub_pixel(const char* op) {
  return [op](Operation& in) {
    auto block = static_cast<int32_t>(in.integer("blocksize"));
    std::string mode = in.text("mode", "DCR");
    if (mode == "CRD" && in.name() == "SpaceToDepth") {
      // Blocks come before channels; they are put behind them.
      Expr blocks = call_op(op, {in[0]}, make_attrs<SubPixelAttrs>([&](auto& attrs) { attrs.block_size = block; }));
      int64_t count = int64_t{block} * block;
      if (!in.fixed_shape(blocks)) {
        Expr parts = reshape(blocks, int_array({0, -4, count, -1, -2}));
        return Values{reshape(transpose(parts, int_array({0, 2, 1, 3, 4})), int_array({0, -3, -2}))};
      }
      Ints shape = in.static_shape(blocks, "the mode CRD");
      Expr parts = reshape(blocks, int_array({shape[0], count, shape[1] / count, shape[2], shape[3]}));
      return Values{reshape(transpose(parts, int_array({0, 2, 1, 3, 4})), int_array(shape))};
    }
    return Values{call_op(op, {in[0]}, make_attrs<SubPixelAttrs>([&](auto& attrs) {
                            attrs.block_size = block;
                            attrs.mode = mode;
                          }))};
  };
}

Values reverse_sequence(Operation& in) {
  return {call_op("reverse_sequence", {in[0], in[1]}, make_attrs<ReverseSequenceAttrs>([&](auto& attrs) {
                    attrs.seq_axis = static_cast<int32_t>(in.integer("time_axis", 0));
                    attrs.batch_axis = static_cast<int32_t>(in.integer("batch_axis", 1));
                  }))};
}

}  // namespace

Rows shape_rows() {
  return {
      {"Concat", 1, concat},
      {"Constant", 1, constant},
      {"ConstantOfShape", 9, constant_of_shape},
      {"DepthToSpace", 1, sub_pixel("nn.depth_to_space")},
      {"Expand", 8, expand},
      {"EyeLike", 9, eye_like},
      {"Flatten", 1, flatten},
      {"Pad", 1, padded},
      {"Range", 11, range},
      {"Reshape", 1, reshaped},
      {"ReverseSequence", 10, reverse_sequence},
      {"Shape", 1, shape},
      {"Size", 1, size},
      {"Slice", 1, slice_1},
      {"Slice", 10, slice_10},
      {"SpaceToDepth", 1, sub_pixel("nn.space_to_depth")},
      {"Split", 1, parted},
      {"Squeeze", 1, squeezed},
      {"Tile", 1, tiled},
      {"Transpose", 1, transposed},
      {"Trilu", 14, triangle},
      {"Unsqueeze", 1, unsqueezed},
  };
}

}  // namespace tessera::onnx

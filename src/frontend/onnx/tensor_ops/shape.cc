// Operators that rearrange elements.

#include <algorithm>

#include "frontend/common/extents.h"
#include "frontend/common/known.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/scope.h"
#include "frontend/onnx/tensor_ops/named_axes.h"
#include "ir/prim/ops.h"
#include "relay/attrs/index.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/rule.h"
#include "runtime/function/element.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

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
  if (Expr out = reshaped_to(in, in[0], *wanted); out.defined()) return out;
  return reshaped_like_another(in, in[0], in[1], *wanted);
}

/// What dyn.reshape gives, whose type forgot the numbers among its extents.
Expr with_seen_numbers(Operation& in, const Expr& out) {
  std::optional<std::vector<PrimExpr>> wanted = seen_extents(in, in[1]);
  if (!wanted || wanted->size() != in.rank(out)) return out;
  std::vector<int64_t> numbers(wanted->size(), 0);
  for (size_t i = 0; i < numbers.size(); ++i)
    if (const int64_t* number = (*wanted)[i] ? as_int((*wanted)[i]) : nullptr; number && *number > 0)
      numbers[i] = *number;
  const bool has_number = std::any_of(numbers.begin(), numbers.end(), [](int64_t number) { return number > 0; });
  return has_number ? reshape(out, int_array(numbers)) : out;
}

Values reshaped(Operation& in) {
  bool zero_is_zero = in.integer("allowzero", 0) != 0;
  std::optional<std::vector<int64_t>> shape;
  if (in.has_attribute("shape")) shape = in.integers("shape");
  else shape = in.constant_ints(in[1]);
  if (!shape) {
    if (Expr seen = reshaped_by_names(in, zero_is_zero); seen.defined()) return {seen};
    Expr out = call_op("dyn.reshape", {in[0], in[1]}, make_attrs<ReshapeAttrs>([&](auto& attrs) {
                         attrs.newshape = zero_is_zero ? int_array({-1}) : int_array({0, -1});
                         attrs.allowzero = zero_is_zero;
                       }));
    return {with_seen_numbers(in, out)};
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
      {"DepthToSpace", 1, sub_pixel("nn.depth_to_space")},
      {"Expand", 8, expand},
      {"Flatten", 1, flatten},
      {"Reshape", 1, reshaped},
      {"ReverseSequence", 10, reverse_sequence},
      {"SpaceToDepth", 1, sub_pixel("nn.space_to_depth")},
      {"Squeeze", 1, squeezed},
      {"Tile", 1, tiled},
      {"Transpose", 1, transposed},
      {"Trilu", 14, triangle},
      {"Unsqueeze", 1, unsqueezed},
  };
}

}  // namespace tessera::onnx

// Operators that rearrange elements: shapes, slices, borders, blocks.

#include <algorithm>

#include "frontend/common/extents.h"
#include "frontend/common/known.h"
#include "frontend/common/parts.h"
#include "frontend/tensorflow/operation.h"
#include "frontend/tensorflow/shapes.h"
#include "ir/prim/ops.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::tensorflow {

using namespace relay;  // NOLINT: makers of calls

Expr reshaped(const NodeContext& in, const Expr& x, const Expr& shape) {
  std::optional<std::vector<int64_t>> wanted = in.constant_ints(shape);
  if (!wanted) {
    if (std::optional<std::vector<PrimExpr>> seen = seen_extents(in, shape)) {
      bool has_zero = false;
      for (const PrimExpr& extent : *seen) has_zero |= extent && is_zero(extent);
      Expr out = has_zero ? nullptr : reshaped_to(in, x, *seen);
      if (out.defined()) return out;
    }
    return call_op("dyn.reshape", {x, cast_if_needed(in, shape, DataType::Int(64))},
                   make_attrs<ReshapeAttrs>([](auto& attrs) {
                     attrs.newshape = int_array({-1});
                     attrs.allowzero = true;
                   }));
  }
  if (std::optional<std::vector<int64_t>> own = in.fixed_shape(x)) {
    int64_t total = 1, known = 1, *unknown = nullptr;
    bool is_wrong = false;
    for (int64_t extent : *own) is_wrong |= __builtin_mul_overflow(total, extent, &total);
    for (int64_t& extent : *wanted) {
      is_wrong |= extent < -1 || (extent == -1 && unknown);
      if (extent == -1) unknown = &extent;
      else is_wrong |= __builtin_mul_overflow(known, extent, &known);
    }
    if (is_wrong || (unknown && known && total % known) || (!unknown && known != total))
      in.invalid("a tensor of shape " + shape_text(*own) + " cannot be reshaped to " + shape_text(*wanted));
    if (unknown) *unknown = known ? total / known : 0;
  }
  return reshape_to(x, *wanted);
}

Expr shape_value(const NodeContext& in, const Expr& x, DataType dtype) {
  if (std::optional<std::vector<int64_t>> shape = in.fixed_shape(x)) return make_ints(*shape, dtype);
  if (in.rank(x) == 0) return make_ints({}, dtype);
  return call_op("shape_of", {x}, make_attrs<ShapeOfAttrs>([&](auto& attrs) { attrs.dtype = dtype; }));
}

Expr reversed(const Expr& x, int axis) {
  return call_op("reverse", {x}, make_attrs<ReverseAttrs>([&](auto& attrs) { attrs.axis = PrimExpr(axis); }));
}

namespace {

Values reshape_op(Operation& in) { return {reshaped(in, in[0], in[1])}; }

Values shape_op(Operation& in) { return {shape_value(in, in[0], in.type("out_type", DataType::Int(32)))}; }
Values shape_n(Operation& in) {
  Values out;
  for (size_t i = 0; i < in.size(); ++i) out.push_back(shape_value(in, in[i], in.type("out_type", DataType::Int(32))));
  return out;
}
Values rank_of_input(Operation& in) {
  return {make_constant(int_scalar(static_cast<int64_t>(in.rank(in[0])), DataType::Int(32)))};
}
Values size_of_input(Operation& in) {
  DataType dtype = in.type("out_type", DataType::Int(32));
  if (std::optional<std::vector<int64_t>> shape = in.fixed_shape(in[0]))
    return {make_constant(int_scalar(product_of(*shape), dtype))};
  return {call_op("ndarray_size", {in[0]}, make_attrs<NdarraySizeAttrs>([&](auto& attrs) { attrs.dtype = dtype; }))};
}

Values squeeze_op(Operation& in) {
  Ints axes = in.integers("squeeze_dims");
  const size_t rank = in.rank(in[0]);
  std::vector<int64_t> out;
  if (axes.empty()) {
    const Array<PrimExpr> shape = in.shape(in[0]);
    for (size_t i = 0; i < rank; ++i)
      if (const int64_t* extent = as_int(shape[i]); extent && *extent == 1) out.push_back(static_cast<int64_t>(i));
  }
  for (int64_t axis : axes) out.push_back(in.axis(axis, rank));
  return {out.empty() ? in[0] : squeeze(in[0], int_array(out))};
}

Values expand_dims_op(Operation& in) {
  Ints axis = in.ints(1, "the axis");
  return {expand_dims(in[0], in.axis(axis[0], in.rank(in[0]) + 1))};
}

Values transpose_op(Operation& in) {
  Ints order = in.ints(1, "the permutation");
  const size_t rank = in.rank(in[0]);
  if (order.size() != rank) in.invalid("the permutation is not one of " + std::to_string(rank) + " axes");
  std::vector<bool> taken(rank, false);
  for (int64_t& axis : order) {
    axis = in.axis(axis, rank);
    if (taken[static_cast<size_t>(axis)]) in.invalid("the permutation has an axis twice");
    taken[static_cast<size_t>(axis)] = true;
  }
  return {rank == 0 ? in[0] : transpose(in[0], int_array(order))};
}

Values concat_of(Operation& in, size_t axis_at, size_t begin, size_t end) {
  Array<Expr> parts = in.tensors(begin, end);
  if (parts.empty()) in.invalid("there is nothing to concatenate");
  const int axis = in.axis(in.ints(axis_at, "the axis")[0], in.rank(parts[0]));
  return {parts.size() == 1 ? parts[0] : concatenate(parts, axis)};
}
Values concat_op(Operation& in) { return concat_of(in, 0, 1, in.size()); }
Values concat_v2(Operation& in) {
  if (in.size() < 2) in.invalid("there is nothing to concatenate");
  return concat_of(in, in.size() - 1, 0, in.size() - 1);
}

Values pack(Operation& in) {
  Array<Expr> parts = in.tensors();
  if (parts.empty()) in.invalid("there is nothing to stack");
  return {stack(parts, in.axis(in.integer("axis", 0), in.rank(parts[0]) + 1))};
}

/// Parts along an axis that it has no more.
Values unpack(Operation& in) {
  const size_t rank = in.rank(in[0]);
  const int axis = in.axis(in.integer("axis", 0), rank);
  const int64_t* extent = as_int(in.shape(in[0])[static_cast<size_t>(axis)]);
  const int64_t count = in.integer("num", extent ? *extent : -1);
  if (count < 0) in.unknown("the number of parts must be known", in[0]);
  if (extent && *extent != count)
    in.invalid("the axis has " + std::to_string(*extent) + " elements, not " + std::to_string(count));
  if (count > 65536) in.unsupported("more than 65536 parts");
  if (count == 0) return {};
  if (count == 1) return {squeeze(in[0], int_array({axis}))};
  Expr parts = split(in[0], static_cast<int>(count), axis);
  Values out;
  for (int i = 0; i < count; ++i) out.push_back(squeeze(make_get_item(parts, i), int_array({axis})));
  return out;
}

Values parts_of(const Expr& x, int axis, const std::vector<int64_t>& sizes) {
  if (sizes.size() == 1) return {x};
  std::vector<int64_t> begins;
  int64_t at = 0;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) begins.push_back(at += sizes[i]);
  Expr parts = split(x, begins, axis);
  Values out;
  for (size_t i = 0; i < sizes.size(); ++i) out.push_back(make_get_item(parts, static_cast<int>(i)));
  return out;
}

Values split_op(Operation& in) {
  const int axis = in.axis(in.ints(0, "the axis")[0], in.rank(in[1]));
  const int64_t count = in.integer("num_split", 1);
  const int64_t* extent = as_int(in.shape(in[1])[static_cast<size_t>(axis)]);
  if (count < 1 || count > 65536) in.invalid(std::to_string(count) + " parts");
  if (!extent) {
    Expr parts = split(in[1], static_cast<int>(count), axis);
    Values out;
    for (int i = 0; i < count; ++i) out.push_back(make_get_item(parts, i));
    return out;
  }
  if (*extent % count)
    in.invalid(std::to_string(*extent) + " elements cannot be split into " + std::to_string(count) + " equal parts");
  return parts_of(in[1], axis, std::vector<int64_t>(static_cast<size_t>(count), *extent / count));
}

Values split_v(Operation& in) {
  const int axis = in.axis(in.ints(2, "the axis")[0], in.rank(in[0]));
  Ints sizes = in.ints(1, "the sizes of the parts");
  const int64_t* extent = as_int(in.shape(in[0])[static_cast<size_t>(axis)]);
  int64_t known = 0, *rest = nullptr;
  for (int64_t& size : sizes) {
    if (size < -1 || (size == -1 && rest)) in.invalid("the sizes of the parts are no sizes");
    if (size == -1) rest = &size;
    else known += size;
  }
  if (rest && !extent) in.unknown("the extent that is split must be known", in[0]);
  if (rest) *rest = *extent - known;
  if (sizes.empty() || (extent && (rest ? *rest < 0 : known != *extent)))
    in.invalid("the sizes of the parts do not add up");
  return parts_of(in[0], axis, sizes);
}

Values tile_op(Operation& in) {
  if (std::optional<std::vector<int64_t>> counts = in.constant_ints(in[1])) {
    if (counts->size() != in.rank(in[0])) in.invalid("there must be one count for each axis");
    if (std::count(counts->begin(), counts->end(), 0) == 0)
      return {call_op("tile", {in[0]}, make_attrs<TileAttrs>([&](auto& attrs) { attrs.reps = int_array(*counts); }))};
  }
  return {
      call_op("dyn.tile", {in[0], cast_if_needed(in, in[1], DataType::Int(64))}, make_attrs<TileAttrs>([](auto&) {}))};
}

Values broadcast_to_op(Operation& in) {
  if (std::optional<std::vector<int64_t>> shape = in.constant_ints(in[1]))
    return {broadcast_to(in[0], int_array(*shape))};
  return {call_op("dyn.broadcast_to", {in[0], in[1]}, make_attrs<InitOpAttrs>([](auto&) {}))};
}

Values broadcast_args(Operation& in) {
  auto length = [&](size_t i) {
    const int64_t* out = as_int(in.shape(in[i])[0]);
    if (!out) in.unknown("the number of dimensions must be known", in[i]);
    return *out;
  };
  const int64_t a = length(0), b = length(1), rank = std::max(a, b);
  const DataType dtype = in.dtype(in[0]);
  auto whole = [&](const Expr& x, int64_t own) {
    return own == rank ? x : concatenate({make_ints(std::vector<int64_t>(size_t(rank - own), 1), dtype), x}, 0);
  };
  Expr x = whole(in[0], a), y = whole(in[1], b);
  return {where(equal(x, make_scalar(1, dtype)), y, x)};
}

Values reverse_op(Operation& in) {
  Expr out = in[0];
  for (int64_t axis : in.ints(1, "the axes")) out = reversed(out, in.axis(axis, in.rank(in[0])));
  return {out};
}

Values reverse_sequence(Operation& in) {
  const size_t rank = in.rank(in[0]);
  return {call_op("reverse_sequence", {in[0], in[1]}, make_attrs<ReverseSequenceAttrs>([&](auto& attrs) {
                    attrs.seq_axis = in.axis(in.integer("seq_dim", 0), rank);
                    attrs.batch_axis = in.axis(in.integer("batch_dim", 0), rank);
                  }))};
}

Values roll(Operation& in) {
  Ints shifts = in.ints(1, "the shift"), axes = in.ints(2, "the axis");
  if (shifts.size() != axes.size()) in.invalid("there must be one shift for each axis");
  Expr out = in[0];
  Ints shape = in.static_shape(out, "a roll");
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = in.axis(axes[i], shape.size());
    const int64_t extent = shape[static_cast<size_t>(axis)];
    const int64_t begin = extent ? ((-shifts[i] % extent) + extent) % extent : 0;
    if (begin) out = concatenate({slice(out, axis, begin, extent), slice(out, axis, 0, begin)}, axis);
  }
  return {out};
}

// ---- slices ---------------------------------------------------------------------------------------------------------

Expr sliced(const Expr& x, const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
            const std::vector<int64_t>& strides) {
  return call_op("strided_slice", {x}, make_attrs<StridedSliceAttrs>([&](auto& attrs) {
                   attrs.begin = int_array(begin);
                   attrs.end = int_array(end);
                   attrs.strides = int_array(strides);
                   std::vector<int64_t> axes(begin.size());
                   for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
                   attrs.axes = int_array(axes);
                 }));
}

Values slice_op(Operation& in) {
  const size_t rank = in.rank(in[0]);
  std::optional<std::vector<int64_t>> begin = in.constant_ints(in[1]), size = in.constant_ints(in[2]);
  if (rank == 0) return {in[0]};
  const DataType dtype = DataType::Int(64);
  if (begin && size) {
    if (begin->size() != rank || size->size() != rank) in.invalid("begin and size have a number for each axis");
    const Array<PrimExpr> shape = in.shape(in[0]);
    std::vector<int64_t> end(rank);
    for (size_t i = 0; i < rank; ++i) {
      const int64_t* extent = as_int(shape[i]);
      if ((*begin)[i] < 0 || (*size)[i] < -1 ||
          (extent && ((*begin)[i] > *extent || (*size)[i] > *extent - (*begin)[i])))
        in.invalid("the slice is outside of the data");
      end[i] = (*size)[i] >= 0 ? (*begin)[i] + (*size)[i] : extent ? *extent : INT32_MAX;
    }
    return {sliced(in[0], *begin, end, std::vector<int64_t>(rank, 1))};
  }
  Expr first = cast_if_needed(in, in[1], dtype), count = cast_if_needed(in, in[2], dtype);
  Expr all = shape_value(in, in[0], dtype);
  Expr end = where(less(count, make_scalar(0, dtype)), all, add(first, count));
  std::vector<int64_t> changed;  // axes of which something may be left out
  for (size_t i = 0; i < rank; ++i)
    if (!begin || (*begin)[i] != 0 || !size || (*size)[i] != -1) changed.push_back(static_cast<int64_t>(i));
  return {call_op("dyn.strided_slice", {in[0], first, end, make_ints(std::vector<int64_t>(rank, 1))},
                  make_attrs<StridedSliceAttrs>([&](auto& attrs) {
                    if (changed.size() < rank) attrs.axes = int_array(changed);
                  }))};
}

/// What the masks of a StridedSlice make of its numbers, for each dimension of the data.
struct SliceSpec {
  std::vector<int> source;      // the number of begin, end and strides that is meant; -1: all of it
  std::vector<bool> shrinks;    // one element, and no dimension
  std::vector<int64_t> new_at;  // where the result has dimensions of extent 1
  std::vector<int64_t> gone;    // dimensions (after the slice) that shrink
};

SliceSpec slice_spec(Operation& in, size_t count, size_t rank) {
  const int64_t ellipsis = in.integer("ellipsis_mask", 0), new_axis = in.integer("new_axis_mask", 0),
                shrink = in.integer("shrink_axis_mask", 0);
  auto has = [](int64_t mask, size_t i) { return i < 63 && (mask >> i & 1) != 0; };
  size_t used = 0;
  bool has_ellipsis = false;
  for (size_t i = 0; i < count; ++i) {
    if (has(ellipsis, i)) {
      if (has_ellipsis) in.invalid("the slice has two ellipses");
      has_ellipsis = true;
    } else if (!has(new_axis, i)) {
      ++used;
    }
  }
  if (used > rank) in.invalid("the slice has more axes than the data");
  SliceSpec out;
  int64_t position = 0;  // in the result, shrunk dimensions left out
  auto take_axis = [&](int source, bool shrinks) {
    if (shrinks) out.gone.push_back(static_cast<int64_t>(out.source.size()));
    else ++position;
    out.source.push_back(source);
    out.shrinks.push_back(shrinks);
  };
  for (size_t i = 0; i < count; ++i) {
    if (has(ellipsis, i)) {
      for (size_t k = used; k < rank; ++k) take_axis(-1, false);
      used = rank;
    } else if (has(new_axis, i)) {
      out.new_at.push_back(position++);
    } else {
      take_axis(static_cast<int>(i), has(shrink, i));
    }
  }
  while (out.source.size() < rank) take_axis(-1, false);
  return out;
}

Values strided_slice_op(Operation& in) {
  const size_t rank = in.rank(in[0]);
  if (in.flag("offset")) in.unsupported("an end that counts from the begin");
  std::optional<std::vector<int64_t>> length = in.fixed_shape(in[1]);
  if (!length || length->size() != 1) in.unsupported("bounds of unknown number");
  const auto count = static_cast<size_t>((*length)[0]);
  const SliceSpec spec = slice_spec(in, count, rank);
  const int64_t begin_mask = in.integer("begin_mask", 0), end_mask = in.integer("end_mask", 0);
  std::optional<std::vector<int64_t>> begin = in.constant_ints(in[1]), end = in.constant_ints(in[2]),
                                      strides = in.constant_ints(in[3]);
  if (!strides) in.unknown("the strides must be known", in[3]);
  if (strides->size() != count || (begin && begin->size() != count) || (end && end->size() != count))
    in.invalid("begin, end and strides differ in length");
  if (std::count(strides->begin(), strides->end(), 0)) in.invalid("a stride is zero");
  Expr x = in[0];
  const Array<PrimExpr> shape = in.shape(x);
  constexpr int64_t kFar = int64_t{1} << 30;
  auto element = [&](const std::optional<std::vector<int64_t>>& all, size_t i,
                     const Expr& given) -> std::optional<int64_t> {
    if (all) return (*all)[i];
    std::optional<Element> seen = element_of(given, static_cast<int64_t>(i));
    return seen ? seen->value : std::nullopt;
  };
  bool is_known = true;
  std::vector<int64_t> from(rank), to(rank), by(rank);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t* extent = as_int(shape[d]);
    if (spec.source[d] < 0) {
      from[d] = 0, to[d] = extent ? *extent : kFar, by[d] = 1;
      continue;
    }
    const auto i = static_cast<size_t>(spec.source[d]);
    const bool masks_begin = i < 63 && (begin_mask >> i & 1), masks_end = i < 63 && (end_mask >> i & 1);
    by[d] = spec.shrinks[d] ? 1 : std::clamp<int64_t>((*strides)[i], -kFar, kFar);
    const bool backwards = by[d] < 0;
    std::optional<int64_t> first = element(begin, i, in[1]), last = element(end, i, in[2]);
    const bool whole_begin = masks_begin && !spec.shrinks[d];
    if ((!whole_begin && !first) || (!masks_end && !spec.shrinks[d] && !last)) {
      is_known = false;
      continue;
    }
    if (spec.shrinks[d]) {
      from[d] = std::clamp<int64_t>(masks_begin ? 0 : *first, -kFar, kFar);
      if (extent && (from[d] >= *extent || from[d] < -*extent))
        in.invalid("index " + std::to_string(from[d]) + " of an axis of extent " + std::to_string(*extent));
      if (extent && from[d] < 0) from[d] += *extent;
      to[d] = from[d] == -1 ? kFar : from[d] + 1;
      continue;
    }
    if (!extent) {
      from[d] = whole_begin ? (backwards ? kFar : 0) : std::clamp<int64_t>(*first, -kFar, kFar);
      to[d] = masks_end ? (backwards ? -kFar : kFar) : std::clamp<int64_t>(*last, -kFar, kFar);
      continue;
    }
    auto bound = [&](int64_t value) {
      if (value < 0) value += *extent;
      return backwards ? std::clamp<int64_t>(value, -1, *extent - 1) : std::clamp<int64_t>(value, 0, *extent);
    };
    from[d] = whole_begin ? (backwards ? *extent - 1 : 0) : bound(std::clamp<int64_t>(*first, -kFar, kFar));
    to[d] = masks_end ? (backwards ? -1 : *extent) : bound(std::clamp<int64_t>(*last, -kFar, kFar));
    for (int64_t* number : {&from[d], &to[d]})
      if (*number == -1) *number = -*extent - 1;  // before the first element
  }
  if (is_known) {
    if (rank > 0) x = sliced(x, from, to, by);
  } else {  // bounds that a run decides, in the order of the data's dimensions
    const DataType dtype = DataType::Int(64);
    Expr given_begin = cast_if_needed(in, in[1], dtype), given_end = cast_if_needed(in, in[2], dtype);
    Array<Expr> froms, tos;
    auto number = [](int64_t value) { return make_ints({value}); };
    for (size_t d = 0; d < rank; ++d) {
      const int source = spec.source[d];
      const int64_t stride = source < 0 ? 1 : (*strides)[static_cast<size_t>(source)];
      const bool backwards = stride < 0 && !spec.shrinks[d];
      by[d] = spec.shrinks[d] ? 1 : stride;
      const bool masks_begin = source < 0 || (begin_mask >> source & 1);
      const bool masks_end = source < 0 || (end_mask >> source & 1);
      Expr first = masks_begin ? number(backwards ? kFar : 0) : slice(given_begin, 0, source, source + 1);
      Expr last = masks_end ? number(backwards ? -kFar : kFar) : slice(given_end, 0, std::max(source, 0), source + 1);
      if (spec.shrinks[d]) last = where(equal(first, number(-1)), number(kFar), add(first, number(1)));
      froms.push_back(first);
      tos.push_back(last);
    }
    std::vector<int64_t> changed;
    for (size_t d = 0; d < rank; ++d)
      if (spec.source[d] >= 0) changed.push_back(static_cast<int64_t>(d));
    x = call_op("dyn.strided_slice", {x, concatenate(froms, 0), concatenate(tos, 0), make_ints(by)},
                make_attrs<StridedSliceAttrs>([&](auto& attrs) {
                  if (changed.size() < rank) attrs.axes = int_array(changed);
                }));
    for (size_t k = spec.gone.size(); k-- > 0;)  // extents that are 1, but not known to be
      x = take(x, make_constant(int_scalar(0, dtype)), static_cast<int>(spec.gone[k]));
    for (int64_t position : spec.new_at) x = expand_dims(x, static_cast<int>(position));
    return {x};
  }
  if (!spec.gone.empty()) x = squeeze(x, int_array(spec.gone));
  for (int64_t position : spec.new_at) x = expand_dims(x, static_cast<int>(position));
  return {x};
}

// ---- borders and blocks ---------------------------------------------------------------------------------------------

using Widths = std::vector<std::pair<int64_t, int64_t>>;

std::optional<Widths> widths_of(Operation& in, size_t i, size_t rank) {
  std::optional<std::vector<int64_t>> given = in.constant_ints(in[i]);
  if (!given) return std::nullopt;
  if (given->size() != 2 * rank) in.invalid("there must be two widths for each axis");
  Widths out;
  for (size_t k = 0; k < rank; ++k) {
    for (int64_t width : {(*given)[2 * k], (*given)[2 * k + 1]})
      if (width < 0 || width > INT32_MAX) in.invalid("a border of " + std::to_string(width) + " elements");
    out.emplace_back((*given)[2 * k], (*given)[2 * k + 1]);
  }
  return out;
}

Array<Array<PrimExpr>> as_arrays(const Widths& widths) {
  Array<Array<PrimExpr>> out;
  for (auto [before, after] : widths) out.push_back(int_array({before, after}));
  return out;
}

Values pad_op(Operation& in) {
  const size_t rank = in.rank(in[0]);
  Expr value = in.has(2) ? in.scalar(2) : make_scalar(0, in.dtype(in[0]));
  if (std::optional<Widths> widths = widths_of(in, 1, rank))
    return {call_op("nn.pad", {in[0], value},
                    make_attrs<PadAttrs>([&](auto& attrs) { attrs.pad_width = as_arrays(*widths); }))};
  return {call_op("dyn.nn.pad", {in[0], cast_if_needed(in, in[1], DataType::Int(64)), value},
                  make_attrs<PadAttrs>([](auto&) {}))};
}

Values mirror_pad(Operation& in) {
  std::optional<Widths> widths = widths_of(in, 1, in.rank(in[0]));
  if (!widths) in.unknown("the border must be known", in[1]);
  return {call_op("nn.mirror_pad", {in[0]}, make_attrs<MirrorPadAttrs>([&](auto& attrs) {
                    attrs.mode = in.text("mode", "SYMMETRIC");
                    attrs.pad_width = as_arrays(*widths);
                  }))};
}

Converter sub_pixel(const char* op) {
  return [op](Operation& in) {
    const auto block = static_cast<int32_t>(std::clamp<int64_t>(in.integer("block_size", 1), 0, INT32_MAX));
    const std::string layout = in.text("data_format", "NHWC");
    if (layout != "NHWC" && layout != "NCHW") in.unsupported("the layout " + layout);
    if (block < 1) in.invalid("the block size is " + std::to_string(block));
    return Values{call_op(op, {in[0]}, make_attrs<SubPixelAttrs>([&](auto& attrs) {
                            attrs.block_size = block;
                            attrs.layout = layout;
                          }))};
  };
}

Values space_to_batch(Operation& in) {
  Ints block = in.ints(1, "the block shape");
  std::optional<Widths> pads = widths_of(in, 2, block.size());
  if (!pads) in.unknown("the border must be known", in[2]);
  return {call_op("nn.space_to_batch_nd", {in[0]}, make_attrs<SpaceToBatchNDAttrs>([&](auto& attrs) {
                    attrs.block_shape = int_array(block);
                    attrs.paddings = as_arrays(*pads);
                    attrs.pad_value = in.number("pad_value", 0);
                  }))};
}
Values batch_to_space(Operation& in) {
  Ints block = in.ints(1, "the block shape");
  std::optional<Widths> crops = widths_of(in, 2, block.size());
  if (!crops) in.unknown("what is cropped must be known", in[2]);
  return {call_op("nn.batch_to_space_nd", {in[0]}, make_attrs<BatchToSpaceNDAttrs>([&](auto& attrs) {
                    attrs.block_shape = int_array(block);
                    attrs.crops = as_arrays(*crops);
                  }))};
}

}  // namespace

Rows array_rows() {
  return {
      {"BatchToSpaceND", batch_to_space},
      {"BroadcastArgs", broadcast_args},
      {"BroadcastTo", broadcast_to_op},
      {"Concat", concat_op},
      {"ConcatV2", concat_v2},
      {"DepthToSpace", sub_pixel("nn.depth_to_space")},
      {"ExpandDims", expand_dims_op},
      {"MirrorPad", mirror_pad},
      {"Pack", pack},
      {"Pad", pad_op},
      {"PadV2", pad_op},
      {"Rank", rank_of_input},
      {"Reshape", reshape_op},
      {"ReverseSequence", reverse_sequence},
      {"ReverseV2", reverse_op},
      {"Roll", roll},
      {"Shape", shape_op},
      {"ShapeN", shape_n},
      {"Size", size_of_input},
      {"Slice", slice_op},
      {"SpaceToBatchND", space_to_batch},
      {"SpaceToDepth", sub_pixel("nn.space_to_depth")},
      {"Split", split_op},
      {"SplitV", split_v},
      {"Squeeze", squeeze_op},
      {"StridedSlice", strided_slice_op},
      {"Tile", tile_op},
      {"Transpose", transpose_op},
      {"Unpack", unpack},
  };
}

}  // namespace tessera::tensorflow

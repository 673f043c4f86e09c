#include "topi/slice.h"

#include <limits>

#include "ir/prim/ops.h"
#include "runtime/registry.h"

namespace tessera::topi {
namespace {

/// A constant in the type of extents; numbers beyond it ("to the very end") become its greatest or least.
PrimExpr fitted(const PrimExpr& value, DataType dtype) {
  const int64_t* number = as_int(value);
  if (!number || dtype.bits >= 64) return cast(dtype, value);
  int64_t limit = std::numeric_limits<int32_t>::max();
  return make_const(dtype, std::min(std::max(*number, -limit - 1), limit));
}

/// condition ? a : b, decided at once where the condition is constant.
PrimExpr choose(const PrimExpr& condition, const PrimExpr& a, const PrimExpr& b) {
  if (const int64_t* known = as_int(condition)) return *known ? a : b;
  return select(condition, a, b);
}

bool is_last(const PrimExpr& value) {
  const int64_t* number = as_int(value);
  return number && *number >= std::numeric_limits<int32_t>::max();
}

}  // namespace

SliceAxis slice_axis(const PrimExpr& size, PrimExpr begin, PrimExpr end, PrimExpr stride, bool end_is_size) {
  DataType dtype = size.dtype();
  PrimExpr zero = make_zero(dtype), one = make_const(dtype, 1);
  stride = stride && !end_is_size ? fitted(stride, dtype) : one;
  if (is_zero(stride)) throw Error(TypeError) << "a slice has the stride 0";
  PrimExpr backwards = stride < zero;
  PrimExpr low = choose(backwards, make_const(dtype, -1), zero), high = choose(backwards, size - one, size);
  auto placed = [&](const PrimExpr& given) {
    if (is_last(given)) return high;
    PrimExpr bound = fitted(given, dtype);
    return min(max(choose(bound < zero, bound + size, bound), low), high);
  };
  PrimExpr first = begin ? placed(begin) : choose(backwards, high, low), last;
  if (!end) {
    last = choose(backwards, low, high);
  } else if (end_is_size) {
    PrimExpr count = fitted(end, dtype);
    last = is_last(end) ? high : choose(count < zero, high, min(first + count, high));
  } else {
    last = placed(end);
  }
  PrimExpr span = choose(backwards, first - last, last - first), step = choose(backwards, zero - stride, stride);
  PrimExpr count = is_one(step) ? span : floordiv(span + step - one, step);
  bool covers_all = is_zero(first) && last.same_as(size);
  return {first, stride, covers_all ? count : max(count, zero)};
}

PrimExpr bounded_stride(const PrimExpr& stride) {
  if (!stride) return stride;
  PrimExpr longest = make_const(stride.dtype(), std::numeric_limits<int32_t>::max());
  return min(max(stride, make_zero(stride.dtype()) - longest), longest);
}

std::vector<SliceAxis> slice_axes(const Array<PrimExpr>& shape, const SliceSpec& spec) {
  size_t rank = shape.size(), count = std::max(spec.begin.size(), spec.end.size());
  if (!spec.axes.empty() && spec.axes.size() != count)
    throw Error(TypeError) << "a slice has " << spec.axes.size() << " axes for " << count << " bounds";
  if (count > rank)
    throw Error(TypeError) << "a slice has " << count << " bounds for a tensor of " << rank << " dimensions";
  std::vector<SliceAxis> out;
  for (const PrimExpr& extent : shape)
    out.push_back({make_zero(extent.dtype()), make_const(extent.dtype(), 1), extent});
  for (size_t i = 0; i < count; ++i) {
    int64_t axis = static_cast<int64_t>(i);
    if (!spec.axes.empty()) axis = *as_int(spec.axes[i]);
    if (axis < 0) axis += static_cast<int64_t>(rank);
    if (axis < 0 || axis >= static_cast<int64_t>(rank))
      throw Error(TypeError) << "axis " << spec.axes[i] << " of a slice is out of range for a tensor of " << rank
                             << " dimensions";
    auto number = [i](const Array<PrimExpr>& list) { return i < list.size() ? list[i] : PrimExpr(); };
    out[axis] = slice_axis(shape[axis], number(spec.begin), number(spec.end), number(spec.strides), spec.end_is_size);
  }
  return out;
}

te::Tensor strided_slice(const te::Tensor& x, const std::vector<SliceAxis>& slices) {
  Array<PrimExpr> shape;
  for (const SliceAxis& slice : slices) shape.push_back(slice.extent);
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> source;
        for (size_t i = 0; i < slices.size(); ++i) source.push_back(at[i] * slices[i].stride + slices[i].begin);
        return te::load(x, source);
      },
      "T_strided_slice", kInjective);
}

te::Tensor dynamic_strided_slice(const te::Tensor& x, const te::Tensor& begin, const te::Tensor& end,
                                 const te::Tensor& strides) {
  const DataType wide = DataType::Int(64);
  std::vector<SliceAxis> slices;
  Array<PrimExpr> shape;
  for (size_t i = 0; i < x->shape.size(); ++i) {
    auto number = [&](const te::Tensor& list) {
      const int64_t* count = list ? as_int(list->shape[0]) : nullptr;
      if (!list || (count && static_cast<int64_t>(i) >= *count)) return PrimExpr();
      return cast(wide, te::load(list, {PrimExpr(static_cast<int>(i))}));
    };
    PrimExpr first = number(begin), last = number(end), stride = bounded_stride(number(strides));
    slices.push_back(slice_axis(cast(wide, x->shape[i]), first, last, stride));
    shape.push_back(first || last ? PrimExpr(make_var("dim", x->shape[i].dtype())) : x->shape[i]);
  }
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> source;
        for (size_t i = 0; i < slices.size(); ++i) {
          PrimExpr index = cast(wide, at[i]) * slices[i].stride + slices[i].begin;
          PrimExpr inside = min(max(index, make_zero(wide)), cast(wide, x->shape[i]) - make_const(wide, 1));
          source.push_back(cast(at[i].dtype(), inside));
        }
        return te::load(x, source);
      },
      "T_dynamic_strided_slice", kInjective);
}

te::Tensor strided_set(const te::Tensor& x, const te::Tensor& v, const te::Tensor& begin, const te::Tensor& end,
                       const te::Tensor& strides) {
  return compute(
      x->shape, "ax",
      [&](const Array<PrimExpr>& at) {
        PrimExpr inside = bool_imm(true);
        Array<PrimExpr> source;
        for (size_t i = 0; i < at.size(); ++i) {
          const DataType dtype = DataType::Int(64);  // bounds are whatever the tensors hold
          auto number = [&](const te::Tensor& list) {
            const int64_t* count = as_int(list->shape[0]);
            if (count && static_cast<int64_t>(i) >= *count) return PrimExpr();
            return cast(dtype, te::load(list, {PrimExpr(static_cast<int>(i))}));
          };
          PrimExpr size = cast(dtype, x->shape[i]), here = cast(dtype, at[i]);
          SliceAxis slice = slice_axis(size, number(begin), number(end), bounded_stride(number(strides)));
          PrimExpr back = slice.stride < make_zero(dtype);
          PrimExpr distance = choose(back, slice.begin - here, here - slice.begin);
          PrimExpr step = choose(back, make_zero(dtype) - slice.stride, slice.stride);
          PrimExpr index = floordiv(distance, step);
          inside = logical_and(inside, distance >= make_zero(dtype));
          inside = logical_and(inside, equal(floormod(distance, step), make_zero(dtype)));
          inside = logical_and(inside, logical_and(index < slice.extent, index < cast(dtype, v->shape[i])));
          source.push_back(cast(at[i].dtype(), index));
        }
        return if_then_else(inside, te::load(v, source), te::load(x, at));
      },
      "T_strided_set", kInjective);
}

namespace {

Globals slice_globals{
    {"topi.strided_slice",
     [](te::Tensor x, Array<PrimExpr> begin, Array<PrimExpr> end, Array<PrimExpr> strides, Array<PrimExpr> axes,
        String mode) {
       return strided_slice(
           x,
           slice_axes(x->shape,
                      {.begin = begin, .end = end, .strides = strides, .axes = axes, .end_is_size = mode == "size"}));
     }},
    {"topi.dynamic_strided_slice",
     [](te::Tensor x, te::Tensor begin, te::Tensor end, Any strides) {
       return dynamic_strided_slice(x, begin, end, strides.is_null() ? te::Tensor() : strides.to<te::Tensor>());
     }},
    {"topi.strided_set", strided_set},
};

}  // namespace
}  // namespace tessera::topi

#include "frontend/common/integer_contractions.h"

#include <algorithm>

#include "base/dtypes.h"
#include "frontend/common/parts.h"
#include "relay/attrs/pad.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/transform/fuse/affine_view.h"

namespace tessera::frontend {

using namespace relay;  // NOLINT: makers of calls

namespace {

constexpr int kShift = 128;  // between int8 and uint8

bool is_byte(DataType dtype) { return dtype == kInt8 || dtype == kUInt8; }

Expr int_number(int64_t value) { return make_scalar(static_cast<double>(value), kInt32); }

/// A zero point by `change` more; a constant stays one, and 0 is none.
Expr moved(const NodeContext& in, const Expr& zero, int change) {
  if (!zero.defined()) return change == 0 ? zero : int_number(change);
  auto* constant = zero.as<Constant>();
  if (!constant) return change == 0 ? zero : add(zero, int_number(change));
  std::vector<int64_t> values = *in.constant_ints(zero);
  if (std::all_of(values.begin(), values.end(), [&](int64_t value) { return value + change == 0; })) return nullptr;
  std::vector<double> out;
  for (int64_t value : values) out.push_back(static_cast<double>(value + change));
  return numbers_of(out, *in.fixed_shape(zero), kInt32);
}

/// A vector with `trailing` dimensions of 1 behind it.
Expr spread(const NodeContext& in, const Expr& zero, int trailing) {
  return zero.defined() && in.rank(zero) == 1 && trailing > 0 ? expand_dims(zero, 1, trailing) : zero;
}

/// The integers as int32, less their zero point; a vector of those has `trailing` dimensions behind it.
Expr centred(const NodeContext& in, const Integers& x, int trailing) {
  Expr wide = cast_if_needed(in, x.data, kInt32);
  return x.zero.defined() ? subtract(wide, spread(in, x.zero, trailing)) : wide;
}

Integers as_uint8(const NodeContext& in, const Integers& x) {
  if (in.dtype(x.data) == kUInt8) return {x.data, moved(in, x.zero, 0)};
  return {as_unsigned(x.data), moved(in, x.zero, kShift)};
}

/// The same integers less their zero points, a vector of which has `trailing` dimensions of the weight behind it; nothing
/// where one does not fit.
Expr without_zero(const NodeContext& in, const NDArray& weight, const Expr& zero, int trailing) {
  std::vector<int64_t> zeros = *in.constant_ints(zero);
  std::span<const int64_t> shape = weight.shape();
  int64_t inner = 1;
  for (size_t i = 0; i < static_cast<size_t>(trailing); ++i) inner *= shape[shape.size() - 1 - i];
  NDArray out = NDArray::empty(std::vector<int64_t>(shape.begin(), shape.end()), kInt8);
  const bool is_signed = weight.dtype() == kInt8;
  const auto count = static_cast<int64_t>(zeros.size());
  for (int64_t i = 0; i < weight.size(); ++i) {
    const int64_t value = (is_signed ? weight.data<int8_t>()[i] : weight.data<uint8_t>()[i]) -
                          zeros[static_cast<size_t>(i / inner % count)];
    if (value < INT8_MIN || value > INT8_MAX) return nullptr;
    out.data<int8_t>()[i] = static_cast<int8_t>(value);
  }
  return make_constant(out);
}

/// A constant weight as int8, without zero points where that fits; see `without_zero`.
Integers as_int8(const NodeContext& in, const Integers& x, int trailing) {
  const NDArray& weight = x.data.as<Constant>()->data;
  if (x.zero.defined() && x.zero.as<Constant>())
    if (Expr out = without_zero(in, weight, x.zero, trailing); out.defined()) return {out, nullptr};
  if (weight.dtype() == kInt8) return {x.data, moved(in, x.zero, 0)};
  NDArray out = NDArray::empty(std::vector<int64_t>(weight.shape().begin(), weight.shape().end()), kInt8);
  for (int64_t i = 0; i < weight.size(); ++i)
    out.data<int8_t>()[i] = static_cast<int8_t>(weight.data<uint8_t>()[i] - kShift);
  return {make_constant(out), moved(in, x.zero, -kShift)};
}

Expr sum_over(const Expr& x, const Array<PrimExpr>& axes, bool keeps) { return sum(cast(x, kInt32), axes, keeps); }

/// The terms of zero points, all of which broadcast against the result; `of_a` and `of_b` give sums over `depth` elements.
Expr with_zero_points(Expr out, const Expr& a_zero, const Expr& b_zero, int64_t depth,
                      const std::function<Expr()>& of_a, const std::function<Expr()>& of_b) {
  if (a_zero.defined()) {
    Expr rest = of_b();
    if (b_zero.defined()) rest = subtract(rest, multiply(b_zero, int_number(depth)));
    out = subtract(out, multiply(a_zero, rest));
  }
  return b_zero.defined() ? subtract(out, multiply(b_zero, of_a())) : out;
}

}  // namespace

Integers integers(const NodeContext& in, const Expr& data, const Expr& zero) {
  if (!zero.defined()) return {data, nullptr};
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(zero);
  const bool is_one = shape && shape->size() == 1 && (*shape)[0] == 1;
  if (zero.as<Constant>()) {
    std::vector<int64_t> values = *in.constant_ints(zero);
    return {data, numbers_of({values.begin(), values.end()}, is_one ? std::vector<int64_t>{} : *shape, kInt32)};
  }
  return {data, cast_if_needed(in, is_one ? reshape(zero, Array<PrimExpr>()) : zero, kInt32)};
}

Expr integer_matmul(const NodeContext& in, Integers a, Integers b) {
  const size_t rank_a = in.rank(a.data), rank_b = in.rank(b.data);
  const int64_t* depth = rank_b < 2 ? nullptr : as_int(in.shape(b.data)[rank_b - 2]);
  const bool are_bytes = is_byte(in.dtype(a.data)) && is_byte(in.dtype(b.data));
  if (!are_bytes || !depth || (rank_b > 2 && rank_a < 2) || (rank_a == 1 && a.zero.defined() && in.rank(a.zero) > 0))
    return matmul_like_numpy(in, centred(in, a, 1), centred(in, b, 0));
  if (b.data.as<Constant>()) a = as_uint8(in, a), b = as_int8(in, b, 0);
  Expr out = matmul_like_numpy(in, a.data, b.data, kInt32);
  return with_zero_points(
      out, spread(in, a.zero, 1), b.zero, *depth, [&] { return sum_over(a.data, {-1}, true); },
      [&] { return sum_over(b.data, {-2}, rank_b > 2); });
}

namespace {

/// As many elements of `value` around the data as the windows say.
Expr padded(const Expr& data, const ConvWindows& windows, const Expr& value) {
  const size_t spatial = windows.spatial();
  return call_op("nn.pad", {data, value}, make_attrs<PadAttrs>([&](auto& attrs) {
                   attrs.pad_width = {int_array({0, 0}), int_array({0, 0})};
                   for (size_t i = 0; i < spatial; ++i)
                     attrs.pad_width.push_back(int_array({windows.padding[i], windows.padding[i + spatial]}));
                 }));
}

/// The sums of what windows see: over the channels of a group, and then over the elements of a window.
Expr window_sums(const NodeContext& in, const Expr& data, const ConvWindows& windows, int64_t outs) {
  const auto groups = windows.groups;
  Expr sums = data;
  if (groups == 1) {
    sums = sum_over(data, {1}, true);
  } else {
    sums = sum_over(reshape(data, int_array({0, -4, groups, -1, -2})), {2}, false);
  }
  std::vector<int64_t> filter(windows.kernel.begin(), windows.kernel.end());
  filter.insert(filter.begin(), {groups, 1});
  const bool is_point = std::all_of(filter.begin() + 2, filter.end(), [](int64_t extent) { return extent == 1; }) &&
                        std::all_of(windows.strides.begin(), windows.strides.end(), [](int64_t s) { return s == 1; });
  if (!is_point)
    sums = convolution(in, sums, numbers_of(std::vector<double>(size_t(product_of(filter)), 1), filter, kInt32),
                       windows, kInt32);
  return groups == 1 || outs == groups ? sums : repeat(sums, static_cast<int>(outs / groups), 1);
}

/// Signals as images of one row, for which there are kernels. A constant stays one.
Expr as_image(const Expr& x) {
  auto* constant = x.as<Constant>();
  if (!constant) return expand_dims(x, 2);
  std::vector<int64_t> shape(constant->data.shape().begin(), constant->data.shape().end());
  shape.insert(shape.begin() + 2, 1);
  return make_constant(constant->data.view(shape, constant->data.dtype()));
}
ConvWindows as_images(ConvWindows windows) {
  for (Ints* one : {&windows.kernel, &windows.strides, &windows.dilations}) one->insert(one->begin(), 1);
  windows.padding = Ints{0, windows.padding[0], 0, windows.padding[1]};
  return windows;
}

}  // namespace

Expr integer_convolution(const NodeContext& in, Integers data, Integers filters, ConvWindows windows) {
  int spatial = static_cast<int>(windows.spatial());
  const bool is_signal = spatial == 1;
  Ints shape = in.static_shape(filters.data, "the weight of a convolution");
  const bool are_bytes = is_byte(in.dtype(data.data)) && is_byte(in.dtype(filters.data));
  const bool has_one_zero = !data.zero.defined() || in.rank(data.zero) == 0;
  const bool can_pad = std::all_of(windows.padding.begin(), windows.padding.end(), [](int64_t p) { return p >= 0; });
  if (!are_bytes || !has_one_zero || !can_pad || (filters.zero.defined() && in.rank(filters.zero) > 1))
    return convolution(in, centred(in, data, 0), centred(in, filters, spatial + 1), windows);
  if (filters.data.as<Constant>()) data = as_uint8(in, data), filters = as_int8(in, filters, spatial + 1);
  if (is_signal) {
    data.data = as_image(data.data), filters.data = as_image(filters.data);
    windows = as_images(windows);
    spatial = 2;
  }
  const bool pads = std::any_of(windows.padding.begin(), windows.padding.end(), [](int64_t p) { return p != 0; });
  if (pads && (data.zero.defined() || filters.zero.defined())) {
    Expr value = data.zero.defined() ? cast(data.zero, in.dtype(data.data)) : make_scalar(0, in.dtype(data.data));
    data.data = padded(data.data, windows, value);
    std::fill(windows.padding.begin(), windows.padding.end(), 0);
  }
  Expr out = convolution(in, data.data, filters.data, windows, kInt32);
  Array<PrimExpr> over;
  for (int axis = 1; axis <= spatial + 1; ++axis) over.push_back(PrimExpr(axis));
  const int64_t depth = product_of(shape) / std::max<int64_t>(shape[0], 1);
  out = with_zero_points(
      out, data.zero, spread(in, filters.zero, spatial), depth,
      [&] { return window_sums(in, data.data, windows, shape[0]); },
      [&] { return expand_dims(sum_over(filters.data, over, false), 1, spatial); });
  return is_signal ? squeeze(out, {PrimExpr(2)}) : out;
}

}  // namespace tessera::frontend

#include "relay/transform/fuse/affine_view.h"

#include <algorithm>

#include "base/dtypes.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/slots.h"
#include "runtime/function/element.h"

namespace tessera::relay {
namespace {

/// Where axis `axis` is after a transpose.
int transposed_axis(const TransposeAttrs* attrs, int axis, size_t rank) {
  if (!attrs->axes.defined() || attrs->axes.empty()) return static_cast<int>(rank) - 1 - axis;
  std::optional<std::vector<int64_t>> axes = fixed_ints(attrs->axes);
  if (!axes) return -1;
  for (size_t i = 0; i < axes->size(); ++i)
    if (((*axes)[i] + static_cast<int64_t>(rank)) % static_cast<int64_t>(rank) == axis) return static_cast<int>(i);
  return -1;
}

}  // namespace

std::optional<std::vector<float>> constant_floats(const Expr& expr) {
  auto* constant = expr.as<Constant>();
  if (!constant || constant->data.device().device_type != kDLCPU) return {};
  const DataType dtype = constant->data.dtype();
  std::vector<float> out;
  for (int64_t i = 0, n = constant->data.size(); i < n; ++i)
    out.push_back(static_cast<float>(read_float(dtype, constant->data.data<char>() + i * dtype.bytes())));
  return out;
}

Expr float_constant(const std::vector<float>& values) {
  if (values.size() == 1) return make_scalar(values[0], kFloat32);
  NDArray data = NDArray::empty(std::vector<int64_t>{static_cast<int64_t>(values.size())}, kFloat32);
  std::copy(values.begin(), values.end(), data.data<float>());
  return make_constant(data);
}

std::optional<AffineView> affine_view(const Array<Expr>& args, DataType dtype, int axis, size_t rank) {
  std::optional<std::vector<float>> scale = constant_floats(args[1]), zero = constant_floats(args[2]);
  if (!scale || !zero || scale->empty() || zero->empty() || dtype_of(args[1]) != kFloat32) return {};
  for (float value : *zero)
    if (value != (*zero)[0]) return {};
  if (scale->size() > 1 && std::all_of(scale->begin(), scale->end(), [&](float s) { return s == (*scale)[0]; }))
    scale->resize(1);
  AffineView out;
  out.data = args[0];
  out.dtype = dtype;
  out.scale = *scale;
  out.zero = (*zero)[0];
  if (!out.has_one_scale()) out.axis = axis < 0 ? axis + static_cast<int>(rank) : axis;
  return out;
}

std::optional<AffineView> moved_view(const Call* call, const AffineView& view, const Type& type) {
  if (call->args.size() != 1 || moves_of(call) == Moves::None) return {};
  AffineView out = view;
  if (!view.has_one_scale()) {
    auto* attrs = call->attrs.as<TransposeAttrs>();
    auto* tensor = type.as<TensorTypeNode>();
    if (!attrs || !tensor) return {};
    out.axis = transposed_axis(attrs, view.axis, tensor->shape.size());
    if (out.axis < 0) return {};
  }
  out.data = with_args(call, {view.data});
  return out;
}

Expr channel_sums(const Expr& weight, int channel, size_t rank, int64_t factor) {
  auto* constant = weight.as<Constant>();
  if (!constant || constant->data.device().device_type != kDLCPU) {
    Array<PrimExpr> others;
    for (int axis = 0; axis < static_cast<int>(rank); ++axis)
      if (axis != channel) others.push_back(axis);
    return multiply(sum(cast(weight, kInt32), others), make_scalar(static_cast<double>(factor), kInt32));
  }
  const NDArray& data = constant->data;
  int64_t inside = 1;
  for (size_t i = static_cast<size_t>(channel) + 1; i < rank; ++i) inside *= data.shape()[i];
  const int64_t channels = data.shape()[static_cast<size_t>(channel)];
  NDArray out = NDArray::empty(std::vector<int64_t>{channels}, kInt32);
  auto* sums = out.data<int32_t>();
  std::fill(sums, sums + channels, 0);
  const auto* bytes = data.data<int8_t>();
  for (int64_t i = 0, n = data.size(); i < n; ++i) sums[i / inside % channels] += bytes[i];
  for (int64_t i = 0; i < channels; ++i) sums[i] *= static_cast<int32_t>(factor);
  return make_constant(out);
}

Expr as_unsigned(const Expr& x) { return cast(add(cast(x, kInt16), make_scalar(128, kInt16)), DataType::UInt(8)); }

Expr as_signed(const Expr& x) { return cast(subtract(cast(x, kInt16), make_scalar(128, kInt16)), DataType::Int(8)); }

}  // namespace tessera::relay

#include "op/dyn/static_forms.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "relay/attrs/image.h"
#include "relay/attrs/index.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::op {

using namespace relay;
using relay::Call;  // not the call of TIR

namespace {

using Ints = std::vector<int64_t>;

/// An operator whose one shape argument, the last, fills an array among its attributes.
template <class T>
Expr fill_last(const Call* call, const char* name, Array<PrimExpr> T::* field) {
  size_t last = call->args.size() - 1;
  auto values = constant_ints(call->args[last]);
  if (!values) return nullptr;
  Array<Expr> args = call->args;
  args.pop_back();
  return call_op(name, args, changed_attrs<T>(call->attrs, [&](auto& a) { a.*field = int_array(*values); }));
}

/// Attributes hold 32 bits; numbers beyond stay arguments, whose shape function says what is wrong with them.
bool fits_int32(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

}  // namespace

Expr static_reshape(const Call* call) { return fill_last<ReshapeAttrs>(call, "reshape", &ReshapeAttrs::newshape); }
Expr static_squeeze(const Call* call) { return fill_last<SqueezeAttrs>(call, "squeeze", &SqueezeAttrs::axis); }
Expr static_tile(const Call* call) { return fill_last<TileAttrs>(call, "tile", &TileAttrs::reps); }
Expr static_zeros(const Call* call) { return fill_last<InitOpAttrs>(call, "zeros", &InitOpAttrs::shape); }
Expr static_ones(const Call* call) { return fill_last<InitOpAttrs>(call, "ones", &InitOpAttrs::shape); }
Expr static_full(const Call* call) { return fill_last<InitOpAttrs>(call, "full", &InitOpAttrs::shape); }

/// An extent of 1 asks for nothing: the data's stays (ONNX's Expand).
Expr static_broadcast_to(const Call* call) {
  auto values = constant_ints(call->args[1]);
  auto* data = call->args[0]->checked_type_.as<TensorTypeNode>();
  if (!values || !data || data->shape.size() > values->size()) return nullptr;
  size_t extra = values->size() - data->shape.size();
  for (size_t i = extra; i < values->size(); ++i) {
    if ((*values)[i] != 1) continue;
    const int64_t* extent = as_int(data->shape[i - extra]);
    if (!extent) return nullptr;
    (*values)[i] = *extent;
  }
  return call_op("broadcast_to", {call->args[0]},
                 changed_attrs<InitOpAttrs>(call->attrs, [&](auto& a) { a.shape = int_array(*values); }));
}

Expr static_slice(const Call* call) {
  auto begin = constant_ints(call->args[1]), end = constant_ints(call->args[2]), strides = constant_ints(call->args[3]);
  if (!begin || !end || !strides) return nullptr;
  for (Ints* list : {&*begin, &*end, &*strides})  // further outside than any extent is as far as an extent
    for (int64_t& number : *list) number = std::clamp<int64_t>(number, -INT32_MAX, INT32_MAX);
  return call_op("strided_slice", {call->args[0]}, changed_attrs<StridedSliceAttrs>(call->attrs, [&](auto& a) {
                   a.begin = int_array(*begin);
                   a.end = int_array(*end);
                   a.strides = int_array(*strides);
                   a.axes = nullptr;  // the bounds are those of all
                 }));
}

Expr static_topk(const Call* call) {
  auto k = constant_ints(call->args[1]);
  if (!k || k->size() != 1) return nullptr;
  if ((*k)[0] < 1 && call->attrs_as<TopkAttrs>()->k) return nullptr;  // the static form takes all instead
  return call_op("topk", {call->args[0]},
                 changed_attrs<TopkAttrs>(call->attrs, [&](auto& a) { a.k = int_imm(DataType::Int(32), (*k)[0]); }));
}

Expr static_one_hot(const Call* call) {
  auto depth = constant_ints(call->args[3]);
  if (!depth || depth->size() != 1 || !fits_int32((*depth)[0])) return nullptr;
  return call_op(
      "one_hot", {call->args[0], call->args[1], call->args[2]},
      changed_attrs<OneHotAttrs>(call->attrs, [&](auto& a) { a.depth = static_cast<int32_t>((*depth)[0]); }));
}

Expr static_expand_dims(const Call* call) {
  auto axis = constant_ints(call->args[1]);
  if (!axis || axis->size() != 1 || !fits_int32((*axis)[0])) return nullptr;
  return expand_dims(call->args[0], static_cast<int>((*axis)[0]), call->attrs_as<DynExpandDimsAttrs>()->num_newaxis);
}

Expr static_pad(const Call* call) {
  auto widths = constant_ints(call->args[1]);
  if (!widths || widths->size() % 2 != 0) return nullptr;
  return call_op("nn.pad", {call->args[0], call->args[2]}, changed_attrs<PadAttrs>(call->attrs, [&](auto& a) {
                   a.pad_width = {};
                   for (size_t i = 0; i < widths->size(); i += 2)
                     a.pad_width.push_back(int_array({(*widths)[i], (*widths)[i + 1]}));
                 }));
}

Expr static_upsampling(const Call* call) {
  auto height = scalar_value(call->args[1]), width = scalar_value(call->args[2]);
  if (!height || !width) return nullptr;
  return call_op("nn.upsampling", {call->args[0]}, changed_attrs<UpSamplingAttrs>(call->attrs, [&](auto& a) {
                   a.scale_h = *height;
                   a.scale_w = *width;
                 }));
}

Expr static_upsampling3d(const Call* call) {
  auto depth = scalar_value(call->args[1]), height = scalar_value(call->args[2]), width = scalar_value(call->args[3]);
  if (!depth || !height || !width) return nullptr;
  return call_op("nn.upsampling3d", {call->args[0]}, changed_attrs<UpSampling3DAttrs>(call->attrs, [&](auto& a) {
                   a.scale_d = *depth;
                   a.scale_h = *height;
                   a.scale_w = *width;
                 }));
}

/// Sizes may be floats, whose fraction counts for nothing.
static std::optional<Ints> constant_sizes(const Expr& expr) {
  auto* constant = expr.as<Constant>();
  if (!constant || constant->data.device().device_type != kDLCPU || constant->data.dtype() != DataType::Float(32))
    return constant_ints(expr);
  const float* values = constant->data.data<float>();
  return Ints(values, values + constant->data.size());
}

Expr static_resize(const Call* call) {
  auto size = constant_sizes(call->args[1]);
  auto* roi = call->args[2].as<Constant>();
  bool uses_roi = call->attrs_as<Resize2DAttrs>()->coordinate_transformation_mode == "tf_crop_and_resize";
  if (!size || size->size() != 2 || !roi || uses_roi) return nullptr;
  return call_op("image.resize2d", {call->args[0]},
                 changed_attrs<Resize2DAttrs>(call->attrs, [&](auto& a) { a.size = int_array(*size); }));
}

Expr static_sparse_to_dense(const Call* call) {
  auto shape = constant_ints(call->args[3]);
  if (!shape) return nullptr;
  return call_op("sparse_to_dense", {call->args[0], call->args[1], call->args[2]},
                 make_attrs<SparseToDenseAttrs>([&](auto& a) { a.output_shape = int_array(*shape); }));
}

}  // namespace tessera::op

// Convolutions by Winograd's minimal filtering: nn.contrib_conv2d_winograd_weight_transform, which is evaluated when a model
// is compiled, and nn.contrib_conv2d_winograd_without_weight_transform.

#include "topi/nn/winograd.h"
#include "op/evaluate/evaluate.h"
#include "op/layout_rules.h"

#include "ir/prim/ops.h"
#include "op/nn/conv.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/conv.h"

namespace tessera::op {
namespace {

/// Where the operator names no axes, those of an image.
topi::WinogradForm form_of(int tile, const Array<PrimExpr>& axes) {
  topi::WinogradForm out{.tile = tile, .axes = {}};
  for (const PrimExpr& axis : axes.empty() ? Array<PrimExpr>{0, 1} : axes)
    out.axes.push_back(static_cast<size_t>(constant_of(axis, "axis")));
  return out;
}

}  // namespace

bool winograd_weight_type(TypeQuery& query, size_t spatial) {
  auto* weight = query.tensor(0);
  if (!weight) return false;
  if (weight->shape.size() != spatial + 2)
    throw Error(TypeError) << "the weight must be (out, in, " << (spatial == 2 ? "3, 3" : "kernel...") << "), got "
                           << to_text(weight->shape);
  auto* attrs = query.attrs_as<relay::ConvWinogradWeightTransformAttrs>();
  const topi::WinogradForm form = form_of(attrs->tile_size, attrs->axes);
  Array<PrimExpr> shape, direct;
  std::vector<bool> is_transformed(spatial, false);
  for (size_t axis : form.axes) {
    if (axis >= spatial || is_transformed[axis])
      throw Error(ValueError) << "axes of Winograd's convolution are some of 0 to " << spatial - 1
                              << ", each once, got " << axis;
    is_transformed[axis] = true;
    shape.push_back(weight->shape[2 + axis] + form.tile - 1);
  }
  for (size_t axis = 0; axis < spatial; ++axis)
    if (!is_transformed[axis]) shape.push_back(weight->shape[2 + axis]);
  shape.push_back(weight->shape[0]);
  shape.push_back(weight->shape[1]);
  query.result(TensorType(shape, weight->dtype));
  return true;
}

Array<te::Tensor> winograd_weight_compute(const Attrs& given, const Array<te::Tensor>& in) {
  auto* attrs = given.as<relay::ConvWinogradWeightTransformAttrs>();
  return {topi::winograd_weight(in[0], form_of(attrs->tile_size, attrs->axes))};
}

Array<te::Tensor> winograd_conv_compute(const Attrs& given, const Array<te::Tensor>& in, const Type& out) {
  auto* attrs = cast_or_null<relay::ConvWinogradAttrs>(given.get());
  topi::ConvOptions options = conv_options(given, out.as<TensorTypeNode>()->dtype);
  return {topi::winograd_conv(in[0], in[1], options, form_of(attrs->tile_size, attrs->axes))};
}

namespace {

bool weight_type(TypeQuery& query) { return winograd_weight_type(query, 2); }
Array<te::Tensor> weight_compute(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  return winograd_weight_compute(attrs, in);
}

}  // namespace

static void winograd_records() {
  OpRecord("nn.contrib_conv2d_winograd_weight_transform")
      .doc("The weight of a 3x3 convolution as Winograd's convolution of tiles takes it: (side, side, out, in).")
      .attrs<relay::ConvWinogradWeightTransformAttrs>()
      .input("weight", "the filters (out, in, 3, 3)")
      .support_level(10)
      .type("Conv2DWinogradWeightTransform", weight_type)
      .fusion(Fusion::OutputElementwise)
      .evaluate(evaluate_winograd_weight)
      .compute(weight_compute);
  OpRecord("nn.contrib_conv2d_winograd_without_weight_transform")
      .doc("A 3x3 convolution by Winograd's minimal filtering, with a weight that has been transformed.")
      .attrs<relay::Conv2DWinogradAttrs>()
      .input("data", "the input, in data_layout")
      .input("weight", "the transformed filters")
      .support_level(10)
      .type("Conv2DWinograd", described_conv_type)
      .fusion(Fusion::OutputElementwise)
      .layout(layout::winograd)
      .strategy_name("conv2d_winograd_without_weight_transform")
      .compute(winograd_conv_compute);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily winograd_family{winograd_records};

}  // namespace tessera::op

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

bool weight_type(TypeQuery& query) {
  auto* weight = query.tensor(0);
  if (!weight) return false;
  if (weight->shape.size() != 4)
    throw Error(TypeError) << "the weight must be (out, in, 3, 3), got " << to_text(weight->shape);
  auto* attrs = query.attrs_as<relay::ConvWinogradWeightTransformAttrs>();
  PrimExpr side = weight->shape[2] + attrs->tile_size - 1, other = weight->shape[3] + attrs->tile_size - 1;
  query.result(TensorType({side, other, weight->shape[0], weight->shape[1]}, weight->dtype));
  return true;
}

Array<te::Tensor> weight_compute(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  return {topi::winograd_weight(in[0], attrs.as<relay::ConvWinogradWeightTransformAttrs>()->tile_size)};
}

Array<te::Tensor> conv_compute(const Attrs& attrs, const Array<te::Tensor>& in, const Type& out) {
  topi::ConvOptions options = conv_options(attrs, out.as<TensorTypeNode>()->dtype);
  return {topi::winograd_conv(in[0], in[1], options, attrs.as<relay::Conv2DWinogradAttrs>()->tile_size)};
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
      .compute(conv_compute);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily winograd_family{winograd_records};

}  // namespace tessera::op

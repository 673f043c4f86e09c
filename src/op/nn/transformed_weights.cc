// Convolutions with a weight that was transformed before: nn.contrib_conv3d_winograd_*, nn.contrib_conv2d_gemm_* and
// nn.contrib_conv2d_winograd_nnpack_weight_transform.

#include "ir/prim/ops.h"
#include "op/evaluate/evaluate.h"
#include "op/layout_rules.h"
#include "op/nn/conv.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/conv.h"
#include "te/reduce.h"
#include "topi/nn/cook_toom.h"
#include "topi/nn/pad.h"
#include "topi/operand.h"

namespace tessera::op {
namespace {

using Indices = Array<PrimExpr>;
using relay::Conv3DWinogradAttrs;
using relay::ConvWinogradWeightTransformAttrs;

struct ConvGemmWeightTransformAttrs : AttrsNode {
  int32_t tile_rows = 1, tile_cols = 1;
  static constexpr NodeInfo info{"relay.attrs.ConvGemmWeightTransformAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("tile_rows", &ConvGemmWeightTransformAttrs::tile_rows, Required);
    f("tile_cols", &ConvGemmWeightTransformAttrs::tile_cols, Required);
  }
};
struct NNPACKWeightAttrs : AttrsNode {
  int32_t convolution_algorithm = 0;
  DataType out_dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.Conv2DWinogradNNPACKWeightTransformAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("convolution_algorithm", &NNPACKWeightAttrs::convolution_algorithm, Required);
    f("out_dtype", &NNPACKWeightAttrs::out_dtype);
  }
};
register_types<ConvGemmWeightTransformAttrs, NNPACKWeightAttrs> transformed_weight_types;

// ---- Winograd in three dimensions ---------------------------------------------------------------------------

/// The first dimension that is transformed of a weight (out, in, depth, height, width): not the depth where it differs.
size_t first_transformed(const Array<PrimExpr>& weight) {
  return constant_of(weight[2], "depth") == constant_of(weight[3], "height") ? 2 : 3;
}

bool conv3d_winograd_weight_type(TypeQuery& query) {
  auto* weight = query.tensor(0);
  if (!weight) return false;
  if (!query.attrs_as<ConvWinogradWeightTransformAttrs>()->axes.empty()) return winograd_weight_type(query, 3);
  require_rank(query, 0, "weight", 5);
  if (constant_of(weight->shape[3], "height") != constant_of(weight->shape[4], "width"))
    throw Error(TypeError) << "Winograd needs kernels of one height and width, got " << to_text(weight->shape);
  const int tile = query.attrs_as<ConvWinogradWeightTransformAttrs>()->tile_size;
  Array<PrimExpr> shape;
  for (size_t i = 2; i < 5; ++i)
    shape.push_back(i < first_transformed(weight->shape) ? weight->shape[i] : weight->shape[i] + (tile - 1));
  shape.push_back(weight->shape[0]);
  shape.push_back(weight->shape[1]);
  query.result(TensorType(shape, weight->dtype));
  return true;
}

Tensors conv3d_winograd_weight(const Attrs& attrs, const Tensors& in, const Type&) {
  if (!attrs.as<ConvWinogradWeightTransformAttrs>()->axes.empty()) return winograd_weight_compute(attrs, in);
  return {topi::cook_toom_weight(in[0], attrs.as<ConvWinogradWeightTransformAttrs>()->tile_size,
                                 first_transformed(in[0]->shape), false, "transform_weight")};
}

Tensors conv3d_winograd(const Attrs& given, const Tensors& in, const Type& out) {
  auto* attrs = given.as<Conv3DWinogradAttrs>();
  if (!attrs->axes.empty()) return winograd_conv_compute(given, in, out);
  for (const Array<PrimExpr>& ones : {attrs->strides, attrs->dilation})
    for (const PrimExpr& value : ones)
      if (!is_one(value)) throw Error(ValueError) << "Winograd's convolution has strides and dilation of 1";
  if (attrs->groups != 1 || attrs->data_layout != "NCDHW")
    throw Error(ValueError) << "Winograd's convolution takes NCDHW data and one group";
  std::vector<int> kernel_size;
  for (const PrimExpr& extent : attrs->kernel_size)
    kernel_size.push_back(static_cast<int>(constant_of(extent, "kernel_size")));
  return {topi::cook_toom_conv3d(in[0], in[1], topi::full_padding(attrs->padding, 3), kernel_size, attrs->tile_size,
                                 tensor_of(out)->dtype)};
}

// ---- NNPACK -------------------------------------------------------------------------------------------------

bool nnpack_weight_type(TypeQuery& query) {
  auto* weight = query.tensor(0);
  if (!weight) return false;
  require_rank(query, 0, "weight", 4);
  for (int i : {2, 3})
    if (constant_of(weight->shape[i], "kernel size") != 3)
      throw Error(TypeError) << "the weight must be (out, in, 3, 3), got " << to_text(weight->shape);
  DataType dtype = query.attrs_as<NNPACKWeightAttrs>()->out_dtype;
  query.result(TensorType({weight->shape[0], weight->shape[1], 8, 8}, dtype.is_void() ? weight->dtype : dtype));
  return true;
}

Tensors nnpack_weight(const Attrs&, const Tensors& in, const Type& out) {
  const DataType dtype = tensor_of(out)->dtype;
  te::Tensor wide = topi::compute(
      in[0]->shape, "ax", [&](const Indices& at) { return tessera::cast(dtype, te::load(in[0], at)); }, "weight",
      topi::kElementwise);
  return {topi::cook_toom_weight(wide, 6, 2, true, "transform_weight")};
}

// ---- convolutions as matmuls --------------------------------------------------------------------------------

PrimExpr tiles_of(const PrimExpr& extent, int tile) { return floordiv(extent + (tile - 1), tile); }

bool gemm_weight_type(TypeQuery& query) {
  auto* weight = query.tensor(0);
  if (!weight) return false;
  require_rank(query, 0, "weights", 4);
  auto* attrs = query.attrs_as<ConvGemmWeightTransformAttrs>();
  if (attrs->tile_rows < 1 || attrs->tile_cols < 1)
    throw Error(TypeError) << "tiles of " << attrs->tile_rows << " by " << attrs->tile_cols;
  const Array<PrimExpr>& s = weight->shape;
  PrimExpr depth = unless_any({s[0], s[1], s[2]}, [&] { return s[0] * s[1] * s[2]; });
  auto tiles = [](const PrimExpr& extent, int tile) {
    return on_extent(extent, [&](const PrimExpr& e) { return tiles_of(e, tile); });
  };
  query.result(
      TensorType({tiles(s[3], attrs->tile_rows), tiles(depth, attrs->tile_cols), attrs->tile_rows, attrs->tile_cols},
                 weight->dtype));
  return true;
}

/// (h, w, in, out) as tiles of the matrix (out, h * w * in), with zeros at its ends.
Tensors gemm_weight(const Attrs& given, const Tensors& in, const Type&) {
  auto* attrs = given.as<ConvGemmWeightTransformAttrs>();
  const Array<PrimExpr>& s = in[0]->shape;
  const PrimExpr depth = s[0] * s[1] * s[2];
  return {topi::compute(
      {tiles_of(s[3], attrs->tile_rows), tiles_of(depth, attrs->tile_cols), attrs->tile_rows, attrs->tile_cols}, "ax",
      [&](const Indices& at) {
        PrimExpr o = at[0] * attrs->tile_rows + at[2], k = at[1] * attrs->tile_cols + at[3];
        PrimExpr pixel = floordiv(k, s[2]);
        PrimExpr value = te::load(in[0], {floordiv(pixel, s[1]), floormod(pixel, s[1]), floormod(k, s[2]), o});
        return if_then_else(logical_and(o < s[3], k < depth), value, make_zero(in[0]->dtype));
      },
      "weight_tiles", topi::kInjective)};
}

Tensors gemm_conv(const Attrs& given, const Tensors& in, const Type& out) {
  auto* attrs = given.as<relay::Conv2DAttrs>();
  if (attrs->data_layout != "NHWC" || attrs->groups != 1)
    throw Error(ValueError) << "nn.contrib_conv2d_gemm_without_weight_transform takes NHWC data and one group";
  const te::Tensor& weight = in[1];
  const DataType dtype = tensor_of(out)->dtype;
  const PrimExpr channels = in[0]->shape[3], rows = weight->shape[2], columns = weight->shape[3];
  Array<PrimExpr> sides = topi::full_padding(attrs->padding, 2);
  te::Tensor padded = topi::pad(in[0], {0, sides[0], sides[1], 0}, {0, sides[2], sides[3], 0}, make_zero(in[0]->dtype));
  auto axis = [](const PrimExpr& extent, const char* name) {
    return te::reduce_axis(make_range(make_zero(extent.dtype()), extent), name);
  };
  IterVar dy = axis(attrs->kernel_size[0], "dy"), dx = axis(attrs->kernel_size[1], "dx"), c = axis(channels, "c");
  return {topi::compute(
      tensor_of(out)->shape, "ax",
      [&](const Indices& at) {
        PrimExpr k = (dy->var * attrs->kernel_size[1] + dx->var) * channels + c->var;
        PrimExpr value = te::load(padded, {at[0], at[1] * attrs->strides[0] + dy->var * attrs->dilation[0],
                                           at[2] * attrs->strides[1] + dx->var * attrs->dilation[1], c->var});
        PrimExpr factor = te::load(
            weight, {floordiv(at[3], rows), floordiv(k, columns), floormod(at[3], rows), floormod(k, columns)});
        return te::sum(tessera::cast(dtype, value) * tessera::cast(dtype, factor), {dy, dx, c});
      },
      "conv2d_gemm", "conv2d_gemm")};
}

}  // namespace

static void transformed_weight_records() {
  OpRecord("nn.contrib_conv3d_winograd_weight_transform")
      .doc(
          "The weight of a convolution as Winograd's convolution of tiles takes it: (depth, side, side, out, in); "
          "where axes "
          "are named, (side for each of them, the kernel's other extents, out, in).")
      .attrs<ConvWinogradWeightTransformAttrs>()
      .input("weight", "the filters (out, in, depth, height, width)")
      .support_level(10)
      .type("Conv3DWinogradWeightTransform", conv3d_winograd_weight_type)
      .fusion(Fusion::OutputElementwise)
      .evaluate(evaluate_winograd_weight)
      .compute(conv3d_winograd_weight);
  OpRecord("nn.contrib_conv3d_winograd_without_weight_transform")
      .doc(
          "A convolution over three dimensions by Winograd's minimal filtering, with a weight that has been "
          "transformed.")
      .attrs<Conv3DWinogradAttrs>()
      .input("data", "the input (n, c, depth, height, width); in data_layout where axes are named")
      .input("weight", "the transformed filters")
      .support_level(10)
      .type("Conv3DWinograd", described_conv_type)
      .fusion(Fusion::OutputElementwise)
      .layout(layout::winograd)
      .strategy_name("conv3d_winograd_without_weight_transform")
      .compute(conv3d_winograd);
  OpRecord("nn.contrib_conv2d_winograd_nnpack_weight_transform")
      .doc("The weight of a 3x3 convolution for tiles of 6x6 results: (out, in, 8, 8).")
      .attrs<NNPACKWeightAttrs>()
      .input("weight", "the filters (out, in, 3, 3)")
      .support_level(10)
      .type("Conv2DWinogradNNPACKWeightTransform", nnpack_weight_type)
      .fusion(Fusion::Opaque)
      .compute(nnpack_weight);
  OpRecord("nn.contrib_conv2d_gemm_weight_transform")
      .doc("The weight of a convolution as tiles of a matrix: (out / tile_rows, k / tile_cols, tile_rows, tile_cols).")
      .attrs<ConvGemmWeightTransformAttrs>()
      .input("weights", "the filters (height, width, in, out)")
      .support_level(10)
      .type("Conv2DGemmWeightTransform", gemm_weight_type)
      .fusion(Fusion::OutputElementwise)
      .compute(gemm_weight);
  OpRecord("nn.contrib_conv2d_gemm_without_weight_transform")
      .doc("A convolution of NHWC data as a matmul, with a weight that has been transformed.")
      .attrs<relay::Conv2DAttrs>()
      .input("data", "the input (n, height, width, c)")
      .input("weight", "the transformed filters")
      .support_level(10)
      .type("Conv2DGemm", described_conv_type)
      .fusion(Fusion::OutputElementwise)
      .strategy_name("conv2d_gemm_without_weight_transform")
      .compute(gemm_conv);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily transformed_weight_family{transformed_weight_records};

}  // namespace tessera::op

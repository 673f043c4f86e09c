// image.affine_grid, image.grid_sample, image.dilation2d.

#include "topi/image/sample.h"
#include "ir/prim/ops.h"
#include "op/least_extent.h"
#include "op/nn/conv.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/image.h"

namespace tessera::op {
namespace {

using relay::AffineGridAttrs;
using relay::Dilation2DAttrs;
using relay::GridSampleAttrs;
using relay::may_equal;

bool affine_grid_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<AffineGridAttrs>();
  if (data->shape.size() != 3 || !may_equal(data->shape[1], 2) || !may_equal(data->shape[2], 3))
    throw Error(TypeError) << "data must be matrices (batch, 2, 3), but is " << to_text(query.type(0));
  if (attrs->target_shape.size() != 2) throw Error(TypeError) << "target_shape must have a height and a width";
  for (const PrimExpr& extent : attrs->target_shape)
    if (const int64_t* value = as_int(extent); value && *value < 2)
      throw Error(TypeError) << "target_shape must be at least 2 by 2, but is " << to_text(attrs->target_shape);
  query.result(TensorType({data->shape[0], PrimExpr(2), attrs->target_shape[0], attrs->target_shape[1]}, data->dtype));
  return true;
}

Array<te::Tensor> affine_grid(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  return {topi::affine_grid(in[0], attrs.as<AffineGridAttrs>()->target_shape)};
}

bool grid_sample_type(TypeQuery& query) {
  auto *data = query.tensor(0), *grid = query.tensor(1);
  if (!data || !grid) return false;
  auto* attrs = query.attrs_as<GridSampleAttrs>();
  if (attrs->layout != "NCHW" && attrs->layout != "NCDHW")
    throw Error(TypeError) << "layout is " << attrs->layout << ", but must be NCHW or NCDHW";
  check_rank(query, 0, "data", attrs->layout);
  size_t rank = data->shape.size();
  for (size_t i = 2; i < rank; ++i)
    if (!may_reach(data->shape[i], 1))
      throw Error(TypeError) << "data is " << to_text(query.type(0)) << ", which has no pixels to sample";
  if (grid->shape.size() != rank || !may_equal(grid->shape[1], PrimExpr(static_cast<int>(rank) - 2)))
    throw Error(TypeError) << "grid must be (batch, " << rank - 2 << ", ...) of " << rank << " dimensions, but is "
                           << to_text(query.type(1));
  if (!may_equal(grid->shape[0], data->shape[0]))
    throw Error(TypeError) << "data and grid have batches of " << data->shape[0] << " and " << grid->shape[0];
  if (attrs->padding_mode != "zeros" && attrs->padding_mode != "border" && attrs->padding_mode != "reflection")
    throw Error(TypeError) << "padding_mode is " << attrs->padding_mode << ", but must be zeros, border or reflection";
  Array<PrimExpr> shape = grid->shape;
  shape.set(0, data->shape[0]);
  shape.set(1, data->shape[1]);
  query.result(TensorType(shape, data->dtype));
  return true;
}

Array<te::Tensor> grid_sample(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<GridSampleAttrs>();
  return {topi::grid_sample(in[0], in[1], {attrs->method, attrs->layout, attrs->padding_mode, attrs->align_corners})};
}

bool dilation2d_type(TypeQuery& query) {
  auto *data = query.tensor(0), *weight = query.tensor(1);
  if (!data || !weight) return false;
  auto* attrs = query.attrs_as<Dilation2DAttrs>();
  check_rank(query, 0, "data", attrs->data_layout);
  check_rank(query, 1, "weight", attrs->kernel_layout);
  Layout plain = make_layout("NCHW"), in = make_layout(attrs->data_layout);
  Array<PrimExpr> shape = convert_shape(in, plain, data->shape);
  Array<PrimExpr> kernel = convert_shape(make_layout(attrs->kernel_layout), make_layout("IHW"), weight->shape);
  if (!may_equal(shape[1], kernel[0]))
    throw Error(TypeError) << "data has " << shape[1] << " channels, but weight " << kernel[0];
  Array<PrimExpr> counts =
      spatial_windows(shape, {kernel[1], kernel[2]}, {attrs->strides, attrs->padding, attrs->dilations});
  DataType dtype = attrs->out_dtype.is_void() ? data->dtype : attrs->out_dtype;
  query.result(TensorType(convert_shape(plain, in, {shape[0], shape[1], counts[0], counts[1]}), dtype));
  return true;
}

Array<te::Tensor> dilation2d(const Attrs& given, const Array<te::Tensor>& in, const Type& out) {
  auto* attrs = given.as<Dilation2DAttrs>();
  topi::DilationOptions options;
  options.strides = attrs->strides;
  options.padding = attrs->padding;
  options.dilations = attrs->dilations;
  options.data_layout = attrs->data_layout;
  options.kernel_layout = attrs->kernel_layout;
  options.out_dtype = out.as<TensorTypeNode>()->dtype;
  return {topi::dilation2d(in[0], in[1], options)};
}

}  // namespace

static void sample_records() {
  OpRecord("image.affine_grid")
      .doc("Where the pixels of a target lie in an image, after an affine transformation.")
      .attrs<AffineGridAttrs>()
      .input("data", "the matrices, (batch, 2, 3)")
      .support_level(5)
      .type("AffineGrid", affine_grid_type)
      .fusion(Fusion::Injective)
      .compute(affine_grid);
  OpRecord("image.grid_sample")
      .doc("An image read at the positions of a grid.")
      .attrs<GridSampleAttrs>()
      .input("data", "the images")
      .input("grid", "positions in [-1, 1], (batch, dimensions, ...), x first")
      .support_level(5)
      .type("GridSample", grid_sample_type)
      .fusion(Fusion::Injective)
      .flops(7)
      .compute(grid_sample);
  OpRecord("image.dilation2d")
      .doc("Morphological dilation: the greatest of data plus filter over each window.")
      .attrs<Dilation2DAttrs>()
      .input("data", "the images, in data_layout")
      .input("weight", "one filter per channel, in kernel_layout")
      .support_level(2)
      .type("Dilation2D", dilation2d_type)
      .fusion(Fusion::OutputElementwise)
      .strategy_name("dilation2d")
      .compute(dilation2d);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily sample_family{sample_records};

}  // namespace tessera::op

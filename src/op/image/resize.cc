// Images of another size: image.resize1d, resize2d, resize3d, image.crop_and_resize, nn.upsampling, nn.upsampling3d.

#include "topi/image/resize.h"
#include "ir/prim/ops.h"
#include "op/gradient/separable.h"
#include "op/layout_rules.h"
#include "op/least_extent.h"
#include "op/nn/gradients.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/image.h"
#include "topi/nn/pool.h"

namespace tessera::op {
namespace {

using relay::CropAndResizeAttrs;
using relay::ResizeAttrs;
using relay::UpSampling3DAttrs;
using relay::UpSamplingAttrs;
using topi::ResizeOptions;
using topi::spatial_axes;

DataType out_dtype(DataType wanted, DataType data) { return wanted.is_void() ? data : wanted; }

/// `shape` with other extents in the spatial dimensions of the layout.
Array<PrimExpr> with_spatial(Array<PrimExpr> shape, const String& layout, const Array<PrimExpr>& size) {
  std::vector<int> axes = spatial_axes(layout, size.size());
  for (size_t i = 0; i < size.size(); ++i) shape.set(static_cast<size_t>(axes[i]), size[i]);
  return shape;
}

/// What is sampled has pixels.
void require_pixels(const TypeQuery& query, const Array<PrimExpr>& shape, const String& layout, size_t spatial) {
  for (int axis : spatial_axes(layout, spatial))
    if (!may_reach(shape[static_cast<size_t>(axis)], 1))
      throw Error(TypeError) << "data is " << to_text(query.type(0)) << ", which has no pixels to sample";
}

template <size_t spatial>
bool resize_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = cast_or_null<ResizeAttrs>(query.attrs().get());
  if (!attrs) throw Error(TypeError) << "the call has no attributes of a resize";
  check_rank(query, 0, "data", attrs->layout);
  if (!attrs->size.defined() || attrs->size.size() != spatial)
    throw Error(TypeError) << "size must have " << spatial << " values";
  require_pixels(query, data->shape, attrs->layout, spatial);
  query.result(
      TensorType(with_spatial(data->shape, attrs->layout, attrs->size), out_dtype(attrs->out_dtype, data->dtype)));
  return true;
}

ResizeOptions resize_options(const ResizeAttrs* attrs) {
  ResizeOptions options;
  options.size = attrs->size;
  if (attrs->roi.defined()) options.roi = attrs->roi;
  options.layout = attrs->layout;
  options.method = attrs->method;
  options.coordinates = attrs->coordinate_transformation_mode;
  options.rounding = attrs->rounding_method;
  options.cubic_alpha = attrs->cubic_alpha;
  options.cubic_exclude = attrs->cubic_exclude != 0;
  options.extrapolation_value = attrs->extrapolation_value;
  return options;
}

Array<te::Tensor> resize(const Attrs& given, const Array<te::Tensor>& in, const Type& out) {
  ResizeOptions options = resize_options(cast_or_null<ResizeAttrs>(given.get()));
  options.out_dtype = out.as<TensorTypeNode>()->dtype;
  return {topi::resize(in[0], options)};
}

/// Axes are resized one by one: each as images of one dimension.
Expr resized_back(const relay::Call* call, const Expr& grad, const ResizeOptions& options) {
  const size_t spatial = options.size.size();
  return separable_gradient(call, grad, spatial_axes(options.layout, spatial), [&](const Expr& identity, size_t i) {
    return relay::call_op("image.resize1d", {identity}, relay::make_attrs<relay::Resize1DAttrs>([&](auto& a) {
                            a.size = {options.size[i]};
                            if (options.roi.size() == 2 * spatial) a.roi = {options.roi[i], options.roi[spatial + i]};
                            a.method = options.method;
                            a.coordinate_transformation_mode = options.coordinates;
                            a.rounding_method = options.rounding;
                            a.cubic_alpha = options.cubic_alpha;
                            a.cubic_exclude = options.cubic_exclude ? 1 : 0;
                          }));
  });
}

Array<Expr> resize_gradient(const Expr& call, const Expr& grad) {
  auto* attrs = cast_or_null<ResizeAttrs>(call.as<relay::Call>()->attrs.get());
  return {resized_back(call.as<relay::Call>(), grad, resize_options(attrs))};
}

bool crop_and_resize_type(TypeQuery& query) {
  auto *data = query.tensor(0), *boxes = query.tensor(1), *indices = query.tensor(2);
  if (!data || !boxes || !indices) return false;
  auto* attrs = query.attrs_as<CropAndResizeAttrs>();
  check_rank(query, 0, "data", attrs->layout);
  if (!attrs->crop_size.defined() || attrs->crop_size.size() != 2)
    throw Error(TypeError) << "crop_size must have a height and a width";
  require_pixels(query, data->shape, attrs->layout, 2);
  if (boxes->shape.size() != 2 || !relay::may_equal(boxes->shape[1], 4))
    throw Error(TypeError) << "boxes must be (boxes, 4), but is " << to_text(query.type(1));
  if (indices->shape.size() != 1 || !relay::may_equal(indices->shape[0], boxes->shape[0]))
    throw Error(TypeError) << "box_indices must have one value for each of the " << boxes->shape[0] << " boxes, but is "
                           << to_text(query.type(2));
  Array<PrimExpr> shape = with_spatial(data->shape, attrs->layout, attrs->crop_size);
  shape.set(0, boxes->shape[0]);
  query.result(TensorType(shape, out_dtype(attrs->out_dtype, data->dtype)));
  return true;
}

Array<te::Tensor> crop_and_resize(const Attrs& given, const Array<te::Tensor>& in, const Type& out) {
  auto* attrs = given.as<CropAndResizeAttrs>();
  ResizeOptions options = topi::upsampling_options(attrs->method, attrs->layout, false);
  options.size = attrs->crop_size;
  options.extrapolation_value = attrs->extrapolation_value;
  options.out_dtype = out.as<TensorTypeNode>()->dtype;
  return {topi::crop_and_resize(in[0], in[1], in[2], options)};
}

/// What both upsamplings say: factors for D, H, W, and how to look between elements.
struct Upsampling {
  std::vector<double> scales;
  ResizeOptions options;
};
Upsampling upsampling_of(const Attrs& attrs) {
  if (auto* a = attrs.as<UpSamplingAttrs>())
    return {{a->scale_h, a->scale_w}, topi::upsampling_options(a->method, a->layout, a->align_corners)};
  auto* a = attrs.as<UpSampling3DAttrs>();
  if (!a) throw Error(TypeError) << "the call has no attributes of an upsampling";
  Upsampling out{{a->scale_d, a->scale_h, a->scale_w}, topi::upsampling_options(a->method, a->layout, false)};
  out.options.coordinates = a->coordinate_transformation_mode;
  return out;
}

Array<PrimExpr> upsampled_size(const Upsampling& sampling, const Array<PrimExpr>& shape) {
  std::vector<int> axes = spatial_axes(sampling.options.layout, sampling.scales.size());
  Array<PrimExpr> out;
  for (size_t i = 0; i < axes.size(); ++i)
    out.push_back(on_extent(shape[static_cast<size_t>(axes[i])],
                            [&](const PrimExpr& n) { return topi::scaled_extent(n, sampling.scales[i]); }));
  return out;
}

bool upsampling_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  Upsampling sampling = upsampling_of(query.attrs());
  const String& layout = sampling.options.layout;
  check_rank(query, 0, "data", layout);
  query.result(TensorType(with_spatial(data->shape, layout, upsampled_size(sampling, data->shape)), data->dtype));
  return true;
}

Array<te::Tensor> upsampling(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  Upsampling sampling = upsampling_of(attrs);
  sampling.options.size = upsampled_size(sampling, in[0]->shape);
  return {topi::resize(in[0], sampling.options)};
}

/// Each element that was copied to a block gets the sum over that block; else as any resizing.
Array<Expr> upsampling_gradient(const Expr& call, const Expr& grad) {
  Upsampling sampling = upsampling_of(call.as<relay::Call>()->attrs);
  sampling.options.size = upsampled_size(sampling, tensor_type(args_of(call)[0])->shape);
  if (auto blocks = whole_blocks_gradient(call, grad)) return {blocks};
  return {resized_back(call.as<relay::Call>(), grad, sampling.options)};
}

template <class A>
OpRecord image_record(const char* name, const char* rule_name, const char* doc, int level, TypeRule rule,
                      relay::Compute compute) {
  return OpRecord(name)
      .doc(doc)
      .template attrs<A>()
      .input("data", "the images")
      .support_level(level)
      .type(rule_name, rule)
      .fusion(Fusion::Injective)
      .compute(std::move(compute));
}

}  // namespace

static void resize_records() {
  const char* doc = "Images of another size, read between the elements.";
  image_record<relay::Resize1DAttrs>("image.resize1d", "Resize1D", doc, 5, resize_type<1>, resize)
      .layout(layout::spatial<relay::ResizeAttrs>)
      .flops(3)
      .gradient(resize_gradient);
  image_record<relay::Resize2DAttrs>("image.resize2d", "Resize2D", doc, 5, resize_type<2>, resize)
      .layout(layout::spatial<relay::ResizeAttrs>)
      .convert_layout(layout::convert_spatial<relay::ResizeAttrs>)
      .flops(7)
      .precision(Precision::Never)
      .gradient(resize_gradient);
  image_record<relay::Resize3DAttrs>("image.resize3d", "Resize3d", doc, 5, resize_type<3>, resize)
      .layout(layout::spatial<relay::ResizeAttrs>)
      .flops(15)
      .gradient(resize_gradient);
  image_record<CropAndResizeAttrs>("image.crop_and_resize", "CropAndResize", "Boxes cropped from images, in one size.",
                                   5, crop_and_resize_type, crop_and_resize)
      .input("boxes", "(y1, x1, y2, x2) of each box, in fractions of the image")
      .input("box_indices", "the image of each box");
  image_record<UpSamplingAttrs>("nn.upsampling", "UpSampling", "Images larger by factors.", 2, upsampling_type,
                                upsampling)
      .layout(layout::spatial<UpSamplingAttrs>)
      .precision(Precision::Follow)
      .gradient(upsampling_gradient);
  image_record<UpSampling3DAttrs>("nn.upsampling3d", "UpSampling3D", "Volumes larger by factors.", 2, upsampling_type,
                                  upsampling)
      .layout(layout::spatial<UpSampling3DAttrs>)
      .gradient(upsampling_gradient);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily resize_family{resize_records};

}  // namespace tessera::op

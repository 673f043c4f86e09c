// dyn.nn.pad, dyn.nn.upsampling, dyn.nn.upsampling3d, dyn.image.resize2d.

#include "relay/attrs/image.h"
#include "ir/prim/ops.h"
#include "op/dyn/shapes.h"
#include "op/dyn/static_forms.h"
#include "op/records.h"
#include "relay/attrs/pad.h"
#include "topi/image/resize.h"
#include "topi/nn/pool.h"
#include "topi/operand.h"

namespace tessera::op {
namespace {

using relay::PadAttrs;
using relay::Resize2DAttrs;
using relay::UpSampling3DAttrs;
using relay::UpSamplingAttrs;

bool pad_type(TypeQuery& query) {
  auto *data = query.tensor(0), *width = query.tensor(1);
  if (!data || !width || !query.tensor(2)) return false;
  require_integers(query, 1, "pad_width");
  require_rank(query, 1, "pad_width", 2);
  require_rank(query, 2, "pad_value", 0);
  if (!relay::may_equal(width->shape[0], PrimExpr(rank_of(data))) || !relay::may_equal(width->shape[1], PrimExpr(2)))
    throw Error(TypeError) << "pad_width is " << to_text(query.type(1)) << ", but must be (" << rank_of(data) << ", 2)";
  query.result(TensorType(any_shape(rank_of(data)), data->dtype));
  return true;
}

Tensors pad_shape(const Attrs& attrs, const Tensors& in, const Array<PrimExpr>& ranks) {
  const String mode = attrs.as<PadAttrs>()->pad_mode;
  return host_shapes("tessera.shape.pad", {in[0], in[1]}, ranks,
                     {bool_imm(mode == "edge"), bool_imm(mode == "reflect")});
}

/// How far the data of dimension `i` is moved, in the type of extents. Widths count in 64 bits; one beyond the result or the
/// data moves all elements out, and no further one moves more.
PrimExpr moved_by(const te::Tensor& width, int i, const PrimExpr& size, const PrimExpr& result) {
  DataType wide = DataType::Int(64);
  PrimExpr before = cast(wide, te::load(width, {PrimExpr(i), PrimExpr(0)}));
  return cast(size.dtype(), min(max(before, make_zero(wide) - cast(wide, size)), cast(wide, result)));
}

/// Outside the data: a value, the outermost element ("edge"), or the data mirrored at it ("reflect").
Tensors pad(const Attrs& given, const Tensors& in, const Type& out) {
  const String mode = given.as<PadAttrs>()->pad_mode;
  if (mode != "constant" && mode != "edge" && mode != "reflect")
    throw Error(TypeError) << "pad_mode is " << mode << ", but must be constant, edge or reflect";
  return {topi::compute(
      tensor_of(out)->shape, "ax",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> source;
        PrimExpr inside = bool_imm(true);
        for (size_t i = 0; i < at.size(); ++i) {
          PrimExpr size = in[0]->shape[i], zero = make_zero(size.dtype()), last = size - make_const(size.dtype(), 1);
          PrimExpr position = at[i] - moved_by(in[1], static_cast<int>(i), size, tensor_of(out)->shape[i]);
          if (mode == "constant") inside = logical_and(inside, logical_and(position >= zero, position < size));
          if (mode == "edge") position = min(max(position, zero), last);
          if (mode == "reflect") position = last - abs(last - abs(position));
          source.push_back(position);
        }
        PrimExpr element = te::load(in[0], source);
        return mode == "constant" ? if_then_else(inside, element, te::load(in[2], {})) : element;
      },
      "T_pad", topi::kInjective)};
}

/// The dimensions that scale, in the order D, H, W.
std::vector<int> scaled_axes(const Attrs& attrs) {
  if (auto* a = attrs.as<UpSamplingAttrs>()) return topi::spatial_axes(a->layout, 2);
  return topi::spatial_axes(attrs.as<UpSampling3DAttrs>()->layout, 3);
}

bool upsampling_type(TypeQuery& query) {
  for (int i = 0; i < query.size(); ++i)
    if (!query.tensor(i)) return false;
  auto* data = query.tensor(0);
  Array<PrimExpr> shape = data->shape;
  for (int axis : scaled_axes(query.attrs())) {
    if (axis >= rank_of(data))
      throw Error(TypeError) << "data is " << to_text(query.type(0)) << ", which has no axis " << axis;
    shape.set(axis, any_extent());
  }
  query.result(TensorType(shape, data->dtype));
  return true;
}

Tensors upsampling_shape(const Attrs& attrs, const Tensors& in, const Array<PrimExpr>& ranks) {
  std::vector<topi::PackedArgument> axes;
  for (int axis : scaled_axes(attrs)) axes.push_back(PrimExpr(axis));
  return host_shapes("tessera.shape.upsampling", in, ranks, axes);
}

Tensors upsampling(const Attrs& attrs, const Tensors& in, const Type& out) {
  topi::ResizeOptions options;
  if (auto* a = attrs.as<UpSamplingAttrs>()) {
    options = topi::upsampling_options(a->method, a->layout, a->align_corners);
  } else {
    auto* b = attrs.as<UpSampling3DAttrs>();
    options = topi::upsampling_options(b->method, b->layout, false);
    options.coordinates = b->coordinate_transformation_mode;
  }
  for (int axis : scaled_axes(attrs)) options.size.push_back(tensor_of(out)->shape[axis]);
  return {topi::resize(in[0], options)};
}

bool resize_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data || !query.tensor(1) || !query.tensor(2)) return false;
  auto* attrs = query.attrs_as<Resize2DAttrs>();
  if (vector_length(query, 1, "size") != 2) throw Error(TypeError) << "size must have two numbers";
  Array<PrimExpr> shape = data->shape;
  for (int axis : topi::spatial_axes(attrs->layout, 2)) shape.set(axis, any_extent());
  query.result(TensorType(shape, attrs->out_dtype.is_void() ? data->dtype : attrs->out_dtype));
  return true;
}

Tensors resize_shape(const Attrs& attrs, const Tensors& in, const Array<PrimExpr>& ranks) {
  std::vector<int> axes = topi::spatial_axes(attrs.as<Resize2DAttrs>()->layout, 2);
  return host_shapes("tessera.shape.resize2d", {in[0], in[1]}, ranks, {PrimExpr(axes[0]), PrimExpr(axes[1])});
}

Tensors resize(const Attrs& given, const Tensors& in, const Type& out) {
  auto* attrs = given.as<Resize2DAttrs>();
  topi::ResizeOptions options;
  for (int axis : topi::spatial_axes(attrs->layout, 2)) options.size.push_back(tensor_of(out)->shape[axis]);
  if (attrs->coordinate_transformation_mode == "tf_crop_and_resize")
    for (int i = 0; i < 4; ++i) options.roi.push_back(te::load(in[2], {PrimExpr(i)}));
  options.layout = attrs->layout;
  options.method = attrs->method;
  options.coordinates = attrs->coordinate_transformation_mode;
  options.rounding = attrs->rounding_method;
  options.cubic_alpha = attrs->cubic_alpha;
  options.cubic_exclude = attrs->cubic_exclude != 0;
  options.extrapolation_value = attrs->extrapolation_value;
  options.out_dtype = tensor_of(out)->dtype;
  return {topi::resize(in[0], options)};
}

}  // namespace

static void dyn_image_records() {
  OpRecord("dyn.nn.pad")
      .doc("The data with a border.")
      .attrs<PadAttrs>()
      .input("data", "the input")
      .input("pad_width", "how wide it is before and after each dimension")
      .input("pad_val", "what stands in it", "double")
      .support_level(2)
      .type("DynamicPad", pad_type)
      .fusion(Fusion::Injective)
      .static_form(static_pad)
      .compute(pad)
      .shape({0, 1, 0}, pad_shape);
  OpRecord("dyn.nn.upsampling")
      .doc("Images scaled by factors.")
      .attrs<UpSamplingAttrs>()
      .input("data", "the images")
      .input("scale_h", "the factor of the height", "double")
      .input("scale_w", "the factor of the width", "double")
      .support_level(2)
      .type("DynamicUpSampling", upsampling_type)
      .fusion(Fusion::Injective)
      .static_form(static_upsampling)
      .compute(upsampling)
      .shape({0, 1, 1}, upsampling_shape);
  OpRecord("dyn.nn.upsampling3d")
      .doc("Volumes scaled by factors.")
      .attrs<UpSampling3DAttrs>()
      .input("data", "the volumes")
      .input("scale_d", "the factor of the depth", "double")
      .input("scale_h", "the factor of the height", "double")
      .input("scale_w", "the factor of the width", "double")
      .support_level(2)
      .type("DynamicUpSampling3D", upsampling_type)
      .fusion(Fusion::Injective)
      .static_form(static_upsampling3d)
      .compute(upsampling)
      .shape({0, 1, 1, 1}, upsampling_shape);
  OpRecord("dyn.image.resize2d")
      .doc("Images of another size.")
      .attrs<Resize2DAttrs>()
      .input("data", "the images")
      .input("size", "the height and width of the result")
      .input("roi", "the part to look at")
      .support_level(5)
      .type("DynResize2D", resize_type)
      .fusion(Fusion::Injective)
      .static_form(static_resize)
      .compute(resize)
      .shape({0, 1, 0}, resize_shape);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily dyn_image_family{dyn_image_records};

}  // namespace tessera::op

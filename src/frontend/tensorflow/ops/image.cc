// Images of other sizes.

#include "relay/attrs/image.h"
#include "frontend/common/parts.h"
#include "frontend/tensorflow/operation.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::tensorflow {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr resized(Operation& in, const char* method, DataType out_dtype) {
  if (in.rank(in[0]) != 4) in.invalid("images have four dimensions");
  const bool aligns = in.flag("align_corners"), is_half = in.flag("half_pixel_centers");
  if (aligns && is_half) in.invalid("align_corners and half_pixel_centers exclude each other");
  const std::string kind(method);
  auto fill = [&](auto& attrs) {
    attrs.layout = "NHWC";
    attrs.method = kind;
    attrs.coordinate_transformation_mode = aligns ? "align_corners" : is_half ? "half_pixel" : "asymmetric";
    if (kind == "nearest_neighbor") attrs.rounding_method = aligns ? "round" : is_half ? "round_prefer_ceil" : "floor";
    if (kind == "cubic") attrs.cubic_alpha = is_half ? -0.5 : -0.75, attrs.cubic_exclude = is_half ? 1 : 0;
    attrs.out_dtype = out_dtype;
  };
  if (std::optional<std::vector<int64_t>> size = in.constant_ints(in[1])) {
    if (size->size() != 2) in.invalid("the size is two numbers");
    for (int64_t extent : *size)
      if (extent < 1 || extent > INT32_MAX) in.invalid("an image of extent " + std::to_string(extent));
    return call_op("image.resize2d", {in[0]}, make_attrs<Resize2DAttrs>([&](auto& attrs) {
                     fill(attrs);
                     attrs.size = int_array(*size);
                   }));
  }
  Expr region = numbers_of({0, 0, 0, 0}, {4}, DataType::Float(32));
  return call_op("dyn.image.resize2d", {in[0], cast_if_needed(in, in[1], DataType::Int(64)), region},
                 make_attrs<Resize2DAttrs>(fill));
}

/// Between elements: floats whatever the images are.
Converter resize_between(const char* method) {
  return [method](Operation& in) {
    const DataType wide = DataType::Float(32);
    if (in.dtype(in[0]) == wide) return Values{resized(in, method, wide)};
    Operation as_floats = in.as(in.name(), {cast(in[0], wide), in.value(1)});
    return Values{resized(as_floats, method, wide)};
  };
}
Values resize_nearest(Operation& in) { return {resized(in, "nearest_neighbor", in.dtype(in[0]))}; }

Values crop_and_resize(Operation& in) {
  Ints size = in.ints(3, "the size of crops");
  if (size.size() != 2) in.invalid("the size is two numbers");
  Expr images = cast_if_needed(in, in[0], DataType::Float(32));
  return {call_op("image.crop_and_resize", {images, in[1], in[2]}, make_attrs<CropAndResizeAttrs>([&](auto& attrs) {
                    attrs.crop_size = int_array(size);
                    attrs.layout = "NHWC";
                    attrs.method = in.text("method", "bilinear") == "nearest" ? "nearest_neighbor" : "bilinear";
                    attrs.extrapolation_value = in.number("extrapolation_value", 0);
                  }))};
}

}  // namespace

Rows image_rows() {
  return {
      {"CropAndResize", crop_and_resize},
      {"ResizeBicubic", resize_between("cubic")},
      {"ResizeBilinear", resize_between("linear")},
      {"ResizeNearestNeighbor", resize_nearest},
  };
}

}  // namespace tessera::tensorflow

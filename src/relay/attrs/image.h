#pragma once
// Attributes of operators that look between the elements of an image.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

/// roi: the part of the image to look at, as fractions of its extents, all begins and then all ends; only
/// "tf_crop_and_resize" uses it.
struct ResizeAttrs : AttrsNode {
  Array<PrimExpr> size = nullptr;
  Array<PrimExpr> roi = nullptr;
  String layout, method = "linear", coordinate_transformation_mode = "half_pixel", rounding_method = "round";
  double cubic_alpha = -0.5;
  int32_t cubic_exclude = 0;
  double extrapolation_value = 0;
  DataType out_dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.ResizeAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("size", &ResizeAttrs::size, Optional);
    f("roi", &ResizeAttrs::roi, Optional);
    f("layout", &ResizeAttrs::layout);
    f("method", &ResizeAttrs::method);
    f("coordinate_transformation_mode", &ResizeAttrs::coordinate_transformation_mode);
    f("rounding_method", &ResizeAttrs::rounding_method);
    f("cubic_alpha", &ResizeAttrs::cubic_alpha);
    f("cubic_exclude", &ResizeAttrs::cubic_exclude);
    f("extrapolation_value", &ResizeAttrs::extrapolation_value);
    f("out_dtype", &ResizeAttrs::out_dtype);
  }

  ResizeAttrs() = default;
  explicit ResizeAttrs(const char* layout) : layout(layout) {}
};
struct Resize1DAttrs : ResizeAttrs {
  Resize1DAttrs() : ResizeAttrs("NCW") {}
  static constexpr NodeInfo info{"relay.attrs.Resize1DAttrs", &ResizeAttrs::info};
  static void fields(auto) {}
};
struct Resize2DAttrs : ResizeAttrs {
  Resize2DAttrs() : ResizeAttrs("NCHW") {}
  static constexpr NodeInfo info{"relay.attrs.Resize2DAttrs", &ResizeAttrs::info};
  static void fields(auto) {}
};
struct Resize3DAttrs : ResizeAttrs {
  Resize3DAttrs() : ResizeAttrs("NCDHW") {}
  static constexpr NodeInfo info{"relay.attrs.Resize3DAttrs", &ResizeAttrs::info};
  static void fields(auto) {}
};

struct UpSamplingAttrs : AttrsNode {
  double scale_h = 1, scale_w = 1;
  String layout = "NCHW", method = "nearest_neighbor";
  bool align_corners = false;
  static constexpr NodeInfo info{"relay.attrs.UpSamplingAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("scale_h", &UpSamplingAttrs::scale_h, Required);
    f("scale_w", &UpSamplingAttrs::scale_w, Required);
    f("layout", &UpSamplingAttrs::layout);
    f("method", &UpSamplingAttrs::method);
    f("align_corners", &UpSamplingAttrs::align_corners);
  }
};

struct UpSampling3DAttrs : AttrsNode {
  double scale_d = 1, scale_h = 1, scale_w = 1;
  String layout = "NCDHW", method = "nearest_neighbor", coordinate_transformation_mode = "half_pixel";
  static constexpr NodeInfo info{"relay.attrs.UpSampling3DAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("scale_d", &UpSampling3DAttrs::scale_d, Required);
    f("scale_h", &UpSampling3DAttrs::scale_h, Required);
    f("scale_w", &UpSampling3DAttrs::scale_w, Required);
    f("layout", &UpSampling3DAttrs::layout);
    f("method", &UpSampling3DAttrs::method);
    f("coordinate_transformation_mode", &UpSampling3DAttrs::coordinate_transformation_mode);
  }
};

struct CropAndResizeAttrs : AttrsNode {
  Array<PrimExpr> crop_size = nullptr;
  String layout = "NCHW", method = "bilinear";
  double extrapolation_value = 0;
  DataType out_dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.CropAndResizeAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("crop_size", &CropAndResizeAttrs::crop_size, Optional);
    f("layout", &CropAndResizeAttrs::layout);
    f("method", &CropAndResizeAttrs::method);
    f("extrapolation_value", &CropAndResizeAttrs::extrapolation_value);
    f("out_dtype", &CropAndResizeAttrs::out_dtype);
  }
};

struct GridSampleAttrs : AttrsNode {
  String method = "bilinear", layout = "NCHW", padding_mode = "zeros";
  bool align_corners = true;
  static constexpr NodeInfo info{"relay.attrs.GridSampleAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("method", &GridSampleAttrs::method);
    f("layout", &GridSampleAttrs::layout);
    f("padding_mode", &GridSampleAttrs::padding_mode);
    f("align_corners", &GridSampleAttrs::align_corners);
  }
};

struct AffineGridAttrs : AttrsNode {
  Array<PrimExpr> target_shape;
  static constexpr NodeInfo info{"relay.attrs.AffineGridAttrs", &AttrsNode::info};
  static void fields(auto f) { f("target_shape", &AffineGridAttrs::target_shape, Required); }
};

/// Morphological dilation: the greatest of data plus filter over a window.
struct Dilation2DAttrs : AttrsNode {
  Array<PrimExpr> strides{1, 1}, padding{0, 0}, dilations{1, 1};
  String data_layout = "NCHW", kernel_layout = "IHW";
  DataType out_dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.Dilation2DAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("strides", &Dilation2DAttrs::strides);
    f("padding", &Dilation2DAttrs::padding);
    f("dilations", &Dilation2DAttrs::dilations);
    f("data_layout", &Dilation2DAttrs::data_layout);
    f("kernel_layout", &Dilation2DAttrs::kernel_layout);
    f("out_dtype", &Dilation2DAttrs::out_dtype);
  }
};

}  // namespace tessera::relay

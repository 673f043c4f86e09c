#pragma once
// Attributes of convolutions.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

/// What convolutions of one, two and three dimensions have in common; `padding` is one value, one per dimension, or all
/// begins and then all ends.
struct ConvAttrs : AttrsNode {
  Array<PrimExpr> strides, padding, dilation;
  int32_t groups = 1;
  PrimExpr channels;            // of the result; empty: the weight says
  Array<PrimExpr> kernel_size;  // empty: the weight says
  String data_layout, kernel_layout, out_layout;
  DataType out_dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.ConvAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("strides", &ConvAttrs::strides);
    f("padding", &ConvAttrs::padding);
    f("dilation", &ConvAttrs::dilation);
    f("groups", &ConvAttrs::groups);
    f("channels", &ConvAttrs::channels, Optional);
    f("kernel_size", &ConvAttrs::kernel_size, Optional);
    f("data_layout", &ConvAttrs::data_layout);
    f("kernel_layout", &ConvAttrs::kernel_layout);
    f("out_layout", &ConvAttrs::out_layout);
    f("out_dtype", &ConvAttrs::out_dtype);
  }

  ConvAttrs() = default;
  ConvAttrs(int spatial, const char* data, const char* kernel)
      : strides(spatial, PrimExpr(1)),
        padding(spatial, PrimExpr(0)),
        dilation(spatial, PrimExpr(1)),
        kernel_size(nullptr),
        data_layout(data),
        kernel_layout(kernel) {}
};

/// Convolutions that spread each element over a window: the gradient of a convolution by its data, as an operator.
struct ConvTransposeAttrs : AttrsNode {
  PrimExpr channels;            // of the result; empty: the weight says
  Array<PrimExpr> kernel_size;  // empty: the weight says
  Array<PrimExpr> strides, output_padding, padding, dilation;
  int32_t groups = 1;
  String data_layout, kernel_layout, out_layout;
  DataType out_dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.ConvTransposeAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("channels", &ConvTransposeAttrs::channels, Optional);
    f("kernel_size", &ConvTransposeAttrs::kernel_size, Optional);
    f("strides", &ConvTransposeAttrs::strides);
    f("output_padding", &ConvTransposeAttrs::output_padding);
    f("padding", &ConvTransposeAttrs::padding);
    f("dilation", &ConvTransposeAttrs::dilation);
    f("groups", &ConvTransposeAttrs::groups);
    f("data_layout", &ConvTransposeAttrs::data_layout);
    f("kernel_layout", &ConvTransposeAttrs::kernel_layout);
    f("out_layout", &ConvTransposeAttrs::out_layout);
    f("out_dtype", &ConvTransposeAttrs::out_dtype);
  }

  ConvTransposeAttrs() = default;
  ConvTransposeAttrs(int spatial, const char* data, const char* kernel)
      : kernel_size(nullptr),
        strides(spatial, PrimExpr(1)),
        output_padding(spatial, PrimExpr(0)),
        padding(spatial, PrimExpr(0)),
        dilation(spatial, PrimExpr(1)),
        data_layout(data),
        kernel_layout(kernel) {}
};

struct Conv1DTransposeAttrs : ConvTransposeAttrs {
  Conv1DTransposeAttrs() : ConvTransposeAttrs(1, "NCW", "OIW") {}
  static constexpr NodeInfo info{"relay.attrs.Conv1DTransposeAttrs", &ConvTransposeAttrs::info};
  static void fields(auto) {}
};
struct Conv2DTransposeAttrs : ConvTransposeAttrs {
  Conv2DTransposeAttrs() : ConvTransposeAttrs(2, "NCHW", "OIHW") {}
  static constexpr NodeInfo info{"relay.attrs.Conv2DTransposeAttrs", &ConvTransposeAttrs::info};
  static void fields(auto) {}
};
struct Conv3DTransposeAttrs : ConvTransposeAttrs {
  Conv3DTransposeAttrs() : ConvTransposeAttrs(3, "NCDHW", "OIDHW") {}
  static constexpr NodeInfo info{"relay.attrs.Conv3DTransposeAttrs", &ConvTransposeAttrs::info};
  static void fields(auto) {}
};

/// A convolution whose kernel elements are moved by an offset each.
struct DeformableConv2DAttrs : AttrsNode {
  Array<PrimExpr> strides{1, 1}, padding{0, 0}, dilation{1, 1};
  int32_t deformable_groups = 1, groups = 1;
  PrimExpr channels;
  Array<PrimExpr> kernel_size = nullptr;
  String data_layout = "NCHW", kernel_layout = "OIHW", out_layout;
  DataType out_dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.DeformableConv2DAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("strides", &DeformableConv2DAttrs::strides);
    f("padding", &DeformableConv2DAttrs::padding);
    f("dilation", &DeformableConv2DAttrs::dilation);
    f("deformable_groups", &DeformableConv2DAttrs::deformable_groups);
    f("groups", &DeformableConv2DAttrs::groups);
    f("channels", &DeformableConv2DAttrs::channels, Optional);
    f("kernel_size", &DeformableConv2DAttrs::kernel_size, Optional);
    f("data_layout", &DeformableConv2DAttrs::data_layout);
    f("kernel_layout", &DeformableConv2DAttrs::kernel_layout);
    f("out_layout", &DeformableConv2DAttrs::out_layout);
    f("out_dtype", &DeformableConv2DAttrs::out_dtype);
  }
};

/// How alike two images are under displacements of one against the other.
struct CorrelationAttrs : AttrsNode {
  int32_t kernel_size = 1, max_displacement = 1, stride1 = 1, stride2 = 1;
  Array<PrimExpr> padding{0, 0};
  bool is_multiply = true;
  String layout = "NCHW";
  static constexpr NodeInfo info{"relay.attrs.CorrelationAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("kernel_size", &CorrelationAttrs::kernel_size);
    f("max_displacement", &CorrelationAttrs::max_displacement);
    f("stride1", &CorrelationAttrs::stride1);
    f("stride2", &CorrelationAttrs::stride2);
    f("padding", &CorrelationAttrs::padding);
    f("is_multiply", &CorrelationAttrs::is_multiply);
    f("layout", &CorrelationAttrs::layout);
  }
};

struct Conv1DAttrs : ConvAttrs {
  Conv1DAttrs() : ConvAttrs(1, "NCW", "OIW") { padding = {0, 0}; }
  static constexpr NodeInfo info{"relay.attrs.Conv1DAttrs", &ConvAttrs::info};
  static void fields(auto) {}
};
struct Conv2DAttrs : ConvAttrs {
  Conv2DAttrs() : ConvAttrs(2, "NCHW", "OIHW") {}
  static constexpr NodeInfo info{"relay.attrs.Conv2DAttrs", &ConvAttrs::info};
  static void fields(auto) {}
};
/// A convolution whose weight has been transformed for tiles of `tile_size` results a side, along `axes`: spatial ones. Where none is
/// named they are height and width, and the depth of a kernel that is as deep as it is high.
struct ConvWinogradAttrs : ConvAttrs {
  int32_t tile_size = 4;
  Array<PrimExpr> axes;
  using ConvAttrs::ConvAttrs;
  static constexpr NodeInfo info{"relay.attrs.ConvWinogradAttrs", &ConvAttrs::info};
  static void fields(auto f) {
    f("tile_size", &ConvWinogradAttrs::tile_size, Required);
    f("axes", &ConvWinogradAttrs::axes);
  }
};
struct Conv2DWinogradAttrs : ConvWinogradAttrs {
  Conv2DWinogradAttrs() : ConvWinogradAttrs(2, "NCHW", "OIHW") {}
  static constexpr NodeInfo info{"relay.attrs.Conv2DWinogradAttrs", &ConvWinogradAttrs::info};
  static void fields(auto) {}
};
struct Conv3DWinogradAttrs : ConvWinogradAttrs {
  Conv3DWinogradAttrs() : ConvWinogradAttrs(3, "NCDHW", "OIDHW") {}
  static constexpr NodeInfo info{"relay.attrs.Conv3DWinogradAttrs", &ConvWinogradAttrs::info};
  static void fields(auto) {}
};
struct ConvWinogradWeightTransformAttrs : AttrsNode {
  int32_t tile_size = 4;
  Array<PrimExpr> axes;
  static constexpr NodeInfo info{"relay.attrs.ConvWinogradWeightTransformAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("tile_size", &ConvWinogradWeightTransformAttrs::tile_size, Required);
    f("axes", &ConvWinogradWeightTransformAttrs::axes);
  }
};
struct Conv3DAttrs : ConvAttrs {
  Conv3DAttrs() : ConvAttrs(3, "NCDHW", "OIDHW") {}
  static constexpr NodeInfo info{"relay.attrs.Conv3DAttrs", &ConvAttrs::info};
  static void fields(auto) {}
};

}  // namespace tessera::relay

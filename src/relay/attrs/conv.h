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
  String auto_scheduler_rewritten_layout;
  Array<PrimExpr> meta_schedule_original_shape;
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
    f("auto_scheduler_rewritten_layout", &ConvAttrs::auto_scheduler_rewritten_layout);
    f("meta_schedule_original_shape", &ConvAttrs::meta_schedule_original_shape);
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
struct Conv3DAttrs : ConvAttrs {
  Conv3DAttrs() : ConvAttrs(3, "NCDHW", "OIDHW") {}
  static constexpr NodeInfo info{"relay.attrs.Conv3DAttrs", &ConvAttrs::info};
  static void fields(auto) {}
};

}  // namespace tessera::relay

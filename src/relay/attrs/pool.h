#pragma once
// Attributes of pooling.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

/// Windows of one, two or three dimensions; `padding` as for convolutions.
struct PoolAttrs : AttrsNode {
  Array<PrimExpr> pool_size, strides, dilation, padding;
  String layout, out_layout;
  bool ceil_mode = false;
  static constexpr NodeInfo info{"relay.attrs.PoolAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("pool_size", &PoolAttrs::pool_size, Required);
    f("strides", &PoolAttrs::strides);
    f("dilation", &PoolAttrs::dilation);
    f("padding", &PoolAttrs::padding);
    f("layout", &PoolAttrs::layout);
    f("out_layout", &PoolAttrs::out_layout);
    f("ceil_mode", &PoolAttrs::ceil_mode);
  }

  PoolAttrs() = default;
  PoolAttrs(int spatial, const char* layout)
      : strides(spatial, PrimExpr(1)), dilation(spatial, PrimExpr(1)), padding(spatial, PrimExpr(0)), layout(layout) {}
};

struct MaxPool1DAttrs : PoolAttrs {
  MaxPool1DAttrs() : PoolAttrs(1, "NCW") {}
  static constexpr NodeInfo info{"relay.attrs.MaxPool1DAttrs", &PoolAttrs::info};
  static void fields(auto) {}
};
struct MaxPool2DAttrs : PoolAttrs {
  MaxPool2DAttrs() : PoolAttrs(2, "NCHW") {}
  static constexpr NodeInfo info{"relay.attrs.MaxPool2DAttrs", &PoolAttrs::info};
  static void fields(auto) {}
};
struct MaxPool3DAttrs : PoolAttrs {
  MaxPool3DAttrs() : PoolAttrs(3, "NCDHW") {}
  static constexpr NodeInfo info{"relay.attrs.MaxPool3DAttrs", &PoolAttrs::info};
  static void fields(auto) {}
};

struct AvgPoolAttrs : PoolAttrs {
  bool count_include_pad = false;
  static constexpr NodeInfo info{"relay.attrs.AvgPoolAttrs", &PoolAttrs::info};
  static void fields(auto f) { f("count_include_pad", &AvgPoolAttrs::count_include_pad); }

  using PoolAttrs::PoolAttrs;
};
struct AvgPool1DAttrs : AvgPoolAttrs {
  AvgPool1DAttrs() : AvgPoolAttrs(1, "NCW") {}
  static constexpr NodeInfo info{"relay.attrs.AvgPool1DAttrs", &AvgPoolAttrs::info};
  static void fields(auto) {}
};
struct AvgPool2DAttrs : AvgPoolAttrs {
  AvgPool2DAttrs() : AvgPoolAttrs(2, "NCHW") {}
  static constexpr NodeInfo info{"relay.attrs.AvgPool2DAttrs", &AvgPoolAttrs::info};
  static void fields(auto) {}
};
struct AvgPool3DAttrs : AvgPoolAttrs {
  AvgPool3DAttrs() : AvgPoolAttrs(3, "NCDHW") {}
  static constexpr NodeInfo info{"relay.attrs.AvgPool3DAttrs", &AvgPoolAttrs::info};
  static void fields(auto) {}
};

/// Windows of such sizes that the result has `output_size`; none given keeps the extents.
struct AdaptivePoolAttrs : AttrsNode {
  Array<PrimExpr> output_size;
  String layout, out_layout;
  static constexpr NodeInfo info{"relay.attrs.AdaptivePoolAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("output_size", &AdaptivePoolAttrs::output_size);
    f("layout", &AdaptivePoolAttrs::layout);
    f("out_layout", &AdaptivePoolAttrs::out_layout);
  }

  AdaptivePoolAttrs() = default;
  explicit AdaptivePoolAttrs(const char* layout) : layout(layout) {}
};
struct AdaptivePool1DAttrs : AdaptivePoolAttrs {
  AdaptivePool1DAttrs() : AdaptivePoolAttrs("NCW") {}
  static constexpr NodeInfo info{"relay.attrs.AdaptivePool1DAttrs", &AdaptivePoolAttrs::info};
  static void fields(auto) {}
};
struct AdaptivePool2DAttrs : AdaptivePoolAttrs {
  AdaptivePool2DAttrs() : AdaptivePoolAttrs("NCHW") {}
  static constexpr NodeInfo info{"relay.attrs.AdaptivePool2DAttrs", &AdaptivePoolAttrs::info};
  static void fields(auto) {}
};
struct AdaptivePool3DAttrs : AdaptivePoolAttrs {
  AdaptivePool3DAttrs() : AdaptivePoolAttrs("NCDHW") {}
  static constexpr NodeInfo info{"relay.attrs.AdaptivePool3DAttrs", &AdaptivePoolAttrs::info};
  static void fields(auto) {}
};

struct GlobalPool2DAttrs : AttrsNode {
  String layout = "NCHW", out_layout;
  static constexpr NodeInfo info{"relay.attrs.GlobalPool2DAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("layout", &GlobalPool2DAttrs::layout);
    f("out_layout", &GlobalPool2DAttrs::out_layout);
  }
};

}  // namespace tessera::relay

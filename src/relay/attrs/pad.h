#pragma once
// Attributes of operators that add a border, or move elements between space and other dimensions.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

/// pad_width: for each dimension how many elements before and after it.
struct PadAttrs : AttrsNode {
  Array<Array<PrimExpr>> pad_width;
  String pad_mode = "constant";  // or "edge", "reflect"
  static constexpr NodeInfo info{"relay.attrs.PadAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("pad_width", &PadAttrs::pad_width, Required);
    f("pad_mode", &PadAttrs::pad_mode);
  }
};

struct MirrorPadAttrs : AttrsNode {
  String mode = "SYMMETRIC";  // or "REFLECT": the border element itself is not repeated
  Array<Array<PrimExpr>> pad_width;
  static constexpr NodeInfo info{"relay.attrs.MirrorPadAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("mode", &MirrorPadAttrs::mode);
    f("pad_width", &MirrorPadAttrs::pad_width, Required);
  }
};

struct DilateAttrs : AttrsNode {
  Array<PrimExpr> strides{1, 1};
  double dilation_value = 0;
  static constexpr NodeInfo info{"relay.attrs.DilateAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("strides", &DilateAttrs::strides);
    f("dilation_value", &DilateAttrs::dilation_value);
  }
};

/// Blocks of space against channels. mode: "DCR" has the position in the block as the slow part of the channel, "CRD" the
/// fast one.
struct SubPixelAttrs : AttrsNode {
  int32_t block_size = 1;
  String layout = "NCHW", mode = "DCR";
  static constexpr NodeInfo info{"relay.attrs.SubPixelAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("block_size", &SubPixelAttrs::block_size);
    f("layout", &SubPixelAttrs::layout);
    f("mode", &SubPixelAttrs::mode);
  }
};

struct SpaceToBatchNDAttrs : AttrsNode {
  Array<PrimExpr> block_shape{1, 1};
  Array<Array<PrimExpr>> paddings;
  double pad_value = 0;
  static constexpr NodeInfo info{"relay.attrs.SpaceToBatchNDAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("block_shape", &SpaceToBatchNDAttrs::block_shape);
    f("paddings", &SpaceToBatchNDAttrs::paddings, Required);
    f("pad_value", &SpaceToBatchNDAttrs::pad_value);
  }
};

struct BatchToSpaceNDAttrs : AttrsNode {
  Array<PrimExpr> block_shape{1, 1};
  Array<Array<PrimExpr>> crops;
  static constexpr NodeInfo info{"relay.attrs.BatchToSpaceNDAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("block_shape", &BatchToSpaceNDAttrs::block_shape);
    f("crops", &BatchToSpaceNDAttrs::crops, Required);
  }
};

}  // namespace tessera::relay

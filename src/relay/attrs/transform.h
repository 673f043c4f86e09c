#pragma once
// Attributes of operators that move, choose or make elements.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

struct CastAttrs : AttrsNode {
  DataType dtype;
  static constexpr NodeInfo info{"relay.attrs.CastAttrs", &AttrsNode::info};
  static void fields(auto f) { f("dtype", &CastAttrs::dtype, Required); }
};

struct ClipAttrs : AttrsNode {
  double a_min = 0, a_max = 0;
  static constexpr NodeInfo info{"relay.attrs.ClipAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("a_min", &ClipAttrs::a_min, Required);
    f("a_max", &ClipAttrs::a_max, Required);
  }
};

struct ConcatenateAttrs : AttrsNode {
  int32_t axis = 0;
  static constexpr NodeInfo info{"relay.attrs.ConcatenateAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axis", &ConcatenateAttrs::axis); }
};

struct ExpandDimsAttrs : AttrsNode {
  int32_t axis = 0, num_newaxis = 1;
  static constexpr NodeInfo info{"relay.attrs.ExpandDimsAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("axis", &ExpandDimsAttrs::axis, Required);
    f("num_newaxis", &ExpandDimsAttrs::num_newaxis);
  }
};

/// Tensors made from nothing, or stretched; an empty shape means that the call's argument says it.
struct InitOpAttrs : AttrsNode {
  Array<PrimExpr> shape = nullptr;
  DataType dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.InitOpAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("shape", &InitOpAttrs::shape, Optional);
    f("dtype", &InitOpAttrs::dtype);
  }
};

struct LayoutTransformAttrs : AttrsNode {
  String src_layout, dst_layout;
  static constexpr NodeInfo info{"relay.attrs.LayoutTransformAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("src_layout", &LayoutTransformAttrs::src_layout, Required);
    f("dst_layout", &LayoutTransformAttrs::dst_layout, Required);
  }
};

/// newshape: 0 keeps an extent, -1 is inferred, -2 keeps the rest, -3 joins two, -4 splits one into the next two.
struct ReshapeAttrs : AttrsNode {
  Array<PrimExpr> newshape;
  bool allowzero = false;
  static constexpr NodeInfo info{"relay.attrs.ReshapeAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("newshape", &ReshapeAttrs::newshape, Required);
    f("allowzero", &ReshapeAttrs::allowzero);
  }
};

/// A number of equal parts, or the places where parts begin.
struct SplitAttrs : AttrsNode {
  ObjectRef indices_or_sections;
  int32_t axis = 0;
  static constexpr NodeInfo info{"relay.attrs.SplitAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("indices_or_sections", &SplitAttrs::indices_or_sections, Required);
    f("axis", &SplitAttrs::axis);
  }
};

struct SqueezeAttrs : AttrsNode {
  Array<PrimExpr> axis = nullptr;
  static constexpr NodeInfo info{"relay.attrs.SqueezeAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axis", &SqueezeAttrs::axis, Optional); }
};

struct StackAttrs : AttrsNode {
  int32_t axis = 0;
  static constexpr NodeInfo info{"relay.attrs.StackAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axis", &StackAttrs::axis); }
};

struct TakeAttrs : AttrsNode {
  int32_t batch_dims = 0;
  PrimExpr axis;
  String mode = "clip";
  static constexpr NodeInfo info{"relay.attrs.TakeAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("batch_dims", &TakeAttrs::batch_dims);
    f("axis", &TakeAttrs::axis, Optional);
    f("mode", &TakeAttrs::mode);
  }
};

struct TransposeAttrs : AttrsNode {
  Array<PrimExpr> axes = nullptr;
  static constexpr NodeInfo info{"relay.attrs.TransposeAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axes", &TransposeAttrs::axes, Optional | Required); }
};

}  // namespace tessera::relay

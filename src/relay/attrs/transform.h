#pragma once
// Attributes of operators that move or make elements.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

/// The bounds stand here as well as among the arguments, so that constant ones give a constant shape.
struct ArangeAttrs : AttrsNode {
  RelayExpr start, stop, step;
  DataType dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.ArangeAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("start", &ArangeAttrs::start, Optional | Required);
    f("stop", &ArangeAttrs::stop, Optional | Required);
    f("step", &ArangeAttrs::step, Optional | Required);
    f("dtype", &ArangeAttrs::dtype);
  }
};

struct AutoSchedulerLayoutTransformAttrs : AttrsNode {
  String src_layout, dst_layout;
  static constexpr NodeInfo info{"relay.attrs.AutoSchedulerLayoutTransformAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("src_layout", &AutoSchedulerLayoutTransformAttrs::src_layout, Required);
    f("dst_layout", &AutoSchedulerLayoutTransformAttrs::dst_layout, Required);
  }
};

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

struct DynExpandDimsAttrs : AttrsNode {
  int32_t num_newaxis = 1;
  static constexpr NodeInfo info{"relay.attrs.DynExpandDimsAttrs", &AttrsNode::info};
  static void fields(auto f) { f("num_newaxis", &DynExpandDimsAttrs::num_newaxis); }
};

struct EinsumAttrs : AttrsNode {
  String equation;
  static constexpr NodeInfo info{"relay.attrs.EinsumAttrs", &AttrsNode::info};
  static void fields(auto f) { f("equation", &EinsumAttrs::equation, Required); }
};

struct ExpandDimsAttrs : AttrsNode {
  int32_t axis = 0, num_newaxis = 1;
  static constexpr NodeInfo info{"relay.attrs.ExpandDimsAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("axis", &ExpandDimsAttrs::axis, Required);
    f("num_newaxis", &ExpandDimsAttrs::num_newaxis);
  }
};

struct FixedPointMultiplyAttrs : AttrsNode {
  int32_t multiplier = 0, shift = 0;
  static constexpr NodeInfo info{"relay.attrs.FixedPointMultiplyAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("multiplier", &FixedPointMultiplyAttrs::multiplier, Required);
    f("shift", &FixedPointMultiplyAttrs::shift, Required);
  }
};

/// Tensors made from nothing, or broadcast; an empty shape means that the call's argument says it.
struct InitOpAttrs : AttrsNode {
  Array<PrimExpr> shape = nullptr;
  DataType dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.InitOpAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("shape", &InitOpAttrs::shape, Optional | Required);
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

struct MeshgridAttrs : AttrsNode {
  String indexing = "ij";
  static constexpr NodeInfo info{"relay.attrs.MeshgridAttrs", &AttrsNode::info};
  static void fields(auto f) { f("indexing", &MeshgridAttrs::indexing); }
};

struct MetaScheduleLayoutTransformAttrs : AttrsNode {
  ObjectRef index_map;
  static constexpr NodeInfo info{"relay.attrs.MetaScheduleLayoutTransformAttrs", &AttrsNode::info};
  static void fields(auto f) { f("index_map", &MetaScheduleLayoutTransformAttrs::index_map, Required); }
};

struct NdarraySizeAttrs : AttrsNode {
  DataType dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.NdarraySizeAttrs", &AttrsNode::info};
  static void fields(auto f) { f("dtype", &NdarraySizeAttrs::dtype); }
};

struct RepeatAttrs : AttrsNode {
  PrimExpr repeats, axis;
  static constexpr NodeInfo info{"relay.attrs.RepeatAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("repeats", &RepeatAttrs::repeats, Required);
    f("axis", &RepeatAttrs::axis, Optional);
  }
};

/// newshape: 0 keeps an extent, -1 is inferred, -2 keeps the rest, -3 merges two, -4 splits one into the next two.
/// Of dyn.reshape, whose shape is an argument, `newshape` holds the numbers below 1 that mean something there; where it is
/// empty that is all of Relay's.
struct ReshapeAttrs : AttrsNode {
  Array<PrimExpr> newshape;
  bool allowzero = false;
  static constexpr NodeInfo info{"relay.attrs.ReshapeAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("newshape", &ReshapeAttrs::newshape, Required);
    f("allowzero", &ReshapeAttrs::allowzero);
  }
};

/// Dimensions lhs_begin to lhs_end of the data become dimensions rhs_begin to rhs_end of the other tensor.
struct ReshapeLikeAttrs : AttrsNode {
  int32_t lhs_begin = 0;
  PrimExpr lhs_end;
  int32_t rhs_begin = 0;
  PrimExpr rhs_end;
  static constexpr NodeInfo info{"relay.attrs.ReshapeLikeAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("lhs_begin", &ReshapeLikeAttrs::lhs_begin);
    f("lhs_end", &ReshapeLikeAttrs::lhs_end, Optional);
    f("rhs_begin", &ReshapeLikeAttrs::rhs_begin);
    f("rhs_end", &ReshapeLikeAttrs::rhs_end, Optional);
  }
};

struct ReverseAttrs : AttrsNode {
  PrimExpr axis;
  static constexpr NodeInfo info{"relay.attrs.ReverseAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axis", &ReverseAttrs::axis, Optional); }
};

struct ReverseSequenceAttrs : AttrsNode {
  int32_t seq_axis = 1, batch_axis = 0;
  static constexpr NodeInfo info{"relay.attrs.ReverseSequenceAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("seq_axis", &ReverseSequenceAttrs::seq_axis);
    f("batch_axis", &ReverseSequenceAttrs::batch_axis);
  }
};

struct ShapeOfAttrs : AttrsNode {
  DataType dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.ShapeOfAttrs", &AttrsNode::info};
  static void fields(auto f) { f("dtype", &ShapeOfAttrs::dtype); }
};

struct SliceLikeAttrs : AttrsNode {
  Array<PrimExpr> axes = nullptr;
  static constexpr NodeInfo info{"relay.attrs.SliceLikeAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axes", &SliceLikeAttrs::axes, Optional | Required); }
};

struct SlidingWindowAttrs : AttrsNode {
  int32_t axis = 0;
  Array<PrimExpr> window_shape, strides;
  static constexpr NodeInfo info{"relay.attrs.SlidingWindowAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("axis", &SlidingWindowAttrs::axis, Required);
    f("window_shape", &SlidingWindowAttrs::window_shape, Required);
    f("strides", &SlidingWindowAttrs::strides, Required);
  }
};

/// A number of equal parts, or the indices where parts begin.
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

struct StftAttrs : AttrsNode {
  int32_t n_fft = -1, hop_length = -1, win_length = -1;
  bool normalized = false, onesided = true;
  static constexpr NodeInfo info{"relay.attrs.StftAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("n_fft", &StftAttrs::n_fft);
    f("hop_length", &StftAttrs::hop_length);
    f("win_length", &StftAttrs::win_length);
    f("normalized", &StftAttrs::normalized);
    f("onesided", &StftAttrs::onesided);
  }
};

/// slice_mode: "end", or "size" where `end` holds extents (-1: to the end) and strides do not count. Without `axes` the
/// numbers are of the first dimensions.
struct StridedSliceAttrs : AttrsNode {
  Array<PrimExpr> begin = nullptr, end = nullptr, strides = nullptr;
  String slice_mode = "end";
  Array<PrimExpr> axes = nullptr;
  static constexpr NodeInfo info{"relay.attrs.StridedSliceAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("begin", &StridedSliceAttrs::begin, Optional | Required);
    f("end", &StridedSliceAttrs::end, Optional | Required);
    f("strides", &StridedSliceAttrs::strides, Optional | Required);
    f("slice_mode", &StridedSliceAttrs::slice_mode);
    f("axes", &StridedSliceAttrs::axes, Optional | Required);
  }
};

struct TileAttrs : AttrsNode {
  Array<PrimExpr> reps = nullptr;
  static constexpr NodeInfo info{"relay.attrs.TileAttrs", &AttrsNode::info};
  static void fields(auto f) { f("reps", &TileAttrs::reps, Optional | Required); }
};

struct TransposeAttrs : AttrsNode {
  Array<PrimExpr> axes = nullptr;
  static constexpr NodeInfo info{"relay.attrs.TransposeAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axes", &TransposeAttrs::axes, Optional | Required); }
};

}  // namespace tessera::relay

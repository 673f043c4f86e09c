#pragma once
// Attributes of the operators under nn.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

struct BiasAddAttrs : AttrsNode {
  int32_t axis = 1;
  static constexpr NodeInfo info{"relay.attrs.BiasAddAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axis", &BiasAddAttrs::axis); }
};

struct DenseAttrs : AttrsNode {
  PrimExpr units;
  String auto_scheduler_rewritten_layout;
  Array<PrimExpr> meta_schedule_original_shape;
  DataType out_dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.DenseAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("units", &DenseAttrs::units, Optional | Required);
    f("auto_scheduler_rewritten_layout", &DenseAttrs::auto_scheduler_rewritten_layout);
    f("meta_schedule_original_shape", &DenseAttrs::meta_schedule_original_shape);
    f("out_dtype", &DenseAttrs::out_dtype);
  }
};

struct LeakyReluAttrs : AttrsNode {
  double alpha = 0.25;
  static constexpr NodeInfo info{"relay.attrs.LeakyReluAttrs", &AttrsNode::info};
  static void fields(auto f) { f("alpha", &LeakyReluAttrs::alpha); }
};

struct SoftmaxAttrs : AttrsNode {
  int32_t axis = -1;
  static constexpr NodeInfo info{"relay.attrs.SoftmaxAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axis", &SoftmaxAttrs::axis); }
};

}  // namespace tessera::relay

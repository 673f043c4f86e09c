#pragma once
// Attributes of the operators under nn.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

struct DenseAttrs : AttrsNode {
  PrimExpr units;
  DataType out_dtype = DataType::Void();
  String auto_scheduler_rewritten_layout;
  Array<PrimExpr> meta_schedule_original_shape;
  static constexpr NodeInfo info{"relay.attrs.DenseAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("units", &DenseAttrs::units, Optional | Required);
    f("out_dtype", &DenseAttrs::out_dtype);
    f("auto_scheduler_rewritten_layout", &DenseAttrs::auto_scheduler_rewritten_layout);
    f("meta_schedule_original_shape", &DenseAttrs::meta_schedule_original_shape);
  }
};

}  // namespace tessera::relay

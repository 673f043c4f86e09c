#pragma once
// Attributes of reductions.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

/// Without axes all are reduced; with `exclude` all but those given.
struct ReduceAttrs : AttrsNode {
  Array<PrimExpr> axis = nullptr;
  bool keepdims = false, exclude = false;
  static constexpr NodeInfo info{"relay.attrs.ReduceAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("axis", &ReduceAttrs::axis, Optional);
    f("keepdims", &ReduceAttrs::keepdims);
    f("exclude", &ReduceAttrs::exclude);
  }
};

struct ArgReduceAttrs : ReduceAttrs {
  bool select_last_index = false;  // among equals
  static constexpr NodeInfo info{"relay.attrs.ArgReduceAttrs", &ReduceAttrs::info};
  static void fields(auto f) { f("select_last_index", &ArgReduceAttrs::select_last_index); }
};

struct VarianceAttrs : ReduceAttrs {
  bool unbiased = false;  // divide by one less than the count
  static constexpr NodeInfo info{"relay.attrs.VarianceAttrs", &ReduceAttrs::info};
  static void fields(auto f) { f("unbiased", &VarianceAttrs::unbiased); }
};

}  // namespace tessera::relay

#pragma once
// Attributes of normalisation.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

/// Normalisation with a scale and an offset for each slice along `axis`, which `scale` and `center` may leave out.
struct NormAttrs : AttrsNode {
  int32_t axis = 1;
  double epsilon = 1e-5;
  bool center = true, scale = true;
  static constexpr NodeInfo info{"relay.attrs.NormAttrs", &AttrsNode::info};
  static void fields(auto) {}  // each kind lists them, since one has a field before them

 protected:
  static void list_norm_fields(auto f) {
    f("axis", &NormAttrs::axis);
    f("epsilon", &NormAttrs::epsilon);
    f("center", &NormAttrs::center);
    f("scale", &NormAttrs::scale);
  }
};

struct BatchNormAttrs : NormAttrs {
  static constexpr NodeInfo info{"relay.attrs.BatchNormAttrs", &NormAttrs::info};
  static void fields(auto f) { list_norm_fields(f); }
};
struct InstanceNormAttrs : NormAttrs {
  static constexpr NodeInfo info{"relay.attrs.InstanceNormAttrs", &NormAttrs::info};
  static void fields(auto f) { list_norm_fields(f); }
};
struct LayerNormAttrs : NormAttrs {
  LayerNormAttrs() { axis = -1; }
  static constexpr NodeInfo info{"relay.attrs.LayerNormAttrs", &NormAttrs::info};
  static void fields(auto f) { list_norm_fields(f); }
};
struct GroupNormAttrs : NormAttrs {
  int32_t num_groups = 0;
  static constexpr NodeInfo info{"relay.attrs.GroupNormAttrs", &NormAttrs::info};
  static void fields(auto f) {
    f("num_groups", &GroupNormAttrs::num_groups);
    list_norm_fields(f);
  }
};

/// x over the root of its sum of squares along `axis`, or of `eps` where that is greater.
struct L2NormalizeAttrs : AttrsNode {
  double eps = 0;
  Array<PrimExpr> axis;
  static constexpr NodeInfo info{"relay.attrs.L2NormalizeAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("eps", &L2NormalizeAttrs::eps, Required);
    f("axis", &L2NormalizeAttrs::axis, Optional | Required);
  }
};

/// Local response normalisation over `size` neighbours along `axis`.
struct LRNAttrs : AttrsNode {
  int32_t size = 5, axis = 1;
  double bias = 2, alpha = 0.0001, beta = 0.75;
  static constexpr NodeInfo info{"relay.attrs.LRNAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("size", &LRNAttrs::size);
    f("axis", &LRNAttrs::axis);
    f("bias", &LRNAttrs::bias);
    f("alpha", &LRNAttrs::alpha);
    f("beta", &LRNAttrs::beta);
  }
};

struct DropoutAttrs : AttrsNode {
  double rate = 0.5;
  static constexpr NodeInfo info{"relay.attrs.DropoutAttrs", &AttrsNode::info};
  static void fields(auto f) { f("rate", &DropoutAttrs::rate); }
};

}  // namespace tessera::relay

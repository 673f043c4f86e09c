#pragma once
// Integer facts as objects, for other languages.

#include "arith/facts.h"

namespace tessera::arith {

struct ConstIntBoundNode : Object {
  int64_t min_value = kNegInf, max_value = kPosInf;
  static constexpr NodeInfo info{"arith.ConstIntBound", &Object::info};
  static void fields(auto f) {
    f("min_value", &ConstIntBoundNode::min_value);
    f("max_value", &ConstIntBoundNode::max_value);
  }
};
using ConstIntBound = Ref<ConstIntBoundNode>;

struct ModularSetNode : Object {
  int64_t coeff = 1, base = 0;
  static constexpr NodeInfo info{"arith.ModularSet", &Object::info};
  static void fields(auto f) {
    f("coeff", &ModularSetNode::coeff);
    f("base", &ModularSetNode::base);
  }
};
using ModularSet = Ref<ModularSetNode>;

inline ConstIntBound as_object(IntBound bound) {
  ConstIntBoundNode node;
  node.min_value = bound.min;
  node.max_value = bound.max;
  return make(std::move(node));
}
inline ModularSet as_object(Modular modular) {
  ModularSetNode node;
  node.coeff = modular.coeff;
  node.base = modular.base;
  return make(std::move(node));
}

}  // namespace tessera::arith

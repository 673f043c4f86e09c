#pragma once
// Attributes of random numbers.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

struct MultinomialAttrs : AttrsNode {
  int32_t num_samples = 1;
  static constexpr NodeInfo info{"relay.attrs.MultinomialAttrs", &AttrsNode::info};
  static void fields(auto f) { f("num_samples", &MultinomialAttrs::num_samples); }
};

struct NormalAttrs : AttrsNode {
  Array<PrimExpr> out_shape;
  DataType out_dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.NormalAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("out_shape", &NormalAttrs::out_shape);
    f("out_dtype", &NormalAttrs::out_dtype);
  }
};

struct ThreefryGenerateAttrs : AttrsNode {
  Array<PrimExpr> out_shape;
  static constexpr NodeInfo info{"relay.attrs.ThreefryGenerateAttrs", &AttrsNode::info};
  static void fields(auto f) { f("out_shape", &ThreefryGenerateAttrs::out_shape); }
};

struct UniformAttrs : AttrsNode {
  Array<PrimExpr> out_shape;
  DataType out_dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.UniformAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("out_shape", &UniformAttrs::out_shape);
    f("out_dtype", &UniformAttrs::out_dtype);
  }
};

}  // namespace tessera::relay

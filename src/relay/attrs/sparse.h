#pragma once
// Attributes of layers with a sparse operand.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

struct SparseDenseAttrs : AttrsNode {
  bool sparse_lhs = false;
  static constexpr NodeInfo info{"relay.attrs.SparseDenseAttrs", &AttrsNode::info};
  static void fields(auto f) { f("sparse_lhs", &SparseDenseAttrs::sparse_lhs); }
};

struct SparseConv2DAttrs : AttrsNode {
  String layout = "NHWC";
  Array<PrimExpr> kernel_size{1, 1};
  static constexpr NodeInfo info{"relay.attrs.SparseConv2DAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("layout", &SparseConv2DAttrs::layout);
    f("kernel_size", &SparseConv2DAttrs::kernel_size);
  }
};

}  // namespace tessera::relay

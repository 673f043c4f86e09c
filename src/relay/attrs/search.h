#pragma once
// Attributes of sorting, searching and scans.

#include "ir/attrs.h"
#include "ir/expr.h"
#include "ir/prim/ops.h"

namespace tessera::relay {

struct ArgsortAttrs : AttrsNode {
  int32_t axis = -1;
  bool is_ascend = true;
  DataType dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.ArgsortAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("axis", &ArgsortAttrs::axis);
    f("is_ascend", &ArgsortAttrs::is_ascend);
    f("dtype", &ArgsortAttrs::dtype);
  }
};

/// Cumulative sums and products; without an axis those of the flattened tensor. `exclusive` may be left out, which
/// prints.
struct ScanopAttrs : AttrsNode {
  PrimExpr axis;
  DataType dtype = DataType::Void();
  PrimExpr exclusive = bool_imm(false);
  bool is_exclusive() const { return exclusive && as_int(exclusive) && *as_int(exclusive) != 0; }
  static constexpr NodeInfo info{"relay.attrs.ScanopAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("axis", &ScanopAttrs::axis, Optional);
    f("dtype", &ScanopAttrs::dtype);
    f("exclusive", &ScanopAttrs::exclusive, Optional);
  }
};

struct SearchSortedAttrs : AttrsNode {
  bool right = false;
  DataType dtype = DataType::Int(32);
  static constexpr NodeInfo info{"relay.attrs.SearchSortedAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("right", &SearchSortedAttrs::right);
    f("dtype", &SearchSortedAttrs::dtype);
  }
};

/// Without `k` it is an argument of the call (dyn.topk).
/// k: less than 1 means all elements. Of dyn.topk, whose k is an argument, the least that it may be, where there is one.
struct TopkAttrs : AttrsNode {
  PrimExpr k;
  int32_t axis = -1;
  String ret_type = "both";
  bool is_ascend = false;
  DataType dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.TopkAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("k", &TopkAttrs::k, Optional);
    f("axis", &TopkAttrs::axis);
    f("ret_type", &TopkAttrs::ret_type);
    f("is_ascend", &TopkAttrs::is_ascend);
    f("dtype", &TopkAttrs::dtype);
  }
};

struct UniqueAttrs : AttrsNode {
  bool sorted = true, return_counts = false;
  static constexpr NodeInfo info{"relay.attrs.UniqueAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("sorted", &UniqueAttrs::sorted);
    f("return_counts", &UniqueAttrs::return_counts);
  }
};

}  // namespace tessera::relay

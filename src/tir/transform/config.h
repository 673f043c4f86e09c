#pragma once
// Options of passes that are more than a flag; given in a PassContext's config as a dictionary.

#include "ir/attrs.h"

namespace tessera {

/// "tir.UnrollLoop". Loops marked unrolled are unrolled always; others when the whole body below them stays within
/// auto_max_step stores, auto_max_depth nested loops and auto_max_extent iterations (0: none).
struct UnrollLoopConfig : AttrsNode {
  int32_t auto_max_step = 0, auto_max_depth = 8, auto_max_extent = 0;
  bool explicit_unroll = true;  // off: leave the loop, marked for the code generator
  static constexpr NodeInfo info{"tir.transform.UnrollLoopConfig", &AttrsNode::info};
  static void fields(auto f) {
    f("auto_max_step", &UnrollLoopConfig::auto_max_step);
    f("auto_max_depth", &UnrollLoopConfig::auto_max_depth);
    f("auto_max_extent", &UnrollLoopConfig::auto_max_extent);
    f("explicit_unroll", &UnrollLoopConfig::explicit_unroll);
  }
};

/// "tir.LoopPartition".
struct LoopPartitionConfig : AttrsNode {
  bool partition_const_loop = false;
  bool no_unroll_loop_with_extent_one = false;
  bool unroll_loop_with_partition_hint_no_interval = false;
  static constexpr NodeInfo info{"tir.transform.LoopPartitionConfig", &AttrsNode::info};
  static void fields(auto f) {
    f("partition_const_loop", &LoopPartitionConfig::partition_const_loop);
    f("no_unroll_loop_with_extent_one", &LoopPartitionConfig::no_unroll_loop_with_extent_one);
    f("unroll_loop_with_partition_hint_no_interval", &LoopPartitionConfig::unroll_loop_with_partition_hint_no_interval);
  }
};

/// "tir.InjectDoubleBuffer". split_loop > 1 also unrolls the loop by that factor, so that buffer indices are constant.
struct InjectDoubleBufferConfig : AttrsNode {
  int32_t split_loop = 1;
  static constexpr NodeInfo info{"tir.transform.InjectDoubleBufferConfig", &AttrsNode::info};
  static void fields(auto f) { f("split_loop", &InjectDoubleBufferConfig::split_loop); }
};

/// "tir.HoistIfThenElse".
struct HoistIfThenElseConfig : AttrsNode {
  bool support_block_scope_hosting = false;
  static constexpr NodeInfo info{"tir.transform.HoistIfThenElseConfig", &AttrsNode::info};
  static void fields(auto f) { f("support_block_scope_hosting", &HoistIfThenElseConfig::support_block_scope_hosting); }
};

/// "tir.HoistExpression". Sums of flags: conditionals of if statements 1, of if_then_else 2, other Boolean expressions 4,
/// block variables allowed 8; let bindings a condition needs 1, LetStmt 2, Let 4.
struct HoistExpressionConfig : AttrsNode {
  int32_t hoisted_conditionals = 7, hoisted_let_bindings = 7;
  static constexpr NodeInfo info{"tir.transform.HoistExpressionConfig", &AttrsNode::info};
  static void fields(auto f) {
    f("hoisted_conditionals", &HoistExpressionConfig::hoisted_conditionals);
    f("hoisted_let_bindings", &HoistExpressionConfig::hoisted_let_bindings);
  }
};

}  // namespace tessera

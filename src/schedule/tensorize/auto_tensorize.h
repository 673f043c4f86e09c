#pragma once
// How the axes of a block would have to be fused for an intrinsic to replace it.

#include "schedule/schedule.h"
#include "tir/index_map.h"

namespace tessera::schedule {

/// Each map sends the axes of the block to those that no axis of the description stands for, then one for each axis of
/// the description.
struct AutoTensorizeMappingInfoNode : Object {
  Array<IndexMap> mappings;
  Map<Buffer, Buffer> lhs_buffer_map;        // buffers of the block, to those of the description
  Map<Buffer, Array<PrimExpr>> rhs_indices;  // where the description touches its buffers
  Array<IterVar> lhs_iters, rhs_iters;       // the axes of the block and of the description
  static constexpr NodeInfo info{"tir.schedule.AutoTensorizeMappingInfo", &Object::info};
  static void fields(auto f) {
    f("mappings", &AutoTensorizeMappingInfoNode::mappings);
    f("lhs_buffer_map", &AutoTensorizeMappingInfoNode::lhs_buffer_map);
    f("rhs_indices", &AutoTensorizeMappingInfoNode::rhs_indices);
    f("lhs_iters", &AutoTensorizeMappingInfoNode::lhs_iters);
    f("rhs_iters", &AutoTensorizeMappingInfoNode::rhs_iters);
  }
};
using AutoTensorizeMappingInfo = Ref<AutoTensorizeMappingInfoNode>;

/// Empty where the block does not compute what the description says.
AutoTensorizeMappingInfo auto_tensorize_mapping_info(const Schedule& sch, const ObjectRef& rv, const PrimFunc& desc);

/// The loops of a description around its one inner block, which is empty where there is none.
std::vector<const For*> loops_of(const PrimFunc& desc, const BlockRealize** inner);

/// [loops of the block, loops of the description they stand for, paddings or None]. Pairs loops from the innermost outwards:
/// axes of the same kind, extents that the description's divide. Empty where a loop of the description finds none. The
/// paddings, where allowed, are what extents lack of being divided.
ObjectRef tensorize_loop_mapping(const Schedule& sch, const ObjectRef& rv, const PrimFunc& desc, bool allow_padding);

/// The map that puts digits of outer loops before those of inner ones; empty where indices are not digits of loops.
ObjectRef suggest_index_map(const Buffer& buffer, const Array<PrimExpr>& indices, const Array<Stmt>& given,
                            const PrimExpr& predicate);

}  // namespace tessera::schedule

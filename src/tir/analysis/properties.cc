#include "tir/analysis/properties.h"

#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/pass.h"

namespace tessera {
namespace {

/// True when no node of that type in the functions of the module is one that `is_wrong` says.
template <class Node>
bool none(const IRModule& mod, bool (*is_wrong)(const Node*), bool (*concerns)(const PrimFunc&) = nullptr) {
  bool found = false;
  for (const auto& [var, each] : mod->functions) {
    PrimFunc function = downcast_or_null<PrimFunc>(each);
    if (!function || (concerns && !concerns(function))) continue;
    walk(function->body, [&](const Node* node) { found = found || is_wrong(node); });
  }
  return !found;
}

template <class Node>
bool no_such(const IRModule& mod) {
  return none<Node>(mod, [](const Node*) { return true; });
}

template <LoopKind kind>
bool no_loop_of(const IRModule& mod) {
  return none<For>(mod, [](const For* loop) { return loop->kind == kind; });
}

/// An access by other than one index for each physical dimension.
template <class Access>
bool is_not_flat(const Access* access) {
  return access->indices.size() != access->buffer->axis_separators.size() + 1;
}

bool is_flat(const IRModule& mod) {
  auto concerns = [](const PrimFunc& function) { return !is_from_te(function); };
  return none<BufferLoad>(mod, is_not_flat, concerns) && none<BufferStore>(mod, is_not_flat, concerns);
}

}  // namespace

const Property no_block_init{"no_block_init", [](const IRModule& mod) {
                               return none<BlockNode>(mod,
                                                      [](const BlockNode* block) { return block->init.defined(); });
                             }};
const Property no_block_vars{"no_block_vars", [](const IRModule& mod) {
                               return none<BlockNode>(mod,
                                                      [](const BlockNode* block) { return !block->iter_vars.empty(); });
                             }};
const Property no_buffer_views{"no_buffer_views", [](const IRModule& mod) {
                                 return none<BlockNode>(
                                     mod, [](const BlockNode* block) { return !block->match_buffers.empty(); });
                               }};
const Property no_blocks{"no_blocks", no_such<BlockNode>};
const Property no_buffer_realize{"no_buffer_realize", [](const IRModule& mod) {
                                   return none<BufferRealize>(
                                       mod, [](const BufferRealize*) { return true; }, is_from_te);
                                 }};
const Property flat_memory{"flat_memory", is_flat};
const Property no_prefetch{"no_prefetch", no_such<Prefetch>};
const Property no_vectorized_loops{"no_vectorized_loops", no_loop_of<LoopKind::Vectorized>};
const Property no_parallel_loops{"no_parallel_loops", no_loop_of<LoopKind::Parallel>};
const Property no_virtual_threads{"no_virtual_threads", [](const IRModule& mod) {
                                    return none<AttrStmt>(
                                        mod, [](const AttrStmt* op) { return op->attr_key == attr::kVirtualThread; });
                                  }};
const Property no_bfloat16{"no_bfloat16", [](const IRModule& mod) {
                             return none<PrimExprNode>(mod, [](const PrimExprNode* e) { return e->dtype.is_bfloat(); });
                           }};
const Property no_asserts{"no_asserts", no_such<AssertStmt>};

}  // namespace tessera

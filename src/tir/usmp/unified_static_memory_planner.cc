// The pass "tir.transform.UnifiedStaticMemoryPlanner" and the one that gives allocations their pools.

#include "ir/rewrite.h"
#include "tir/usmp/usmp.h"

namespace tessera::usmp {
namespace {

/// Those of the module's pools that code of the target reaches; one of our own where the module has none.
template <class Pools, class Node>
Array<PoolInfo> reachable(const IRModule& mod, const char* key, const Target& target, const char* otherwise) {
  Array<PoolInfo> out;
  ObjectRef known = mod->attrs.get_attr(key);
  if (auto* pools = known.as<Pools>()) {
    for (const auto& pool : pools->pools)
      for (const Target& reached : pool->targets)
        if (reached.same_as(target) || (target && reached->kind->name == target->kind->name)) {
          out.push_back(PoolInfo(pool.get()));
          break;
        }
    if (out.empty() && target)
      throw Error(ValueError) << "no pool of the module's attribute " << quoted(key) << " is reached by code for "
                              << to_text(target) << "; add one";
  }
  if (!out.empty()) return out;
  Node node;
  node.pool_name = otherwise;
  if (target) node.targets = {target};
  for (Integer PoolInfoNode::* number :
       {&PoolInfoNode::size_hint_bytes, &PoolInfoNode::clock_frequency_hz,
        &PoolInfoNode::read_bandwidth_bytes_per_cycle, &PoolInfoNode::write_bandwidth_bytes_per_cycle})
    node.*number = integer(-1);
  node.read_latency_cycles = node.write_latency_cycles = integer(0);
  node.is_internal = true;
  return {make(std::move(node))};
}

}  // namespace

IRModule unified_static_memory_planner(IRModule mod, const PassContext& context) {
  if (context.flag("tir.usmp.use_workspace_io"))
    throw Error(NotImplementedError) << "tir.usmp.use_workspace_io: inputs and outputs stay the caller's tensors; "
                                     << "switch it off";
  auto option = [&](const char* key) {
    ObjectRef given = context.get_config(key);
    return given ? downcast<String>(given) : String();
  };
  String algorithm = option("tir.usmp.custom_algorithm");
  if (algorithm.empty()) algorithm = option("tir.usmp.algorithm");
  if (algorithm.empty()) algorithm = "greedy_by_size";
  mod = assign_pool_info(std::move(mod));
  auto main = downcast<PrimFunc>(mod->functions[entry_of(mod)]);
  BufferInfoAnalysis found = extract_buffer_info(main, mod);
  Array<BufferInfo> buffers;
  for (const auto& [info, stmt] : found->buffer_info_stmts) buffers.push_back(info);
  PoolAllocations planned = plan(algorithm, buffers, found->memory_pressure->value);
  Map<Stmt, PoolAllocation> allocations;
  for (const auto& [info, stmt] : found->buffer_info_stmts) allocations.set(stmt, planned[info]);
  for (const BufferInfo& info : buffers) info.edit()->conflicts = {};  // they name one another and would never be freed
  return convert_pool_allocations_to_offsets(std::move(mod), allocations, false);
}

IRModule assign_pool_info(IRModule mod) {
  std::unordered_map<const Object*, Array<PoolInfo>> workspaces, constants;  // by target, so that functions share them
  return map_functions(mod, [&](const PrimFunc& function) {
    auto target = downcast_or_null<Target>(function->attrs.get_attr(attr::kTarget));
    auto annotated = [&](const auto* op, Array<PoolInfo>& pools, const auto& find) {
      if (op->annotations.count(kCandidatePools)) return op->annotations;
      if (pools.empty()) pools = find();
      Map<String, ObjectRef> out = op->annotations;
      out.set(kCandidatePools, pools);
      return out;
    };
    Stmt body = rewrite(
        function->body,
        [&](Rewriter& self, const Allocate* op) -> Stmt {
          auto pools = annotated(op, workspaces[target.get()], [&] {
            return reachable<WorkspaceMemoryPoolsNode, WorkspacePoolInfoNode>(mod, "workspace_memory_pools", target,
                                                                              "global_workspace");
          });
          return with(self.children(op), &Allocate::annotations, pools);
        },
        [&](Rewriter& self, const AllocateConst* op) -> Stmt {
          auto pools = annotated(op, constants[target.get()], [&] {
            return reachable<ConstantMemoryPoolsNode, ConstantPoolInfoNode>(mod, "constant_memory_pools", target,
                                                                            "global_const_workspace");
          });
          return with(self.children(op), &AllocateConst::annotations, pools);
        });
    return with_body(function, body);
  });
}

}  // namespace tessera::usmp

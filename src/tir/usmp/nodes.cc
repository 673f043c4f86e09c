#include "runtime/registry.h"
#include "tir/usmp/usmp.h"

namespace tessera::usmp {
namespace {

register_types<BufferInfoNode, PoolAllocationNode, AllocatedPoolInfoNode, BufferInfoAnalysisNode> node_types;

Globals nodes_globals{
    {"tir.usmp.BufferInfo",
     [](String name, int64_t size, Array<PoolInfo> pools, int64_t alignment) {
       if (size < 0 || alignment < 1)
         throw Error(ValueError) << "buffer " << name << " has " << size << " bytes aligned to " << alignment
                                 << "; a size is 0 or more and an alignment 1 or more";
       return make(BufferInfoNode{
           .name_hint = name, .size_bytes = integer(size), .pool_candidates = pools, .alignment = integer(alignment)});
     }},
    {"tir.usmp.BufferInfoSetConflicts",
     [](const BufferInfo& info, Array<BufferInfo> conflicts) { info.edit()->conflicts = conflicts; }},
    {"tir.usmp.PoolAllocation",
     [](PoolInfo pool, int64_t offset) {
       return make(PoolAllocationNode{.pool_info = pool, .byte_offset = integer(offset)});
     }},
    {"tir.usmp.AllocatedPoolInfo",
     [](PoolInfo pool, int64_t size, int64_t index) {
       return make(
           AllocatedPoolInfoNode{.pool_info = pool, .allocated_size = integer(size), .pool_var_idx = integer(index)});
     }},
    {"tir.usmp.CreateArrayBufferInfo",
     [](const Map<BufferInfo, Stmt>& infos) {
       Array<BufferInfo> out;
       for (const auto& [info, stmt] : infos) out.push_back(info);
       return out;
     }},
    {"tir.usmp.AssignStmtPoolAllocations",
     [](const Map<BufferInfo, Stmt>& infos, const PoolAllocations& allocations) {
       Map<Stmt, PoolAllocation> out;
       for (const auto& [info, stmt] : infos) out.set(stmt, allocations[info]);
       return out;
     }},
};

}  // namespace

Integer integer(int64_t value) {
  return downcast<Integer>(int_imm(DataType::Int(value == static_cast<int32_t>(value) ? 32 : 64), value));
}

GlobalVar entry_of(const IRModule& mod) {
  for (const char* name : {"__tvm_main__", "main"})
    if (GlobalVar var = mod.find_global_var(name)) return var;
  auto functions = mod.sorted_functions();
  if (functions.size() == 1) return functions[0].first;
  throw Error(ValueError) << "memory is planned from the function \"__tvm_main__\" or \"main\"; the module has "
                          << functions.size() << " functions and none of that name";
}

PrimFunc callee_of(const Call* call, const IRModule& mod, size_t* first) {
  *first = 0;
  GlobalVar var;
  if (auto* global = call->op.as<GlobalVarNode>()) {
    var = GlobalVar(global);
  } else if (auto* name = call->args.empty() ? nullptr : call->args[0].as<StringImm>()) {
    *first = 1;
    var = mod.find_global_var(name->value);
  }
  return var && mod->functions.count(var) ? downcast_or_null<PrimFunc>(mod->functions[var]) : PrimFunc();
}

}  // namespace tessera::usmp

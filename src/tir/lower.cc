#include "tir/lower.h"

#include <cstdlib>

#include "tir/analysis/verify.h"
#include "tir/attrs.h"
#include "tir/transform/pass.h"

namespace tessera {
namespace {

constexpr int kPhases = 4;
constexpr int kCacheLineBytes = 64;
constexpr int kIndexBits = 32;

using Passes = std::vector<Pass>;

/// The user's passes by phase; a phase beyond the last means the last.
std::vector<Passes> user_passes(const PassContext& context) {
  std::vector<Passes> out(kPhases);
  ObjectRef given = context.get_config("tir.add_lower_pass");
  if (!given) return out;
  for (const ObjectRef& item : Array<ObjectRef>(given.as<ArrayNode>())) {
    auto* pair = item.as<ArrayNode>();
    int64_t phase = 0;
    if (!pair || pair->items.size() != 2 || !number_boxes.unbox_int(pair->items[0].get(), &phase) || phase < 0 ||
        !pair->items[1].as<PassNode>())
      throw Error(ValueError) << "tir.add_lower_pass: expected pairs of a phase from 0 to 3 and a pass, got "
                              << to_text(item);
    out[std::min<int64_t>(phase, kPhases - 1)].push_back(Pass(pair->items[1].as<PassNode>()));
  }
  return out;
}

/// Loops over buffers or blocks  =>  flat memory, plain loops.
Passes phase_1(const PassContext& context) {
  return {
      pass("InjectPrefetch"),
      pass("TextureFlatten"),
      pass("StorageFlatten", kCacheLineBytes, context.flag("tir.instrument_bound_checkers")),
      // blocks, for functions that do not come from a TE schedule
      pass("LowerCrossThreadReduction"),
      pass("LowerInitBlock"),
      pass("PlanAndUpdateBufferAllocationLocation"),
      pass("ConvertBlocksToOpaque"),
      pass("UnifyThreadBinding"),
      pass("ManifestSharedMemoryLocalStage"),
      pass("CompactBufferAllocation"),
      pass("LowerMatchBuffer"),
      pass("InjectSoftwarePipeline"),
      pass("LowerOpaqueBlock"),
      pass("FlattenBuffer"),
      // both
      pass("BF16Legalize"),
      pass("NarrowDataType", kIndexBits),
      pass("Simplify"),
  };
}

/// Loop kinds other than serial, parallel and threads disappear; memory is shared.
Passes phase_2(bool simple_mode, const PassContext& context) {
  Passes out;
  if (!simple_mode) out.push_back(pass("LoopPartition"));
  out.push_back(pass("VectorizeLoop", !context.flag("tir.disable_vectorize")));
  out.push_back(pass("InjectVirtualThread"));
  out.push_back(pass("InjectDoubleBuffer"));
  if (!context.flag("tir.disable_storage_rewrite")) out.push_back(pass("StorageRewrite"));
  out.push_back(pass("LowerVtcmAlloc"));
  if (context.flag("tir.use_async_copy")) out.push_back(pass("LowerAsyncDMA"));
  out.push_back(pass("UnrollLoop"));
  return out;
}

/// Clean-up.
Passes phase_3() {
  return {
      pass("RenormalizeSplitPattern"), pass("Simplify"),        pass("RemoveNoOp"),
      pass("RewriteUnsafeSelect"),     pass("HoistIfThenElse"),
  };
}

/// What comes after the user's last passes.
Passes ending(const PassContext& context) {
  Passes out;
  if (context.flag("tir.instrument_bound_checkers")) out.push_back(pass("InstrumentBoundCheckers"));
  out.push_back(pass("CommonSubexprElimTIR", !context.flag("tir.disable_cse_tir"),
                     context.flag("tir.enable_equiv_terms_in_cse_tir")));
  return out;
}

/// TESSERA_VERIFY=1 in the environment, as the tests set it: every pass is checked to leave well-formed functions.
bool verifies() {
  static const bool on = [] {
    const char* value = std::getenv("TESSERA_VERIFY");
    return value && *value && std::string_view(value) != "0";
  }();
  return on;
}

Pass verified(const Pass& checked) {
  return module_pass(checked->pass_info, [checked](IRModule mod, const PassContext& context) {
    IRModule out = checked->run(std::move(mod), context);
    for (const auto& [var, function] : out->functions) {
      PrimFunc program = downcast_or_null<PrimFunc>(function);
      std::string problem = program ? ill_formed(program) : "";
      ICHECK(problem.empty()) << checked->pass_info->name << " left " << var->name_hint << " ill-formed: " << problem
                              << "\n"
                              << to_text(program);
    }
    return out;
  });
}

Pass keep_functions(bool device) {
  return pass("Filter", typed("keep", [device](PrimFunc function) {
                int64_t convention = function->attrs.get_int(attr::kCallingConv, 0);
                return (convention == static_cast<int64_t>(CallingConv::DeviceKernelLaunch)) == device;
              }));
}

}  // namespace

std::vector<Pass> lowering_passes(bool simple_mode, const PassContext& context) {
  std::vector<Passes> user = user_passes(context);
  std::vector<Passes> phases{user[0], phase_1(context), user[1], phase_2(simple_mode, context),
                             user[2], phase_3(),        user[3], ending(context)};
  Passes out;
  for (const Passes& phase : phases) out.insert(out.end(), phase.begin(), phase.end());
  return out;
}

IRModule run_passes(const std::vector<Pass>& passes, const IRModule& mod, const PassContext& context) {
  Array<Pass> list;
  for (const Pass& each : passes) list.push_back(verifies() ? verified(each) : each);
  return sequential(list)(mod, context);
}

IRModule lower_module(const IRModule& mod, bool simple_mode, const PassContext& context) {
  return run_passes(lowering_passes(simple_mode, context), mod, context);
}

std::vector<Pass> mixed_passes(const IRModule& mod, const Target& target, const PassContext& context) {
  Passes out{pass("BindTarget", target), pass("VerifyMemory")};
  if (target->kind->default_device_type == kDLCPU) out.push_back(pass("SpecializeStrides"));
  if (mod->functions.size() == 1) out.push_back(pass("AnnotateEntryFunc"));
  if (context.flag("tir.detect_global_barrier")) out.push_back(pass("ThreadSync", "global"));
  for (const char* scope : {"shared", "shared.dyn"}) out.push_back(pass("ThreadSync", scope));
  out.push_back(pass("MergeDynamicSharedMemoryAllocations"));
  out.push_back(pass("ThreadSync", "warp"));
  out.push_back(pass("InferFragment"));
  out.push_back(pass("LowerThreadAllreduce"));
  if (context.flag("tir.use_async_copy")) out.push_back(pass("InjectPTXAsyncCopy"));
  out.push_back(target.option("unpacked-api").value_or("0") == "1" ? pass("MakeUnpackedAPI")
                                                                   : pass("MakePackedAPI", -1));
  out.push_back(pass("SplitHostDevice"));
  return out;
}

std::vector<Pass> host_passes(const Target& host, const PassContext& context) {
  Passes out{keep_functions(false), pass("BindTarget", host), pass("HoistCheckedIndex"), pass("LowerTVMBuiltin"),
             pass("LowerCustomDatatypes")};
  if (host->kind->name == "llvm") out.push_back(pass("MaskVectorTails"));
  for (const char* name : {"LowerIntrin", "LowerDeviceStorageAccessInfo", "CombineContextCall"})
    out.push_back(pass(name));
  if (context.flag("tir.disable_assert")) out.push_back(pass("SkipAssert"));
  return out;
}

std::vector<Pass> device_passes(const Target& target, const PassContext&) {
  return {keep_functions(true),         pass("BindTarget", target),           pass("LowerWarpMemory"), pass("Simplify"),
          pass("LowerCustomDatatypes"), pass("LowerDeviceStorageAccessInfo"), pass("LowerIntrin")};
}

}  // namespace tessera

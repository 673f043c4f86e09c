#include "tir/lower.h"

#include "tir/analysis/verify.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

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
  Passes out{
      pass(cast_stores),
      pass(inject_prefetch),
      pass(texture_flatten),
      pass(storage_flatten, kCacheLineBytes, context.flag("tir.instrument_bound_checkers")),
  };
  for (const Pass& each : block_passes()) out.push_back(each);
  out.push_back(pass(flatten_buffer));
  // both
  out.push_back(pass(bf16_legalize));
  out.push_back(narrow_data_type_pass(kIndexBits));
  out.push_back(pass(simplify));
  return out;
}

/// Loop kinds other than serial, parallel and threads disappear; memory is shared.
Passes phase_2(bool simple_mode, const PassContext& context) {
  Passes out;
  if (!simple_mode) out.push_back(pass(loop_partition));
  out.push_back(pass(vectorize_loop, !context.flag("tir.disable_vectorize")));
  out.push_back(pass(inject_virtual_thread));
  out.push_back(pass(inject_double_buffer));
  if (!context.flag("tir.disable_storage_rewrite")) out.push_back(pass(storage_rewrite));
  out.push_back(pass(lower_vtcm_alloc));
  if (context.flag("tir.use_async_copy")) out.push_back(pass(lower_async_dma));
  out.push_back(pass(unroll_loop));
  return out;
}

/// Clean-up.
Passes phase_3() {
  return {
      pass(renormalize_split_pattern), pass(simplify),           pass(remove_no_op),
      pass(rewrite_unsafe_select),     pass(hoist_if_then_else),
  };
}

/// What comes after the user's last passes.
Passes ending(const PassContext& context) {
  Passes out;
  if (context.flag("tir.instrument_bound_checkers")) out.push_back(pass(instrument_bound_checkers));
  out.push_back(pass(common_subexpr_elim, !context.flag("tir.disable_cse_tir"),
                     context.flag("tir.enable_equiv_terms_in_cse_tir")));
  return out;
}

/// In tests (TESSERA_VERIFY=1), every pass is checked to leave well-formed functions.
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
  return pass(filter, typed("keep", [device](PrimFunc function) {
                int64_t convention = function->attrs.get_int(attr::kCallingConv, 0);
                return (convention == static_cast<int64_t>(CallingConv::DeviceKernelLaunch)) == device;
              }));
}

}  // namespace

std::vector<Pass> block_passes() {
  return {
      pass(lower_cross_thread_reduction), pass(lower_init_block),
      pass(plan_buffer_allocation),       pass(convert_blocks_to_opaque),
      pass(unify_thread_binding),         pass(manifest_local_stage),
      pass(compact_buffer_allocation),    pass(lower_match_buffer),
      pass(inject_software_pipeline),     pass(mark_guards),
      pass(lower_opaque_block),
  };
}

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
  for (const Pass& each : passes) list.push_back(verifies_passes() ? verified(each) : each);
  return sequential(list)(mod, context);
}

IRModule lower_module(const IRModule& mod, bool simple_mode, const PassContext& context) {
  return run_passes(lowering_passes(simple_mode, context), mod, context);
}

std::vector<Pass> mixed_passes(const IRModule& mod, const Target& target, const PassContext& context) {
  Passes out{pass(bind_target, target), pass(verify_memory)};
  if (target->kind->default_device_type == kDLCPU) out.push_back(pass(specialize_strides));
  if (mod->functions.size() == 1) out.push_back(pass(annotate_entry_func));
  if (context.flag("tir.detect_global_barrier")) out.push_back(pass(thread_sync, "global"));
  for (const char* scope : {"shared", "shared.dyn"}) out.push_back(pass(thread_sync, scope));
  out.push_back(pass(merge_dynamic_shared_memory));
  out.push_back(pass(thread_sync, "warp"));
  out.push_back(pass(infer_fragment));
  out.push_back(pass(lower_thread_allreduce));
  if (context.flag("tir.use_async_copy")) out.push_back(pass(inject_ptx_async_copy));
  out.push_back(target.option("unpacked-api").value_or("0") == "1" ? pass(make_unpacked_api)
                                                                   : pass(make_packed_api, -1));
  out.push_back(pass(split_host_device));
  return out;
}

std::vector<Pass> host_passes(const Target& host, const PassContext& context) {
  Passes out{keep_functions(false), pass(bind_target, host), pass(hoist_checked_index), pass(lower_tvm_builtin),
             pass(lower_custom_datatypes)};
  if (host->kind->name == "llvm") out.push_back(pass(mask_vector_tails));
  for (const Pass& last : {pass(lower_intrin), pass(lower_device_storage_access_info), pass(combine_context_call)})
    out.push_back(last);
  if (context.flag("tir.disable_assert")) out.push_back(pass(skip_assert));
  return out;
}

std::vector<Pass> device_passes(const Target& target, const PassContext&) {
  return {keep_functions(true), pass(bind_target, target),    pass(lower_warp_memory),
          pass(simplify),       pass(lower_custom_datatypes), pass(lower_device_storage_access_info),
          pass(lower_intrin)};
}

}  // namespace tessera

// The graph passes of a build, in order. Each runs when the level of the context reaches its own.

#include <algorithm>

#include "byoc/libraries.h"
#include "driver/relay_build.h"
#include "driver/vm/dynamic_extents.h"
#include "kernel/rules/searched.h"
#include "relay/attrs/annotation.h"
#include "relay/scopes.h"
#include "relay/transform/passes.h"
#include "relay/type/infer_type.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

/// True where a program says of a value on which device it is.
bool mentions_devices(const IRModule& mod) {
  bool found = false;
  for (const auto& [var, function] : mod->functions) {
    if (!function.as<FunctionNode>()) continue;
    post_order(function, [&](const Expr& expr) {
      auto* call = expr.as<Call>();
      found |= call && (call->attrs.as<OnDeviceAttrs>() || call->attrs.as<DeviceCopyAttrs>());
    });
  }
  return found;
}

/// Runs whatever the level of the context.
Pass always(const Pass& pass) { return module_pass(make_pass_info(0, pass->pass_info->name), pass->run); }

/// Nothing: for a pass that is left out.
Pass nothing(const char* name) {
  return module_pass(make_pass_info(0, name), [](IRModule mod, const PassContext&) { return mod; });
}

bool is_cpu(const Target& target) { return target && target->kind->name == "llvm"; }
bool is_gpu(const Target& target) { return target && target.has_key("gpu"); }

/// Left out where schedules are searched: they are found for operators in their plain layouts.
Pass unless_searched(const Pass& pass) {
  return module_pass(pass->pass_info, [pass](IRModule mod, const PassContext& context) {
    return context.flag(kernel::kUseAutoScheduler) ? mod : pass->run(std::move(mod), context);
  });
}

/// Contractions for libraries that the target names with `-libs=`.
Pass use_libraries(const Target& target) {
  return module_pass(make_pass_info(0, "UseLibraries"), [target](const IRModule& mod, const PassContext&) {
    return infer_type(byoc::hand_to_libraries(infer_type(mod), target));
  });
}

/// What a partition gave to libraries of CUDA is kernels of our own table.
Pass use_vendor_partitions() {
  return module_pass(make_pass_info(0, "UseVendorPartitions"), [](const IRModule& mod, const PassContext&) {
    return byoc::has_vendor_partitions(mod) ? infer_type(byoc::vendor_kernels(mod)) : mod;
  });
}

/// Matmuls of the same data become one. On GPUs weights may have been cast to another precision, which is folded first.
Pass combine_contractions(const Target& target) {
  if (!target) return nothing("CombineProducts");
  return is_gpu(target) ? sequential({fold_constant_pass(false), combine_products_pass()}) : combine_products_pass();
}

/// Functions of a module that are kernels, external or primitive ones, however they came into it: their calls get the
/// functions themselves when operators are fused.
IRModule inline_kernels_later(const IRModule& mod) {
  IRModule out = mod.copy();
  const ObjectRef one = int_imm(DataType::Int(32), 1);
  for (const auto& [var, function] : mod->functions) {
    auto* relay = function.as<FunctionNode>();
    if (!relay || var->name_hint == "main" || !is_kernel(relay)) continue;
    FunctionNode kernel(*relay);
    kernel.attrs = relay->attrs.with(attr::kPrimitive, one).with(attr::kInline, one);
    if (!relay->attrs.has(attr::kCompiler)) kernel.attrs = kernel.attrs.with(attr::kSkipOptimization, one);
    out.update(var, make(std::move(kernel)));
  }
  return out;
}

/// Dynamic extents that are equal can be seen to be: groups of operators that become one kernel depend on it.
Pass name_extents() {
  return module_pass(make_pass_info(0, "NameExtents"),
                     [](const IRModule& mod, const PassContext&) { return name_dynamic_extents(infer_type(mod)); });
}

/// Devices of all values, where a program can have several.
Pass plan_several_devices(const CompilationConfig& config) {
  Pass plan = pass(plan_devices, config);
  return module_pass(plan->pass_info, [plan, config](IRModule mod, const PassContext& context) {
    bool is_plain = config->optional_homogeneous_target && !mentions_devices(mod);
    return is_plain ? mod : plan->run(std::move(mod), context);
  });
}

/// What computes the same in fewer or cheaper operators. Rules that depend on a target are asked only where there is one.
Array<Pass> simplifications(const Target& target) {
  constexpr int kBranches = 3;
  return {
      to_basic_block_normal_form_pass(),  // a value that two branches share is computed before both
      is_cpu(target) ? pass_for(target, widen_floats) : nothing("WidenFloats"),
      target ? pass_for(target, integer_contractions) : nothing("IntegerProducts"),
      always(pass(legalize, "FTVMQnnLegalize")), always(pass(legalize, "FTVMQnnCanonicalize")),
      target ? pass_for(target, legalize, "FTVMLegalize") : nothing("Legalize"), pass(simplify_inference),
      pass(eliminate_common_subexpr, nullptr), pass(combine_parallel_conv2d, kBranches),
      pass(combine_parallel_dense, kBranches, true), pass(combine_parallel_batch_matmul, kBranches),
      combine_contractions(target), fold_constant_pass(false), fold_scale_axis_pass(), pass(simplify_expr),
      pass(canonicalize_cast), pass(canonicalize_ops), pass(flatten_atrous_conv), infer_type_pass(),
      is_cpu(target) ? pass_for(target, pad_channels) : nothing("PadChannels"),
      target ? unless_searched(pass_for(target, alter_op_layout)) : nothing("AlterOpLayout"),
      target ? unless_searched(pass_for(target, pack_weights)) : nothing("PackWeights"),
      is_cpu(target) ? pass(widen_weights) : nothing("WidenWeights"),
      // a weight that many use, as steps of a recurrent layer do, is packed once
      pass(eliminate_common_subexpr, nullptr), pass(fast_math),
      fold_constant_pass(false),  // weights that were scaled, packed or concatenated
  };
}

}  // namespace

IRModule fuse(const IRModule& mod) {
  return sequential({infer_type_pass(), pass(fuse_ops, -1), infer_type_pass()})(mod);
}

Pass optimization_passes(const CompilationConfig& config) {
  Target target = config->optional_homogeneous_target;
  Array<Pass> passes{module_pass(make_pass_info(0, "InlineKernelsLater"),
                                 [](const IRModule& mod, const PassContext&) { return inline_kernels_later(mod); })};
  if (byoc::has_libraries(target)) passes.push_back(use_libraries(target));
  if (target && target->kind->name == "cuda") passes.push_back(use_vendor_partitions());
  for (const Pass& each : simplifications(target)) passes.push_back(each);
  int64_t most_args = target ? target.int_option("max_function_args", 0) : 0;
  if (most_args > 0) passes.push_back(pass(split_args, static_cast<int>(most_args)));
  passes.push_back(pass(split_dynamic_concats));
  if (is_cpu(target) || is_gpu(target)) passes.push_back(pass(sink_views));
  passes.push_back(plan_several_devices(config));
  passes.push_back(name_extents());
  if (is_cpu(target))
    for (const Pass& each :
         {pass_for(target, fuse_attention), pass_for(target, fuse_rows), pass(fuse_resample), pass(merge_reduced_axes)})
      passes.push_back(each);
  if (is_gpu(target))
    for (const Pass& each : {pass_for(target, fuse_attention), pass_for(target, fuse_rows)}) passes.push_back(each);
  for (const Pass& last : {pass(fuse_ops, -1), infer_type_pass(), always(pass(inline_globals)), infer_type_pass(),
                           always(pass(lift_constants)), infer_type_pass(), always(pass(label_kernels))})
    passes.push_back(last);
  return sequential(passes);
}

}  // namespace tessera::relay

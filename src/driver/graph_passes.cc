// The graph passes of a build, in order. Each runs when the level of the context reaches its own.

#include <algorithm>

#include "driver/relay_build.h"
#include "relay/attrs/annotation.h"
#include "relay/walk.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

template <class... A>
Pass pass(const char* name, A&&... args) {
  return get_global(std::string("relay._transform.") + name)(std::forward<A>(args)...).template to<Pass>();
}

/// Rules of operators may ask for the current target.
class WithTarget {
 public:
  explicit WithTarget(const Target& target) { Target::enter(target); }
  ~WithTarget() { Target::exit(); }
  WithTarget(const WithTarget&) = delete;
  WithTarget& operator=(const WithTarget&) = delete;
};

Pass for_target(const Pass& pass, const Target& target) {
  return module_pass(pass->pass_info, [pass, target](IRModule mod, const PassContext& context) {
    WithTarget scope(target);
    return pass->run(std::move(mod), context);
  });
}

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

/// Devices of all values, where a program can have several.
Pass plan_devices(const CompilationConfig& config) {
  Pass plan = pass("PlanDevices", config);
  return module_pass(plan->pass_info, [plan, config](IRModule mod, const PassContext& context) {
    bool is_plain = config->primitive_targets.size() == 1 && !mentions_devices(mod);
    return is_plain ? mod : plan->run(std::move(mod), context);
  });
}

/// What computes the same in fewer or cheaper operators. Rules that depend on a target are asked only where there is one.
Array<Pass> simplifications(const Target& target) {
  constexpr int kBranches = 3;
  return {
      pass("ToBasicBlockNormalForm"),  // a value that two branches share is computed before both
      is_cpu(target) ? for_target(pass("WidenFloats"), target) : nothing("WidenFloats"),
      target ? for_target(pass("IntegerProducts"), target) : nothing("IntegerProducts"),
      always(pass("Legalize", String("FTVMQnnLegalize"))),
      always(pass("Legalize", String("FTVMQnnCanonicalize"))),
      target ? for_target(pass("Legalize", String("FTVMLegalize")), target) : nothing("Legalize"),
      pass("SimplifyInference"),
      pass("EliminateCommonSubexpr", nullptr),
      pass("CombineParallelConv2D", kBranches),
      pass("CombineParallelDense", kBranches, true),
      pass("CombineParallelBatchMatmul", kBranches),
      is_cpu(target) ? pass("CombineProducts") : nothing("CombineProducts"),
      pass("FoldConstant", false),
      pass("FoldScaleAxis"),
      pass("SimplifyExpr"),
      pass("CanonicalizeCast"),
      pass("CanonicalizeOps"),
      pass("FlattenAtrousConv"),
      pass("InferType"),
      target ? for_target(pass("AlterOpLayout"), target) : nothing("AlterOpLayout"),
      target ? for_target(pass("PackWeights"), target) : nothing("PackWeights"),
      is_cpu(target) ? pass("WidenWeights") : nothing("WidenWeights"),
      pass("EliminateCommonSubexpr",
           nullptr),  // a weight that many use, as steps of a recurrent layer do, is packed once
      pass("FastMath"),
      pass("FoldConstant", false),  // weights that were scaled, packed or put together
  };
}

}  // namespace

IRModule fuse(const IRModule& mod) {
  return sequential({pass("InferType"), pass("FuseOps", -1), pass("InferType")})(mod);
}

Pass optimization_passes(const CompilationConfig& config) {
  Target target = config->optional_homogeneous_target;
  Array<Pass> passes = simplifications(target);
  int64_t most_args = target ? target.int_option("max_function_args", 0) : 0;
  if (most_args > 0) passes.push_back(pass("SplitArgs", most_args));
  passes.push_back(pass("SplitOpenJoins"));
  if (is_cpu(target)) passes.push_back(pass("SinkViews"));
  passes.push_back(plan_devices(config));
  if (is_cpu(target))
    for (const char* name : {"FuseAttention", "FuseRows", "FuseResample", "JoinReducedAxes"})
      passes.push_back(pass(name));
  for (const Pass& last : {pass("FuseOps", -1), pass("InferType"), always(pass("Inline")), pass("InferType"),
                           always(pass("LabelKernels"))})
    passes.push_back(last);
  return sequential(passes);
}

}  // namespace tessera::relay

// The graph passes of a build, in order. Each runs when the level of the context reaches its own.

#include <algorithm>

#include "driver/relay_build.h"
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

/// Runs whatever the level of the context.
Pass always(const Pass& pass) { return module_pass(make_pass_info(0, pass->pass_info->name), pass->run); }

/// What computes the same in fewer or cheaper operators.
Array<Pass> simplifications(const Target& target) {
  constexpr int kBranches = 3;
  return {
      pass("ToBasicBlockNormalForm"),  // a value that two branches share is computed before both
      for_target(pass("Legalize", String("FTVMLegalize")), target),
      pass("SimplifyInference"),
      pass("EliminateCommonSubexpr", nullptr),
      pass("CombineParallelConv2D", kBranches),
      pass("CombineParallelDense", kBranches, true),
      pass("CombineParallelBatchMatmul", kBranches),
      pass("FoldConstant", false),
      pass("FoldScaleAxis"),
      pass("SimplifyExpr"),
      pass("CanonicalizeCast"),
      pass("CanonicalizeOps"),
      pass("FlattenAtrousConv"),
      pass("InferType"),
      for_target(pass("AlterOpLayout"), target),
      pass("FastMath"),
      pass("FoldConstant", false),  // weights that were scaled, packed or put together
  };
}

}  // namespace

IRModule fuse(const IRModule& mod) {
  return sequential({pass("InferType"), pass("FuseOps", -1), pass("InferType")})(mod);
}

Pass optimization_passes(const Target& target) {
  Array<Pass> passes = simplifications(target);
  if (int64_t most = target.int_option("max_function_args", 0); most > 0) passes.push_back(pass("SplitArgs", most));
  for (const Pass& last :
       {pass("FuseOps", -1), pass("InferType"), always(pass("Inline")), pass("InferType"), always(pass("LabelOps"))})
    passes.push_back(last);
  return sequential(passes);
}

}  // namespace tessera::relay

#pragma once
// From a Relay module to something that runs.

#include <functional>

#include "driver/executor/function_info.h"
#include "ir/pass/pass.h"
#include "runtime/module/module.h"

namespace tessera::relay {

/// Replaces the parameters of those names by constants. A name that two parameters share is an error; a name that no
/// parameter has is left out.
Function bind_params_by_name(const Function& function, const Map<String, NDArray>& params);

/// The graph passes of `build`, in order, for the optimisation level of the current context. Where there are several
/// targets, or the program says where its values are, calls and variables afterwards tell their device.
Pass optimization_passes(const CompilationConfig& config);

/// The functions that "main" reaches, after those passes.
IRModule optimize(const IRModule& mod, const CompilationConfig& config);
/// Groups of operators as primitive functions, typed: the last graph passes of every build.
IRModule fuse(const IRModule& mod);

struct BuiltGraph {
  std::string graph_json;
  Map<String, NDArray> params;
  Module library;
  IRModule optimized;
  std::function<Map<String, FunctionInfo>()>
      functions;  // made when asked for: kernels that were cached are lowered then
};
/// Plans and compiles the function "main" of a module whose operators are fused.
BuiltGraph compile_fused(const IRModule& fused, const CompilationConfig& config, const std::string& model_name);
/// Optimises, plans and compiles the function "main".
BuiltGraph build_graph(const IRModule& mod, const CompilationConfig& config, const Map<String, NDArray>& params,
                       const std::string& model_name);
BuiltGraph build_graph(const IRModule& mod, const Target& target, const Map<String, NDArray>& params,
                       const std::string& model_name);

}  // namespace tessera::relay

#pragma once
// Passes over the Relay functions of a module. Each file of this folder defines one pass as a plain function and
// registers its constructor as the global "relay._transform.<Name>".

#include "ir/pass/pass.h"
#include "relay/expr.h"
#include "runtime/registry.h"

namespace tessera::relay {

/// Key "relay.FunctionPass": applied to each Relay function of a module, except those marked SkipOptimization and those
/// compiled elsewhere. Types are inferred before the first function and after the last.
struct FunctionPassNode : PassNode {
  static constexpr NodeInfo info{"relay.FunctionPass", &PassNode::info, Role::Identity};
  static void fields(auto) {}
};

using FunctionChange = std::function<Function(const Function&, const IRModule&, const PassContext&)>;
Pass function_pass(PassInfo info, FunctionChange change);
/// The same without a look at the module.
Pass function_pass(String name, int opt_level, std::function<Function(const Function&)> change);

}  // namespace tessera::relay

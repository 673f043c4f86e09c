#pragma once
// What a function has to be to become a pass over the Relay functions of a module: `Function f(const Function&, ...)`, or
// `Expr f(const Expr&, ...)` over the bodies alone.

#include "ir/pass/table.h"
#include "relay/analysis/properties.h"
#include "relay/expr.h"

namespace tessera::relay {

/// Key "relay.FunctionPass": applied to each Relay function of a module, except those marked SkipOptimization and those
/// compiled elsewhere. Types are inferred before the first function and after the last.
struct FunctionPassNode : PassNode {
  static constexpr NodeInfo info{"relay.FunctionPass", &PassNode::info, Role::Identity};
  static void fields(auto) {}
};

using FunctionChange = std::function<Function(const Function&, const IRModule&, const PassContext&)>;
Pass function_pass(PassInfo info, FunctionChange change);
}  // namespace tessera::relay

namespace tessera {

template <>
struct PassOver<relay::Function> {
  static const Property* holds() { return &relay::all_types_known; }
  static Pass make(PassInfo info, relay::FunctionChange change) {
    return relay::function_pass(std::move(info), std::move(change));
  }
};
template <>
struct PassOver<relay::Expr> {
  static const Property* holds() { return &relay::all_types_known; }
  template <class F>
  static Pass make(PassInfo info, F change) {
    return relay::function_pass(
        std::move(info),
        [change](const relay::Function& function, const IRModule& mod, const PassContext& context) -> relay::Function {
          return with(function, &relay::FunctionNode::body, change(function->body, mod, context));
        });
  }
};

}  // namespace tessera

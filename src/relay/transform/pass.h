#pragma once
// What a function has to be to become a pass over the Relay functions of a module: `Function f(const Function&, ...)`, or
// `Expr f(const Expr&, ...)` over the bodies alone. What it is compiled for may stand between subject and options:
// `Expr f(const Expr&, const GraphEnvironment&, ...)`.

#include "ir/pass/table.h"
#include "relay/analysis/properties.h"
#include "relay/graph_environment.h"

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

template <class R, class S, class... O>
  requires(!std::same_as<R, Pass>)
struct PassFunction<R (*)(S, const relay::GraphEnvironment&, O...)>
    : detail::WithOptions<R (*)(S, const relay::GraphEnvironment&, O...), std::remove_cvref_t<O>...> {
  using Function = R (*)(S, const relay::GraphEnvironment&, O...);
  /// For the target that is current when the pass runs, as Python means it.
  static Pass make(Function function, std::remove_cvref_t<O>... options) {
    return make_for(&Target::current, function, std::move(options)...);
  }
  static Pass make_for(std::function<Target()> target, Function function, std::remove_cvref_t<O>... options) {
    return pass_over<R>(function,
                        [target = std::move(target), function, ... options = std::move(options)](
                            auto&& subject, const IRModule&, const PassContext& context) -> R {
                          return function(std::forward<decltype(subject)>(subject), {target(), context}, options...);
                        });
  }
};

/// The pass that `function` is, with these options, for a target: `pass_for(target, alter_op_layout)`.
template <class R, class... A, class... O>
Pass pass_for(const Target& target, R (*function)(A...), O&&... options) {
  return PassFunction<R (*)(A...)>::make_for([target] { return target; }, function, std::forward<O>(options)...);
}

}  // namespace tessera

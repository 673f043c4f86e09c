#pragma once
// Passes over the loop programs of a module. Each file of this folder defines one pass as a plain function and
// registers its constructor as the global "tir.transform.<Name>"; `pass("<Name>")` makes it.

#include <type_traits>

#include "ir/pass/pass.h"
#include "runtime/registry.h"
#include "tir/function.h"

namespace tessera {

/// Key "tir.PrimFuncPass": applied to each PrimFunc of a module; a function it returns empty is removed.
struct PrimFuncPassNode : PassNode {
  static constexpr NodeInfo info{"tir.PrimFuncPass", &PassNode::info, Role::Identity};
  static void fields(auto) {}
};

using PrimFuncChange = std::function<PrimFunc(const PrimFunc&, const IRModule&, const PassContext&)>;
Pass prim_func_pass(PassInfo info, PrimFuncChange change);

/// A pass from a function of (PrimFunc) or (PrimFunc, PassContext); its level is 0.
template <class F>
Pass prim_func_pass(String name, F change) {
  return prim_func_pass(make_pass_info(0, std::move(name)),
                        [change](const PrimFunc& function, const IRModule&, const PassContext& context) -> PrimFunc {
                          if constexpr (std::is_invocable_v<F, const PrimFunc&>) return change(function);
                          else return change(function, context);
                        });
}

/// A pass from a function of statements.
template <class F>
Pass body_pass(String name, F change) {
  return prim_func_pass(std::move(name),
                        [change](const PrimFunc& function) { return with_body(function, change(function->body)); });
}

/// The pass registered as "tir.transform.<name>".
template <class... A>
Pass pass(const char* name, A&&... args) {
  return get_global(std::string("tir.transform.") + name)(std::forward<A>(args)...).template to<Pass>();
}

/// True for functions that a TE schedule was lowered to: their memory is BufferRealize, not blocks.
inline bool is_from_te(const PrimFunc& function) { return function->attrs.is_true("from_legacy_te_schedule"); }

}  // namespace tessera

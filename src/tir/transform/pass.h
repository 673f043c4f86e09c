#pragma once
// What a function has to be to become a pass over the loop programs of a module: `PrimFunc f(const PrimFunc&, ...)`, or
// `Stmt f(const Stmt&, ...)` over the bodies alone.

#include "ir/pass/table.h"
#include "tir/function.h"

namespace tessera {

/// Key "tir.PrimFuncPass": applied to each PrimFunc of a module; a function it returns empty is removed.
struct PrimFuncPassNode : PassNode {
  static constexpr NodeInfo info{"tir.PrimFuncPass", &PassNode::info, Role::Identity};
  static void fields(auto) {}
};

using PrimFuncChange = std::function<PrimFunc(const PrimFunc&, const IRModule&, const PassContext&)>;
Pass prim_func_pass(PassInfo info, PrimFuncChange change);

template <>
struct PassOver<PrimFunc> {
  static Pass make(PassInfo info, PrimFuncChange change) { return prim_func_pass(std::move(info), std::move(change)); }
};
template <>
struct PassOver<Stmt> {
  template <class F>
  static Pass make(PassInfo info, F change) {
    return prim_func_pass(std::move(info),
                          [change](const PrimFunc& function, const IRModule& mod, const PassContext& context) {
                            return with_body(function, change(function->body, mod, context));
                          });
  }
};

/// True for functions that a TE schedule was lowered to: their memory is BufferRealize, not blocks.
inline bool is_from_te(const PrimFunc& function) { return function->attrs.is_true("from_legacy_te_schedule"); }

}  // namespace tessera

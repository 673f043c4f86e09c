#pragma once
// Walking and rewriting programs by the field table. Handlers are lambdas on the node types a pass cares about:
//
//   Stmt out = rewrite(body, [](Rewriter& self, const For* loop) -> Stmt { ... self(loop->body) ... });
//   walk(body, [&](const BufferLoad* load) { ... });                     // after the children
//
// A walk enters every reference field that is not flagged Ignored, Opaque or Binds. Programs of any depth are fine.

#include <functional>
#include <unordered_map>

#include "ir/prim/expr.h"

namespace tessera {

/// Rewrites bottom-up by default; a handler takes over its node type completely and recurses itself through `self`.
/// A handler for a family (VarNode) serves its members (SizeVarNode) unless they have their own.
class Rewriter {
 public:
  using Handler = std::function<ObjectRef(Rewriter&, const Object*)>;

  Rewriter() = default;
  template <class... F>
    requires(sizeof...(F) > 0 && !(std::is_base_of_v<Rewriter, std::remove_cvref_t<F>> || ...))
  explicit Rewriter(F... handlers) {
    (on(std::move(handlers)), ...);
  }
  virtual ~Rewriter() = default;

  /// Adds a handler `R(Rewriter&, const Node*)` or `R(const Node*)`.
  template <class F>
  void on(F handler) {
    add(std::move(handler), &F::operator());
  }
  /// Off: results are not shared between occurrences of the same node, for rewrites that depend on where they are.
  void share_results(bool on) { share_ = on; }

  ObjectRef operator()(const ObjectRef& node) { return visit(node); }
  template <class R>
    requires(std::is_base_of_v<Object, typename R::Node> && !std::is_same_v<R, ObjectRef>)
  R operator()(const R& node) {
    ObjectRef out = visit(node);
    return R(static_cast<const typename R::Node*>(out.get()));
  }
  /// `node` with its children rewritten, no handler asked for the node itself.
  template <class T>
  Ref<T> children(const T* node) {
    ObjectRef out = rewrite_children(node);
    return Ref<T>(static_cast<const T*>(out.get()));
  }

 private:
  ObjectRef visit(const ObjectRef& node);
  ObjectRef rewrite_children(const Object* node);
  const Handler* find(const Object* node);
  void add_handler(const NodeInfo* family, Handler handler);

  template <class F, class C, class R, class T>
  void add(F handler, R (C::*)(Rewriter&, const T*) const) {
    add_handler(&T::info, [handler](Rewriter& self, const Object* node) -> ObjectRef {
      return handler(self, static_cast<const T*>(node));
    });
  }
  template <class F, class C, class R, class T>
  void add(F handler, R (C::*)(const T*) const) {
    add_handler(&T::info,
                [handler](Rewriter&, const Object* node) -> ObjectRef { return handler(static_cast<const T*>(node)); });
  }

  std::unordered_map<const NodeInfo*, Handler> handlers_;
  std::unordered_map<const NodeInfo*, const Handler*> resolved_;
  std::unordered_map<const Object*, std::pair<ObjectRef, ObjectRef>> done_;  // the key is kept alive
  bool share_ = true;
};

template <class R, class... F>
R rewrite(const R& root, F... handlers) {
  Rewriter rewriter(std::move(handlers)...);
  return rewriter(root);
}

/// Calls the handlers on each node once, children before parents.
using NodeVisitor = std::function<void(const Object*)>;
void post_order(const ObjectRef& root, const NodeVisitor& visit);
/// Calls `visit` on each node once, parents first; children are entered only where it returns true.
void pre_order(const ObjectRef& root, const std::function<bool(const Object*)>& visit);

namespace detail {
template <class T>
struct WalkArgument : WalkArgument<decltype(&T::operator())> {};
template <class C, class R, class T>
struct WalkArgument<R (C::*)(const T*) const> {
  using type = T;
};
template <class C, class R, class T>
struct WalkArgument<R (C::*)(const T*)> {
  using type = T;
};
template <class F>
void offer(F& handler, const Object* node) {
  using T = typename WalkArgument<F>::type;
  if (node->is_a(T::info)) handler(static_cast<const T*>(node));
}
}  // namespace detail

template <class... F>
void walk(const ObjectRef& root, F... handlers) {
  post_order(root, [&](const Object* node) { (detail::offer(handlers, node), ...); });
}

/// Replaces free variables. `Let` and loop variables inside are left alone unless listed.
template <class R>
R substitute(const R& root, std::function<PrimExpr(const Var&)> replace) {
  return rewrite(root, [replace](const VarNode* var) -> PrimExpr {
    PrimExpr out = replace(Var(var));
    return out ? out : PrimExpr(var);
  });
}
template <class R>
R substitute(const R& root, const Map<Var, PrimExpr>& values) {
  return substitute(root, [&](const Var& var) { return values.get_or_null(var); });
}

/// True when `var` occurs in `root`.
bool uses_var(const ObjectRef& root, const std::function<bool(const VarNode*)>& is_it);
inline bool uses_var(const ObjectRef& root, const Var& var) {
  return uses_var(root, [&](const VarNode* v) { return v == var.get(); });
}

}  // namespace tessera

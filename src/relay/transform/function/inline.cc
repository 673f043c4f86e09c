// Calls of functions that are marked Inline become their bodies:
//
//   def @f(%a, Inline=1) { exp(%a) }   def @main(%x) { add(@f(%x), %x) }   =>   def @main(%x) { add(exp(%x), %x) }
//
// A marked function that is then used nowhere is dropped. One that calls itself, directly or not, stays as it is. What is
// one kernel, by an external code generator or as a primitive function, stays a function: only its name goes.

#include <unordered_set>

#include "ir/rewrite.h"
#include "relay/rename.h"
#include "relay/scopes.h"
#include "relay/transform/passes.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

class Inliner {
 public:
  explicit Inliner(IRModule mod) : mod_(std::move(mod)) {}

  IRModule run() {
    IRModule out = mod_.copy();
    for (const auto& [var, function] : mod_.sorted_functions())
      if (function.as<FunctionNode>()) out.update(var, opened(var));
    std::unordered_set<std::string> used;
    for (const auto& [_, function] : out->functions) {
      if (!function.as<FunctionNode>()) continue;
      post_order(function, [&](const Expr& expr) {
        if (auto* global = expr.as<GlobalVarNode>()) used.insert(std::string(global->name_hint));
      });
    }
    for (const auto& [var, function] : mod_->functions)
      if (inlined_.count(std::string(var->name_hint)) && !used.count(std::string(var->name_hint))) out.remove(var);
    return out;
  }

 private:
  /// The function to put in place of a global, or none.
  Function marked(const GlobalVarNode* global) {
    GlobalVar var = mod_.find_global_var(global->name_hint);
    auto* function = var ? mod_->functions[var].as<FunctionNode>() : nullptr;
    if (!function || !function->attrs.is_true(attr::kInline) || open_.count(var.get())) return nullptr;
    Function body = opened(var);
    if (calls_itself_.count(var.get())) return nullptr;
    inlined_.insert(std::string(global->name_hint));
    return body;
  }

  /// The function with all that it calls put in.
  Function opened(const GlobalVar& var) {
    if (auto it = done_.find(var.get()); it != done_.end()) return it->second;
    Function function = downcast<Function>(mod_->functions[var]);
    open_.insert(var.get());
    Rewriter rewriter;
    rewriter.on([&](Rewriter& self, const Call* call) -> Expr {
      Array<Expr> args;
      for (const Expr& arg : call->args) args.push_back(self(arg));
      auto* global = call->op.as<GlobalVarNode>();
      Function callee = global ? marked(global) : Function(nullptr);
      if (callee && is_kernel(callee.get())) return make_call(callee, args, call->attrs, call->type_args);
      if (callee) return inlined_body(callee, args);
      note_cycle(global);
      Call copy(*call);
      if (!global) copy.op = self(call->op);
      copy.args = args;
      return make(std::move(copy));
    });
    rewriter.on([&](const GlobalVarNode* global) -> Expr {
      Function callee = marked(global);
      if (callee) return with_fresh_binders(callee);
      note_cycle(global);
      return Expr(global);
    });
    Function out = with(function, &FunctionNode::body, rewriter(function->body));
    open_.erase(var.get());
    return done_[var.get()] = out;
  }

  /// A function met while it is itself being put together belongs to a cycle.
  void note_cycle(const GlobalVarNode* global) {
    GlobalVar var = global ? mod_.find_global_var(global->name_hint) : GlobalVar(nullptr);
    if (var && open_.count(var.get())) calls_itself_.insert(var.get());
  }

  IRModule mod_;
  std::unordered_map<const Object*, Function> done_;
  std::unordered_set<const Object*> open_, calls_itself_;
  std::unordered_set<std::string> inlined_;
};

}  // namespace

IRModule inline_globals(const IRModule& mod) { return Inliner(mod).run(); }

}  // namespace tessera::relay

// Local functions become global ones. What a function captures becomes the parameters of a global that makes the closure:
//
//   let %f = fn (%y) { add(%x, %y) }; %f(%x)
//     =>   def @lifted_name(%x, Closure=1) { fn (%y) { add(%x, %y) } }     let %f = @lifted_name(%x); %f(%x)
//
// One that captures nothing is moved as it is. Primitive functions and those compiled elsewhere are left where they are.

#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "relay/let_list.h"
#include "relay/rename.h"
#include "relay/scopes.h"
#include "relay/transform/passes.h"
#include "relay/type/infer_type.h"

namespace tessera::relay {
namespace {

class Lifter {
 public:
  explicit Lifter(IRModule mod) : mod_(std::move(mod)) {}

  IRModule run() {
    for (const auto& [var, function] : mod_.sorted_functions()) {
      auto* relay = function.as<FunctionNode>();
      if (!relay || relay->attrs.has(attr::kCompiler)) continue;
      auto* closure = relay->attrs.is_true(attr::kClosure) ? relay->body.as<FunctionNode>() : nullptr;
      Function out = closure ? with(relay, &FunctionNode::body, Expr(with_body(closure, lifted(closure->body))))
                             : with_body(relay, lifted(relay->body));
      mod_.update(var, out);
    }
    return mod_;
  }

 private:
  static Function with_body(const FunctionNode* function, const Expr& body) {
    return with(function, &FunctionNode::body, body);
  }

  Expr lifted(const Expr& root) {
    Rewriter rewriter;
    rewriter.on([&](const VarNode* var) -> Expr {
      auto it = recursive_.find(var);
      return it == recursive_.end() ? Expr(var) : it->second;
    });
    rewriter.on([&](Rewriter&, const FunctionNode* function) -> Expr { return lift(Function(function), nullptr); });
    rewriter.on([&](Rewriter& self, const Let* first) -> Expr {
      auto new_value = [&](const Let* let) -> Expr {
        auto* function = let->value.as<FunctionNode>();
        return function ? lift(Function(function), let->var) : self(let->value);
      };
      return rewrite_lets(first, new_value, self);
    });
    return rewriter(root);
  }

  /// What stands for the function where it was: the global, or a call of it with what it captures.
  Expr lift(const Function& function, const Var& self) {
    if (is_primitive(function.get()) || function->attrs.has(attr::kCompiler)) return function;
    Array<Var> captured;
    Array<Expr> args;
    bool is_recursive = false;
    for (const Var& var : free_vars(function)) {
      if (var.same_as(self)) {
        is_recursive = true;
        continue;
      }
      auto it = recursive_.find(var.get());  // a function around, by its own name: what that stands for is captured
      if (it != recursive_.end()) {
        for (const Var& inner : free_vars(it->second)) add(inner, &captured, &args);
        continue;
      }
      add(var, &captured, &args);
    }
    std::vector<TypeVar> free_types = free_type_vars(function);
    Array<TypeVar> types(free_types.begin(), free_types.end());
    GlobalVar global = fresh_global(function);
    bool is_closure = !captured.empty() || !types.empty();
    Expr here = is_closure ? make_call(global, args) : Expr(global);
    if (is_recursive) recursive_[self.get()] = here;
    Function body = with_body(function.get(), lifted(function->body));
    if (is_recursive) recursive_.erase(self.get());
    here->checked_type_ = function->checked_type_;
    if (!is_closure) {
      mod_.update(global, body);
      return here;
    }
    DictAttrs attrs(Map<String, ObjectRef>{{attr::kClosure, PrimExpr(1)}});
    Function maker = make_function(captured, body, function->checked_type_, types, attrs);
    // The captured variables stay bound where they were; the global has its own.
    mod_.update(global, downcast<Function>(with_fresh_binders(maker)));
    return here;
  }

  static void add(const Var& var, Array<Var>* captured, Array<Expr>* args) {
    for (const Var& known : *captured)
      if (known.same_as(var)) return;
    captured->push_back(var);
    args->push_back(var);
  }

  GlobalVar fresh_global(const Function& function) {
    auto hash = static_cast<uint64_t>(structural_hash(function, true));
    std::string name = "lifted_name" + std::to_string(hash);
    for (int i = 1; mod_.find_global_var(name); ++i) name = "lifted_name" + std::to_string(hash + i);
    GlobalVarNode out;
    out.name_hint = name;
    GlobalVar made = make(std::move(out));
    mod_.update(made, function);  // takes the name; the definition follows
    return made;
  }

  IRModule mod_;
  std::unordered_map<const Object*, Expr> recursive_;  // names of the functions around, and what stands for them
};

}  // namespace

IRModule lambda_lift(const IRModule& mod) { return infer_type(Lifter(infer_type(mod).copy()).run()); }

}  // namespace tessera::relay

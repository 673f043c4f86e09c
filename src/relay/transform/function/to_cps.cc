// Continuation passing style: every function takes one parameter more, what is to be done with its value, and never
// returns:
//
//   fn (%x) -> T { @f(%g(%x)) }   =>   fn [answer](%x, %k: fn (T) -> answer) -> answer { %g(%x, fn (%v) { @f_cps(%v, %k) }) }
//
// Operators, constructors, tuples and references stay direct. Functions of the module that are called get a counterpart
// named with "_cps".

#include "base/stack.h"
#include "ir/rewrite.h"
#include "relay/let_list.h"
#include "relay/make.h"
#include "relay/scopes.h"
#include "relay/transform/function/normal_form.h"
#include "relay/transform/passes.h"
#include "relay/type/infer_type.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

TypeVar fresh_answer() { return make(TypeVarNode{.name_hint = "answer", .kind = TypeKind::Type}); }

Type function_type(Array<Type> args, Type result) {
  FuncType out;
  out.arg_types = std::move(args);
  out.ret_type = std::move(result);
  return make(std::move(out));
}

/// Function types take a continuation and give its answer.
Type cps_type(const Type& type, const Type& answer) {
  if (!type) return type;
  return rewrite(type, [&](Rewriter& self, const FuncType* function) -> Type {
    FuncType out(*function);
    out.arg_types = {};
    for (const Type& arg : function->arg_types) out.arg_types.push_back(self(arg));
    out.arg_types.push_back(function_type({self(function->ret_type)}, answer));
    out.ret_type = answer;
    return make(std::move(out));
  });
}

using Counterparts = std::unordered_map<std::string, GlobalVar>;
/// What is done with a value, which is a name.
using Continuation = std::function<Expr(const Expr&)>;

class ToCps {
 public:
  ToCps(IRModule mod, Counterparts* counterparts, TypeVar answer)
      : mod_(std::move(mod)), counterparts_(counterparts), answer_(std::move(answer)) {}

  /// The outermost function, with the type of the answer as its parameter.
  Function run(const Function& function) {
    Function out = convert(downcast<Function>(to_a_normal_form(function)));
    Array<TypeVar> params = function->type_params;
    params.push_back(answer_);
    return with(out, &FunctionNode::type_params, params);
  }

 private:
  Type type_of(const Expr& expr) { return cps_type(checked_type(expr), answer_); }

  Function convert(const Function& function) {
    Array<Var> params;
    for (const Var& param : function->params) params.push_back(variable(param));
    Var then = make_local("k", function_type({type_of(function->body)}, answer_));
    params.push_back(then);
    Expr body = eval(function->body, [&](const Expr& value) { return make_call(then, {value}); });
    return make_function(params, body, answer_, function->type_params, function->attrs, function->span);
  }

  Var variable(const Var& var) {
    Var& known = vars_[var.get()];
    if (!known) known = make_local(var->name_hint(), type_of(var), var->span);
    return known;
  }

  Expr eval(const Expr& expr, const Continuation& then) {
    return on_enough_stack([&]() -> Expr {
      auto* let = expr.as<Let>();
      if (!let) return value(expr, nullptr, then);
      Var var = variable(let->var);
      return value(let->value, var, [&](const Expr&) { return eval(let->body, then); });
    });
  }

  /// Goes on with the value of an expression in A-normal form, under `name` where one is given.
  Expr value(const Expr& expr, const Var& name, const Continuation& then) {
    auto direct = [&](const Expr& out) -> Expr {
      if (!name && is_name(out)) return then(out);
      Var var = name ? name : fresh_local();
      return make_let(var, out, then(var));
    };
    /// `fn (%v) { ... }`: the rest of the program as a function.
    auto rest = [&]() -> Expr {
      Var var = name ? name : make_local("v", type_of(expr));
      return make_function({var}, then(var), answer_);
    };
    if (expr.as<Let>()) return eval(expr, [&](const Expr& inner) { return direct(inner); });
    if (auto* var = expr.as<VarNode>()) return direct(variable(Var(var)));
    if (auto* global = expr.as<GlobalVarNode>()) return direct(counterpart(global));
    if (auto* function = expr.as<FunctionNode>())
      return direct(is_primitive(function) ? expr : Expr(convert(Function(function))));
    if (auto* call = expr.as<Call>()) {
      Array<Expr> args = all(call->args);
      if (call->op.as<OpNode>() || call->op.as<ConstructorNode>())
        return direct(make_call(call->op, args, call->attrs, {}, call->span));
      args.push_back(rest());
      return make_call(atom(call->op), args, call->attrs, {}, call->span);
    }
    if (auto* cond = expr.as<If>()) {
      return with_join_point(rest(), [&](const Continuation& end) -> Expr {
        If out;
        out.cond = atom(cond->cond);
        out.true_branch = eval(cond->true_branch, end);
        out.false_branch = eval(cond->false_branch, end);
        return make(std::move(out));
      });
    }
    if (auto* match = expr.as<Match>()) {
      return with_join_point(rest(), [&](const Continuation& end) -> Expr {
        Match out(*match);
        out.checked_type_ = nullptr;
        out.data = atom(match->data);
        out.clauses = {};
        for (const Clause& clause : match->clauses) {
          ClauseNode next(*clause.get());
          next.lhs = pattern(clause->lhs);
          next.rhs = eval(clause->rhs, end);
          out.clauses.push_back(make(std::move(next)));
        }
        return make(std::move(out));
      });
    }
    return direct(rewrite(
        expr, [&](const VarNode* var) -> Expr { return variable(Var(var)); },
        [&](const GlobalVarNode* global) -> Expr { return counterpart(global); }));
  }

  /// Both branches go on with the same function.
  template <class F>
  Expr with_join_point(const Expr& rest, F&& choice) {
    Var var = fresh_local();
    Expr body = choice([&](const Expr& value) { return make_call(var, {value}); });
    return make_let(var, rest, body);
  }

  Expr atom(const Expr& expr) {
    if (auto* var = expr.as<VarNode>()) return variable(Var(var));
    if (auto* global = expr.as<GlobalVarNode>()) return counterpart(global);
    return expr;
  }
  Array<Expr> all(const Array<Expr>& exprs) {
    Array<Expr> out;
    for (const Expr& expr : exprs) out.push_back(atom(expr));
    return out;
  }

  Pattern pattern(const Pattern& given) {
    auto parts = [&](const Array<Pattern>& patterns) {
      Array<Pattern> out;
      for (const Pattern& part : patterns) out.push_back(pattern(part));
      return out;
    };
    if (auto* var = given.as<PatternVar>()) return with(var, &PatternVar::var, variable(var->var));
    if (auto* made = given.as<PatternConstructor>())
      return with(made, &PatternConstructor::patterns, parts(made->patterns));
    if (auto* tuple = given.as<PatternTuple>()) return with(tuple, &PatternTuple::patterns, parts(tuple->patterns));
    return given;
  }

  GlobalVar counterpart(const GlobalVarNode* global) {
    std::string name(global->name_hint);
    if (auto it = counterparts_->find(name); it != counterparts_->end()) return it->second;
    GlobalVarNode node;
    node.name_hint = name + "_cps";
    GlobalVar made = counterparts_->emplace(name, make(std::move(node))).first->second;
    Function function = downcast_or_null<Function>(mod_.lookup(name));
    if (!function) throw Error(TypeError) << "@" << name << " is not a Relay function";
    function = downcast<Function>(infer_type(Expr(function), mod_));
    mod_.update(made, ToCps(mod_, counterparts_, fresh_answer()).run(function));
    return made;
  }

  IRModule mod_;
  Counterparts* counterparts_;
  TypeVar answer_;
  std::unordered_map<const Object*, Var> vars_;
};

Function to_cps(const Function& function, const IRModule& mod) {
  Counterparts counterparts;
  Function typed = downcast<Function>(infer_type(Expr(function), mod));
  return ToCps(mod, &counterparts, fresh_answer()).run(typed);
}

/// The function in direct style: its continuation gives the value back.
Function un_cps(const Function& function) {
  auto* then = function->params.empty() ? nullptr : function->params.back()->type_annotation.as<FuncType>();
  if (!then || then->arg_types.size() != 1 || function->type_params.empty())
    throw Error(TypeError) << "un_cps takes what to_cps gives: a function whose last parameter is its continuation";
  Type result = then->arg_types[0];
  Array<Var> params;
  Array<Expr> args;
  for (size_t i = 0; i + 1 < function->params.size(); ++i) {
    params.push_back(make_local(function->params[i]->name_hint(), function->params[i]->type_annotation));
    args.push_back(params.back());
  }
  Array<TypeVar> type_params;
  Array<Type> type_args;
  for (size_t i = 0; i + 1 < function->type_params.size(); ++i) {
    type_params.push_back(function->type_params[i]);
    type_args.push_back(function->type_params[i]);
  }
  type_args.push_back(result);
  Var value = make_local("x", result);
  args.push_back(make_function({value}, value, result));
  return make_function(params, make_call(function, args, nullptr, type_args), result, type_params, function->attrs);
}

Globals to_cps_globals{
    {"relay._transform.to_cps", [](Function f, IRModule mod) { return to_cps(f, mod ? mod : IRModule()); }},
    {"relay._transform.un_cps", un_cps},
};

}  // namespace

Pass to_cps_pass() {
  return pass_over<IRModule>(to_cps_pass, [](const IRModule& mod) {
    IRModule out = mod.copy();
    for (const auto& [var, function] : mod.sorted_functions())
      if (function.as<FunctionNode>()) out.update(var, to_cps(downcast<Function>(function), out));
    return out;
  });
}

}  // namespace tessera::relay

#include "relay/transform/gradient/first_order_body.h"

#include <unordered_set>

#include "base/stack.h"
#include "relay/make.h"
#include "relay/rename.h"
#include "relay/scopes.h"
#include "relay/type/solver.h"

namespace tessera::relay {
namespace {

/// Types with what inference left open closed, since nothing depends on it.
Array<Type> closed(const Array<Type>& types) {
  Array<Type> out;
  for (const Type& type : types) {
    std::vector<Type> holes;
    collect_holes(type, &holes);
    std::unordered_map<const Object*, Type> by;
    for (const Type& hole : holes) by.emplace(hole.get(), void_type());
    out.push_back(substitute_types(type, by));
  }
  return out;
}

Array<Type> parameter_types(const Function& function, const Array<Type>& type_args) {
  std::unordered_map<const Object*, Type> by;
  for (size_t i = 0; i < type_args.size(); ++i) by.emplace(function->type_params[i].get(), type_args[i]);
  Array<Type> out;
  for (const Var& param : function->params) {
    if (!param->type_annotation) return {};
    out.push_back(substitute_types(param->type_annotation, by));
  }
  return out;
}

Pattern make_pattern(const Var& var) {
  PatternVar out;
  out.var = var;
  return make(std::move(out));
}

}  // namespace

Expr FirstOrderBody::value(const Expr& expr, const Type& wanted) {
  return on_enough_stack([&] { return convert(expr, wanted); });
}

Var FirstOrderBody::variable(const Var& var) {
  Expr& known = vars_[var.get()];
  if (!known) known = make_local(var->name_hint(), program_.types(checked_type(var)), var->span);
  return downcast<Var>(known);
}

Expr FirstOrderBody::convert(const Expr& expr, const Type& wanted) {
  if (expr.as<Let>()) return lets(expr, wanted);
  if (auto* var = expr.as<VarNode>()) {
    auto it = aliases_.find(var);
    return it == aliases_.end() ? Expr(variable(Var(var))) : value(it->second, wanted);
  }
  if (auto* call = expr.as<Call>()) return convert_call(call);
  if (auto* function = expr.as<FunctionNode>()) return closure(Function(function), nullptr, wanted);
  if (expr.as<GlobalVarNode>() || expr.as<ConstructorNode>()) return program_.named_function(expr, wanted);
  if (auto* tuple = expr.as<Tuple>()) {
    auto* type = wanted.as<TupleType>();
    return make_tuple(all(tuple->fields_, type ? type->fields_ : Array<Type>()));
  }
  if (auto* get = expr.as<TupleGetItem>()) return make_get_item(plain(get->tuple), get->index);
  if (auto* branch = expr.as<If>()) {
    If out;
    out.cond = plain(branch->cond);
    out.true_branch = value(branch->true_branch, wanted);
    out.false_branch = value(branch->false_branch, wanted);
    return make(std::move(out));
  }
  if (auto* match = expr.as<Match>()) return convert_match(match, wanted);
  if (auto* ref = expr.as<RefCreate>()) {
    auto* type = wanted.as<RefType>();
    RefCreate out;
    out.value = value(ref->value, type ? type->value : checked_type(ref->value));
    return make(std::move(out));
  }
  if (auto* read = expr.as<RefRead>()) {
    RefRead out;
    out.ref = plain(read->ref);
    return make(std::move(out));
  }
  if (auto* write = expr.as<RefWrite>()) {
    RefWrite out;
    out.ref = plain(write->ref);
    out.value = value(write->value, checked_type(write->ref).as<RefType>()->value);
    return make(std::move(out));
  }
  return expr;
}

Expr FirstOrderBody::convert_match(const Match* match, const Type& wanted) {
  Match out;
  out.data = plain(match->data);
  out.complete = match->complete;
  for (const Clause& clause : match->clauses) {
    Pattern lhs = pattern(clause->lhs, checked_type(match->data));
    out.clauses.push_back(make(ClauseNode{.lhs = lhs, .rhs = value(clause->rhs, wanted)}));
  }
  return make(std::move(out));
}

Array<Expr> FirstOrderBody::all(const Array<Expr>& exprs, const Array<Type>& wanted) {
  Array<Expr> out;
  for (size_t i = 0; i < exprs.size(); ++i)
    out.push_back(wanted.size() == exprs.size() ? value(exprs[i], wanted[i]) : plain(exprs[i]));
  return out;
}

Expr FirstOrderBody::lets(const Expr& first, const Type& wanted) {
  std::vector<std::pair<Var, Expr>> chain;
  Expr at = first;
  for (; at.as<Let>(); at = Expr(at.as<Let>()->body)) {
    auto* let = at.as<Let>();
    auto* type = checked_type(let->var).as<FuncType>();
    if (type && !type->type_params.empty()) {
      for (const Var& used : free_vars(let->value))
        if (used.same_as(let->var))
          throw Error(TypeError) << "%" << used->name_hint()
                                 << " has type parameters and calls itself; only functions of "
                                 << "the module may do both";
      aliases_[let->var.get()] = named(let->value);  // of many types: made where it is used, for the type it has there
      continue;
    }
    auto* function = let->value.as<FunctionNode>();
    Expr made = function ? closure(Function(function), let->var, checked_type(let->var))
                         : value(let->value, checked_type(let->var));
    chain.emplace_back(variable(let->var), made);
  }
  Expr body = value(at, wanted);
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) body = make_let(it->first, it->second, body);
  return body;
}

Expr FirstOrderBody::named(const Expr& expr) const {
  auto it = aliases_.find(expr.get());
  return it == aliases_.end() ? expr : it->second;
}

Expr FirstOrderBody::convert_call(const Call* call) {
  Expr callee = named(call->op);
  if (auto* constructor = callee.as<ConstructorNode>()) {
    const Type& type = checked_type(Expr(call));
    Array<Type> fields = program_.types.field_types(Constructor(constructor), type);
    return make_call(program_.types.constructor(Constructor(constructor), type), all(call->args, fields));
  }
  if (auto* global = callee.as<GlobalVarNode>()) {
    Array<Type> type_args = closed(call->type_args);
    Function function = program_.lookup(GlobalVar(global));
    if (!function) return make_call(callee, all(call->args, {}), call->attrs, {}, call->span);
    GlobalVar copy = program_.instance(GlobalVar(global), type_args);
    return make_call(copy, all(call->args, parameter_types(function, type_args)), call->attrs, {}, call->span);
  }
  auto* function = callee.as<FunctionNode>();
  if (callee.as<OpNode>() || (function && is_primitive(function)))
    return make_call(callee, all(call->args, {}), call->attrs, {}, call->span);
  Type type = checked_type(callee);
  if (function && !function->type_params.empty()) {
    callee = program_.typed(instantiated(Function(function), closed(call->type_args)));
    type = checked_type(callee);
  }
  FunctionKind& kind = program_.types.kind(type);
  Array<Expr> args{value(callee, type)};
  for (const Expr& arg : all(call->args, kind.signature()->arg_types)) args.push_back(arg);
  return make_call(kind.apply, args, nullptr, {}, call->span);
}

Expr FirstOrderBody::closure(const Function& function, const Var& self, const Type& wanted) {
  if (!function->type_params.empty()) {
    Array<Type> types = type_args_for(function->type_params, checked_type(function), wanted);
    return closure(program_.typed(instantiated(function, types)), self, wanted);
  }
  FunctionKind& kind = program_.types.kind(wanted);
  FirstOrderBody inner(program_);
  inner.aliases_ = aliases_;
  Array<Type> types;
  Array<Expr> here, inside;
  Array<Pattern> patterns;
  bool is_recursive = false;
  for (const Var& var : captured(function)) {
    if (var.same_as(self)) {
      is_recursive = true;
      continue;
    }
    Var outer = variable(var);
    Var field = make_local(var->name_hint(), outer->type_annotation);
    inner.vars_[var.get()] = field;
    types.push_back(outer->type_annotation);
    here.push_back(outer);
    inside.push_back(field);
    patterns.push_back(make_pattern(field));
  }
  for (size_t i = 0; i < function->params.size(); ++i) inner.vars_[function->params[i].get()] = kind.params[i];
  Constructor made = program_.types.new_constructor(kind, types);
  size_t index = kind.clauses.size();
  kind.clauses.emplace_back();
  Expr body = inner.value(function->body, kind.signature()->ret_type);
  if (is_recursive) body = make_let(inner.variable(self), make_call(made, inside), body);
  PatternConstructor lhs;
  lhs.constructor = made;
  lhs.patterns = patterns;
  kind.clauses[index] = make(ClauseNode{.lhs = make(std::move(lhs)), .rhs = with_fresh_binders(body)});
  return make_call(made, here);
}

/// The free variables of a function, with those of the functions that it knows by name.
std::vector<Var> FirstOrderBody::captured(const Function& function) const {
  std::vector<Var> out, todo = free_vars(function);
  std::unordered_set<const Object*> seen;
  for (size_t i = 0; i < todo.size(); ++i) {
    Var var = todo[i];
    if (!seen.insert(var.get()).second) continue;
    auto it = aliases_.find(var.get());
    if (it == aliases_.end()) {
      out.push_back(var);
      continue;
    }
    for (const Var& more : free_vars(it->second)) todo.push_back(more);
  }
  return out;
}

Pattern FirstOrderBody::pattern(const Pattern& given, const Type& type) {
  if (auto* var = given.as<PatternVar>()) return make_pattern(variable(var->var));
  if (auto* made = given.as<PatternConstructor>()) {
    Array<Type> fields = program_.types.field_types(made->constructor, type);
    PatternConstructor out;
    out.constructor = program_.types.constructor(made->constructor, type);
    for (size_t i = 0; i < fields.size(); ++i) out.patterns.push_back(pattern(made->patterns[i], fields[i]));
    return make(std::move(out));
  }
  if (auto* tuple = given.as<PatternTuple>()) {
    PatternTuple out;
    for (size_t i = 0; i < tuple->patterns.size(); ++i)
      out.patterns.push_back(pattern(tuple->patterns[i], type.as<TupleType>()->fields_[i]));
    return make(std::move(out));
  }
  return given;
}

}  // namespace tessera::relay

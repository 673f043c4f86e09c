#include "relay/type/attach_types.h"

#include "base/stack.h"
#include "ir/rewrite.h"
#include "ir/structural/equal.h"

namespace tessera::relay {

Expr Attach::operator()(const Expr& expr) {
  if (auto it = done_.find(expr.get()); it != done_.end()) return it->second.second;
  Expr out = expr.as<Let>() ? lets(expr) : on_enough_stack([&] { return typed(expr, rebuild(expr)); });
  done_[expr.get()] = {expr, out};
  return out;
}

Type Attach::type_of(const Expr& expr) {
  const Type* found = types_.find(expr.get());
  if (!found) return expr->checked_type_;
  Type type = types_.solver.resolve(*found);
  if (type.as<IncompleteType>()) {
    std::string what = expr.as<VarNode>() ? "%" + std::string(expr.as<VarNode>()->name_hint()) : "an expression";
    if (auto* call = expr.as<Call>()) what = "the call " + describe(call, types_.solver, arg_types(call));
    throw Error(DiagnosticError) << "the type of " << what << " cannot be inferred; annotate it"
                                 << types_.shown_at(expr->span);
  }
  return type;
}

std::vector<Type> Attach::arg_types(const Call* call) {
  std::vector<Type> out;
  for (const Expr& arg : call->args)
    if (const Type* type = types_.find(arg.get())) out.push_back(*type);
  return out;
}

bool Attach::same_type(const Type& a, const Type& b) { return a.same_as(b) || structural_equal(a, b); }

Expr Attach::typed(const Expr& before, Expr after) {
  if (after.as<OpNode>() || after.as<ConstructorNode>()) return after;
  Type type = type_of(before);
  if (!type || (after->checked_type_ && same_type(after->checked_type_, type))) return after;
  if (after.same_as(before) && !after.as<GlobalVarNode>()) {  // a global is known by identity: it is not copied
    ObjectRef copy(after->type()->copy(after.get()));
    after = downcast<Expr>(copy);
  }
  after->checked_type_ = type;
  return after;
}

Expr Attach::rebuild(const Expr& expr) {
  if (auto* call = expr.as<Call>()) {
    auto out = with(with(call, &Call::op, (*this)(call->op)), &Call::args, all(call->args));
    const Array<Type>* used = types_.type_args(call);
    if (!used || !call->type_args.empty()) return out;
    Array<Type> resolved;
    for (const Type& type : *used) resolved.push_back(types_.solver.resolve(type));
    return with(out, &Call::type_args, resolved);
  }
  if (auto* var = expr.as<VarNode>())
    return var->type_annotation && !has_hole(var->type_annotation)
               ? expr
               : Expr(with(var, &VarNode::type_annotation, type_of(expr)));
  if (auto* tuple = expr.as<Tuple>()) return with(tuple, &Tuple::fields_, all(tuple->fields_));
  if (auto* get = expr.as<TupleGetItem>()) return with(get, &TupleGetItem::tuple, (*this)(get->tuple));
  if (auto* branch = expr.as<If>()) {
    auto out = with(branch, &If::cond, (*this)(branch->cond));
    out = with(out, &If::true_branch, (*this)(branch->true_branch));
    return with(out, &If::false_branch, (*this)(branch->false_branch));
  }
  if (auto* function = expr.as<FunctionNode>()) {
    auto out = with(function, &FunctionNode::params, all(function->params));
    out = with(out, &FunctionNode::body, (*this)(function->body));
    if (function->ret_type && !has_hole(function->ret_type)) return out;
    return with(out, &FunctionNode::ret_type, type_of(expr).as<FuncType>()->ret_type);
  }
  if (auto* match = expr.as<Match>()) return rebuild_match(match);
  if (auto* ref = expr.as<RefCreate>()) return with(ref, &RefCreate::value, (*this)(ref->value));
  if (auto* read = expr.as<RefRead>()) return with(read, &RefRead::ref, (*this)(read->ref));
  if (auto* write = expr.as<RefWrite>())
    return with(with(write, &RefWrite::ref, (*this)(write->ref)), &RefWrite::value, (*this)(write->value));
  return expr;
}

bool Attach::has_hole(const Type& type) {
  std::vector<Type> holes;
  collect_holes(type, &holes);
  return !holes.empty();
}

Expr Attach::rebuild_match(const Match* match) {
  Array<Clause> clauses = match->clauses;
  for (size_t i = 0; i < clauses.size(); ++i) {
    Clause clause = match->clauses[i];
    Pattern lhs = tessera::rewrite(clause->lhs, [&](const PatternVar* pattern) -> Pattern {
      return with(pattern, &PatternVar::var, downcast<Var>((*this)(pattern->var)));
    });
    Clause out = with(with(clause, &ClauseNode::lhs, lhs), &ClauseNode::rhs, (*this)(clause->rhs));
    if (!out.same_as(clause)) clauses.set(i, out);
  }
  auto out = with(match, &Match::data, (*this)(match->data));
  return with(out, &Match::clauses, clauses);
}

Expr Attach::lets(const Expr& first) {
  struct Bound {
    const Let* let;
    Expr var, value;
  };
  std::vector<Bound> chain;
  Expr at = first;
  while (auto* let = at.as<Let>()) {
    if (done_.count(at.get())) break;
    chain.push_back({let, (*this)(let->var), (*this)(let->value)});
    at = let->body;
  }
  Expr body = (*this)(at);
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    auto out = with(with(it->let, &Let::var, downcast<Var>(it->var)), &Let::value, it->value);
    body = typed(Expr(it->let), with(out, &Let::body, body));
    done_[it->let] = {Expr(it->let), body};
  }
  return body;
}

}  // namespace tessera::relay

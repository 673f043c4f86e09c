#include "relay/transform/function/normal_form.h"

#include "base/stack.h"
#include "relay/let_list.h"
#include "relay/scopes.h"
#include "relay/transform/passes.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

enum class Form { A, BasicBlock };

/// A copy of `node` with some members changed; the node itself when the change changes nothing.
template <class T, class F>
Expr changed(const T* node, F&& change) {
  T copy(*node);
  return change(copy) ? Expr(make(std::move(copy))) : Expr(node);
}
template <class R>
bool replace(R& member, const R& value) {
  if (member.same_as(value)) return false;
  member = value;
  return true;
}

class Normalizer {
 public:
  Normalizer(const Expr& root, Form form) : scopes_(root), form_(form), lets_(scopes_.count()) {}

  Expr run(const Expr& root) { return scope(0, root); }

 private:
  Expr scope(Scopes::Id id, const Expr& body) {
    Expr value = visit(body);
    return lets_[id].wrap(value);
  }

  /// What stands for the expression where it is used.
  Expr visit(const Expr& expr, const Var& name = nullptr) {
    if (is_name(expr)) return expr;
    if (auto it = done_.find(expr.get()); it != done_.end()) return it->second;
    return on_enough_stack([&] {
      if (expr.as<Let>()) return chain(expr, name);
      return done_[expr.get()] = named(expr, rebuild(expr), name);
    });
  }

  /// Along a chain of lets in a loop: each value under its own name, in the scope they all share.
  Expr chain(Expr expr, const Var& name) {
    std::vector<Expr> lets;
    for (; expr.as<Let>() && !done_.count(expr.get()); expr = expr.as<Let>()->body) {
      auto* let = expr.as<Let>();
      lets.push_back(expr);
      if (is_name(let->value) || done_.count(let->value.get()))
        lets_[scopes_.of(expr)].push(let->var, visit(let->value));
      else visit(let->value, let->var);
    }
    Expr out = visit(expr);
    for (size_t i = lets.size(); i-- > 0;)
      out = done_[lets[i].get()] = named(lets[i], out, i == 0 ? name : Var(nullptr));
    return out;
  }

  /// The value under `name`, or under a new one where the form asks for it.
  Expr named(const Expr& expr, const Expr& value, const Var& name) {
    LetList& lets = lets_[scopes_.of(expr)];
    if (name) return lets.push(name, value);
    bool binds = form_ == Form::A || (scopes_.is_used_across(expr) && !is_name(value) && !value.as<Constant>());
    if (!binds) return value;
    Var var = fresh_local(expr);
    return lets.push(var, value);
  }

  Array<Expr> all(const Array<Expr>& exprs) {
    Array<Expr> out = exprs;
    for (size_t i = 0; i < exprs.size(); ++i) {
      Expr next = visit(exprs[i]);
      if (!next.same_as(exprs[i])) out.set(i, next);
    }
    return out;
  }

  Expr rebuild(const Expr& expr) {
    if (auto* call = expr.as<Call>()) {
      Expr op = visit(call->op);
      Array<Expr> args = all(call->args);
      return changed(call, [&](Call& c) { return replace(c.op, op) | replace(c.args, args); });
    }
    if (auto* tuple = expr.as<Tuple>()) {
      Array<Expr> fields = all(tuple->fields_);
      return changed(tuple, [&](Tuple& t) { return replace(t.fields_, fields); });
    }
    if (auto* get = expr.as<TupleGetItem>()) {
      Expr value = visit(get->tuple);
      return changed(get, [&](TupleGetItem& g) { return replace(g.tuple, value); });
    }
    if (auto* cond = expr.as<If>()) {
      Expr test = visit(cond->cond);
      Expr yes = scope(scopes_.inner(expr, 0), cond->true_branch);
      Expr no = scope(scopes_.inner(expr, 1), cond->false_branch);
      return changed(cond, [&](If& c) {
        return replace(c.cond, test) | replace(c.true_branch, yes) | replace(c.false_branch, no);
      });
    }
    if (auto* function = expr.as<FunctionNode>()) {
      if (is_primitive(function)) return expr;
      Expr body = scope(scopes_.inner(expr), function->body);
      return changed(function, [&](FunctionNode& f) { return replace(f.body, body); });
    }
    if (auto* ref = expr.as<RefCreate>()) {
      Expr value = visit(ref->value);
      return changed(ref, [&](RefCreate& r) { return replace(r.value, value); });
    }
    if (auto* read = expr.as<RefRead>()) {
      Expr ref = visit(read->ref);
      return changed(read, [&](RefRead& r) { return replace(r.ref, ref); });
    }
    if (auto* write = expr.as<RefWrite>()) {
      Expr value = visit(write->value), ref = visit(write->ref);
      return changed(write, [&](RefWrite& w) { return replace(w.ref, ref) | replace(w.value, value); });
    }
    if (auto* match = expr.as<Match>()) {
      Expr data = visit(match->data);
      Array<Clause> clauses = match->clauses;
      for (size_t i = 0; i < clauses.size(); ++i) {
        Expr rhs = scope(scopes_.inner(expr, static_cast<int>(i)), clauses[i]->rhs);
        clauses.set(i, with(clauses[i], &ClauseNode::rhs, rhs));
      }
      return changed(match, [&](Match& m) {
        bool differs = replace(m.data, data);
        for (size_t i = 0; i < clauses.size(); ++i) differs |= !clauses[i].same_as(m.clauses[i]);
        m.clauses = clauses;
        return differs;
      });
    }
    return expr;
  }

  Scopes scopes_;
  Form form_;
  std::vector<LetList> lets_;
  std::unordered_map<const Object*, Expr> done_;
};

/// Of a function, its body: the function itself stays one.
Expr normalize(const Expr& expr, Form form) {
  auto* function = expr.as<FunctionNode>();
  if (!function) return Normalizer(expr, form).run(expr);
  if (is_primitive(function)) return expr;
  return with(function, &FunctionNode::body, Normalizer(function->body, form).run(function->body));
}

/// A change of all functions of a module.
auto normalizes(Form form) {
  return [form](const IRModule& mod) {
    IRModule out = mod.copy();
    for (const auto& [var, function] : mod.sorted_functions()) {
      if (!function.as<FunctionNode>() || function->attrs.has(attr::kCompiler)) continue;
      Expr changed = normalize(function, form);
      if (!changed.same_as(function)) out.update(var, downcast<BaseFunc>(changed));
    }
    return out;
  };
}

Globals normal_form_globals{{"relay._transform.ToANormalFormExpr", to_a_normal_form}};

}  // namespace

Pass to_a_normal_form_pass() { return pass_over<IRModule>(to_a_normal_form_pass, normalizes(Form::A)); }
Pass to_basic_block_normal_form_pass() {
  return pass_over<IRModule>(to_basic_block_normal_form_pass, normalizes(Form::BasicBlock));
}

Expr to_a_normal_form(const Expr& expr) { return normalize(expr, Form::A); }
Expr to_basic_block_normal_form(const Expr& expr) { return normalize(expr, Form::BasicBlock); }

}  // namespace tessera::relay

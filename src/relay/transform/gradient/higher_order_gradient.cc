// Gradients of programs. A tensor becomes a pair of itself and a reference to its gradient, which starts at zero. Every
// function takes one parameter more: a reference to the function that runs backwards. An operator puts a step before it:
//
//   exp(x)   =>   let f = exp(x.0); let y = (f, ref(zeros_like(f))); let after = ref_read(bp);
//                 ref_write(bp, fn () { ref_write(x.1, ref_read(x.1) + ref_read(y.1) * exp(x.0)); after() }); y

#include "base/stack.h"
#include "ir/rewrite.h"
#include "relay/let_list.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/rename.h"
#include "relay/scopes.h"
#include "relay/transform/function/normal_form.h"
#include "relay/transform/gradient/gradient.h"
#include "relay/type/infer_type.h"

namespace tessera::relay {
namespace {

Type tuple_type(Array<Type> fields) {
  TupleType out;
  out.fields_ = std::move(fields);
  return make(std::move(out));
}
Type ref_type(Type value) {
  RefType out;
  out.value = std::move(value);
  return make(std::move(out));
}
Type steps_type() {  // of the reference to the function that runs backwards
  FuncType step;
  step.ret_type = tuple_type({});
  return ref_type(make(std::move(step)));
}
Expr make_ref(Expr value) {
  RefCreate out;
  out.value = std::move(value);
  return make(std::move(out));
}
Expr read(Expr ref) {
  RefRead out;
  out.ref = std::move(ref);
  return make(std::move(out));
}
Expr write(Expr ref, Expr value) {
  RefWrite out;
  out.ref = std::move(ref);
  out.value = std::move(value);
  return make(std::move(out));
}

/// Tensors become pairs, functions take a parameter more.
Type paired(const Type& type) {
  if (!type) return type;
  return rewrite(
      type,
      [](const TensorTypeNode* tensor) -> Type {
        Type plain(tensor);
        return tuple_type({plain, ref_type(plain)});
      },
      [](Rewriter& self, const FuncType* function) -> Type {
        FuncType out(*function);
        out.arg_types = {};
        for (const Type& arg : function->arg_types) out.arg_types.push_back(self(arg));
        out.arg_types.push_back(steps_type());
        out.ret_type = self(function->ret_type);
        return make(std::move(out));
      });
}

/// A value of tensors and tuples, each tensor replaced: `change(expression that selects the tensor, its type)`.
template <class F>
Expr map_tensors(const Expr& value, const Type& type, F&& change) {
  auto* tuple = type.as<TupleType>();
  if (!tuple) return change(value, type);
  Array<Expr> fields;
  for (size_t i = 0; i < tuple->fields_.size(); ++i)
    fields.push_back(map_tensors(make_get_item(value, static_cast<int>(i)), tuple->fields_[i], change));
  return typed(make_tuple(fields), type);
}

Expr values_of(const Expr& pairs, const Type& type) {
  return map_tensors(pairs, type, [](const Expr& pair, const Type& t) { return typed(make_get_item(pair, 0), t); });
}
Expr gradients_of(const Expr& pairs, const Type& type) {
  return map_tensors(pairs, type,
                     [](const Expr& pair, const Type& t) { return typed(read(make_get_item(pair, 1)), t); });
}
Expr with_zeros(const Expr& value, const Type& type) {
  return map_tensors(
      value, type, [](const Expr& tensor, const Type&) { return make_tuple({tensor, make_ref(zeros_like(tensor))}); });
}

/// The gradient that all others follow from: one everywhere. Of a tuple, that of its first field, the loss.
void set_ones(const Expr& pairs, const Type& type, LetList& lets) {
  if (auto* tuple = type.as<TupleType>()) {
    if (!tuple->fields_.empty()) set_ones(make_get_item(pairs, 0), tuple->fields_[0], lets);
    return;
  }
  lets.push(write(make_get_item(pairs, 1), ones_like(make_get_item(pairs, 0))));
}
/// What becomes of the gradient that is there.
enum class Present { Added, Replaced };
/// Gives a gradient on, tensor by tensor, as lets.
void give(const Expr& pairs, const Type& type, const Expr& gradient, LetList& lets, Present present = Present::Added) {
  auto* tuple = type.as<TupleType>();
  if (!tuple) {
    const Expr whole = present == Present::Added ? add(read(make_get_item(pairs, 1)), gradient) : gradient;
    lets.push(write(make_get_item(pairs, 1), whole));
    return;
  }
  auto* parts = gradient.as<Tuple>();
  for (size_t i = 0; i < tuple->fields_.size(); ++i) {
    int at = static_cast<int>(i);
    give(make_get_item(pairs, at), tuple->fields_[i], parts ? Expr(parts->fields_[i]) : make_get_item(gradient, at),
         lets, present);
  }
}

/// Whether the tensors of a value are results of operators, each its own, so that nothing else has a gradient for them yet.
bool is_new(const Expr& value, std::unordered_set<const Object*>& seen) {
  if (auto* tuple = value.as<Tuple>())
    return std::all_of(tuple->fields_.begin(), tuple->fields_.end(),
                       [&](const Expr& field) { return is_new(field, seen); });
  auto* call = value.as<Call>();
  return call && call->op.as<OpNode>() && seen.insert(call).second;
}

using Counterparts = std::unordered_map<std::string, GlobalVar>;

/// The program over pairs. `steps` is the innermost function's reference to what runs backwards.
class Pairing {
 public:
  Pairing(IRModule mod, Counterparts* counterparts) : mod_(std::move(mod)), counterparts_(counterparts) {}

  Expr visit(const Expr& expr) {
    if (auto it = done_.find(expr.get()); it != done_.end()) return it->second;
    return on_enough_stack([&] {
      Expr out = change(expr);
      return done_[expr.get()] = out;
    });
  }

 private:
  Array<Expr> all(const Array<Expr>& exprs) {
    Array<Expr> out;
    for (const Expr& expr : exprs) out.push_back(visit(expr));
    return out;
  }

  Var variable(const Var& var) {
    Expr& known = done_[var.get()];
    if (!known) known = make_local(var->name_hint(), paired(var->type_annotation), var->span);
    return downcast<Var>(known);
  }

  Expr change(const Expr& expr) {
    if (auto* var = expr.as<VarNode>()) return variable(Var(var));
    if (auto* call = expr.as<Call>()) return change_call(call);
    if (auto* function = expr.as<FunctionNode>()) return change_function(function);
    if (expr.as<Let>()) return change_lets(expr);
    if (expr.as<Constant>()) return with_zeros(expr, checked_type(expr));
    if (auto* tuple = expr.as<Tuple>()) return make_tuple(all(tuple->fields_));
    if (auto* get = expr.as<TupleGetItem>()) return make_get_item(visit(get->tuple), get->index);
    if (auto* cond = expr.as<If>()) {
      If out;
      out.cond = make_get_item(visit(cond->cond), 0);
      out.true_branch = visit(cond->true_branch);
      out.false_branch = visit(cond->false_branch);
      return make(std::move(out));
    }
    if (auto* ref = expr.as<RefCreate>()) return make_ref(visit(ref->value));
    if (auto* ref = expr.as<RefRead>()) return read(visit(ref->ref));
    if (auto* ref = expr.as<RefWrite>()) return write(visit(ref->ref), visit(ref->value));
    if (auto* match = expr.as<Match>()) return change_match(match);
    if (auto* global = expr.as<GlobalVarNode>()) return counterpart(global);
    if (expr.as<OpNode>())
      throw Error(NotImplementedError) << "an operator is used as a value; put it into a function to differentiate it";
    return expr;
  }

  Expr change_lets(Expr expr) {
    LetList lets;
    for (; expr.as<Let>(); expr = expr.as<Let>()->body) {
      Var var = variable(expr.as<Let>()->var);
      lets.push(var, visit(expr.as<Let>()->value));
    }
    return lets.wrap(visit(expr));
  }

  Expr change_function(const FunctionNode* function) {
    Var outer = steps_;
    Array<Var> params;
    for (const Var& param : function->params) params.push_back(variable(param));
    steps_ = make_local("bp", steps_type());
    params.push_back(steps_);
    Expr body = visit(function->body);
    steps_ = outer;
    return make_function(params, body, paired(function->ret_type), function->type_params, function->attrs,
                         function->span);
  }

  Expr change_match(const Match* match) {
    Match out(*match);
    out.checked_type_ = nullptr;
    out.data = visit(match->data);
    out.clauses = {};
    for (const Clause& clause : match->clauses) {
      ClauseNode next(*clause.get());
      next.lhs = change_pattern(clause->lhs);
      next.rhs = visit(clause->rhs);
      out.clauses.push_back(make(std::move(next)));
    }
    return make(std::move(out));
  }

  Pattern change_pattern(const Pattern& pattern) {
    auto parts = [&](const Array<Pattern>& patterns) {
      Array<Pattern> out;
      for (const Pattern& part : patterns) out.push_back(change_pattern(part));
      return out;
    };
    if (auto* var = pattern.as<PatternVar>()) return with(var, &PatternVar::var, variable(var->var));
    if (auto* made = pattern.as<PatternConstructor>())
      return with(made, &PatternConstructor::patterns, parts(made->patterns));
    if (auto* tuple = pattern.as<PatternTuple>()) return with(tuple, &PatternTuple::patterns, parts(tuple->patterns));
    return pattern;
  }

  Expr change_call(const Call* call) {
    if (call->op.as<OpNode>()) return change_operator(call);
    Array<Expr> args = all(call->args);
    if (call->op.as<ConstructorNode>()) return make_call(call->op, args, call->attrs, {}, call->span);
    args.push_back(steps());
    return make_call(visit(call->op), args, call->attrs, {}, call->span);
  }

  const Var& steps() const {
    if (!steps_) throw Error(ValueError) << "a call outside of any function cannot be differentiated";
    return steps_;
  }

  Expr change_operator(const Call* call) {
    Op op = downcast<Op>(call->op);
    if (op->name == ops::checkpoint && has_values(call->args[0])) return change_checkpoint(call->args[0]);
    return with_lets([&](LetList& lets) -> Expr {
      std::vector<Var> pairs;
      Array<Expr> values;
      for (const Expr& arg : call->args) pairs.push_back(lets.push(visit(arg)));
      for (size_t i = 0; i < pairs.size(); ++i) {
        Expr value = values_of(pairs[i], checked_type(call->args[i]));
        values.push_back(value.as<Tuple>() ? value : Expr(lets.push(value)));
      }
      const Type& type = checked_type(Expr(call));
      Expr again = typed(make_call(op, values, call->attrs, call->type_args, call->span), type);
      Var result = lets.push(again);
      Var out = lets.push(lets.push(with_zeros(result, type)));
      Var after = lets.push(read(steps()));
      Expr step = with_lets([&](LetList& backwards) -> Expr {
        Expr gradient = gradients_of(out, type);
        if (!gradient.as<Tuple>()) gradient = backwards.push(gradient);
        Array<Expr> gradients = argument_gradients(op, again, gradient);
        for (size_t i = 0; i < pairs.size(); ++i) give(pairs[i], checked_type(call->args[i]), gradients[i], backwards);
        return make_call(after, {});
      });
      lets.push(write(steps(), make_function({}, to_a_normal_form(step), tuple_type({}))));
      return out;
    });
  }

  /// Whether the variables of an expression are tensors, or tuples of them, which can be told from their gradients.
  static bool has_values(const Expr& expr) {
    for (const Var& var : free_vars(expr))
      if (!holds_tensors(checked_type(var))) return false;
    return true;
  }

  /// checkpoint(x): x is computed without gradients, and once more with them in the step that runs backwards, so that nothing
  /// inside of it lives in between.
  Expr change_checkpoint(const Expr& expr) {
    const Type& type = checked_type(expr);
    return with_lets([&](LetList& lets) -> Expr {
      std::unordered_map<const Object*, Expr> values;
      for (const Var& var : free_vars(expr)) values[var.get()] = values_of(visit(var), checked_type(var));
      Expr plain = rename(expr, [&](const Var& var) {
        auto it = values.find(var.get());
        return it == values.end() ? Expr() : it->second;
      });
      Var out = lets.push(with_zeros(lets.push(plain), type));
      Var after = lets.push(read(steps()));
      Expr step = with_lets([&](LetList& backwards) -> Expr {
        Pairing again(mod_, counterparts_);
        for (const Var& var : free_vars(expr)) again.done_[var.get()] = visit(var);
        again.steps_ = backwards.push(make_ref(make_function({}, make_tuple({}), tuple_type({}))));
        Var pairs = backwards.push(again.visit(expr));
        std::unordered_set<const Object*> seen;
        const Present present = is_new(expr, seen) ? Present::Replaced : Present::Added;
        give(pairs, type, gradients_of(out, type), backwards, present);
        backwards.push(make_call(read(again.steps_), {}));
        return make_call(after, {});
      });
      lets.push(write(steps(), make_function({}, to_a_normal_form(step), tuple_type({}))));
      return out;
    });
  }

  /// The same function over pairs, in the module; made when it is first met, so that it may be recursive.
  GlobalVar counterpart(const GlobalVarNode* global) {
    std::string name(global->name_hint);
    if (auto it = counterparts_->find(name); it != counterparts_->end()) return it->second;
    if (!mod_.find_global_var(name))
      throw Error(ValueError) << "@" << name << " is not in the module that was given to differentiate in";
    GlobalVarNode node;
    node.name_hint = name + "_grad";
    GlobalVar made = counterparts_->emplace(name, make(std::move(node))).first->second;
    Function function = downcast<Function>(infer_type(Expr(mod_.lookup(name)), mod_));
    mod_.update(made, downcast<Function>(Pairing(mod_, counterparts_).visit(to_basic_block_normal_form(function))));
    return made;
  }

  IRModule mod_;
  Counterparts* counterparts_;
  Var steps_;
  std::unordered_map<const Object*, Expr> done_;
};

}  // namespace

Function higher_order_gradient(const Expr& given, const IRModule& mod) {
  // In basic blocks, no operation is shared by two functions, which have different steps.
  Function function = downcast<Function>(to_basic_block_normal_form(function_to_differentiate(given, mod)));
  Counterparts counterparts;
  Expr over_pairs = Pairing(mod ? mod : IRModule(), &counterparts).visit(function);
  Type result_type = checked_type(function->body);
  TupleType of_params;
  for (const Var& param : function->params) of_params.fields_.push_back(checked_type(param));
  Expr body = with_lets([&](LetList& lets) {
    Expr nothing = make_function({}, make_tuple({}), tuple_type({}));
    Var steps = lets.push(make_ref(nothing));
    Array<Expr> args;
    for (const Var& param : function->params) args.push_back(lets.push(with_zeros(param, checked_type(param))));
    Array<Expr> all = args;
    all.push_back(steps);
    Var result = lets.push(make_call(over_pairs, all));
    set_ones(result, result_type, lets);
    lets.push(make_call(read(steps), {}));
    Array<Expr> gradients;
    for (size_t i = 0; i < args.size(); ++i)
      gradients.push_back(gradients_of(args[i], checked_type(function->params[i])));
    return make_tuple({values_of(result, result_type), make_tuple(gradients)});
  });
  Type type = tuple_type({result_type, make(std::move(of_params))});
  return make_function(function->params, body, type, {}, function->attrs, function->span);
}

}  // namespace tessera::relay

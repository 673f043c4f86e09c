// Partial evaluation: what is known when the program is compiled is computed then. Calls of known functions become their
// bodies, branches on known conditions the one that is taken, loops over known numbers straight code:
//
//   let %f = fn (%y) { add(%x, %y) }; %f(2f)   =>   let %f = ...; let %x_0 = 2f; let %x_1 = add(%x, %x_0); %x_1
//
// The result is in A-normal form; values that turned out to be unused are left for DeadCodeElimination. References are
// followed as long as nothing unknown can have written them. A recursive call below a condition that is not known stays
// a call, so evaluation ends unless the program itself does not.

#include <memory>
#include <optional>

#include "base/stack.h"
#include "relay/let_list.h"
#include "relay/make.h"
#include "relay/rename.h"
#include "relay/scopes.h"
#include "relay/slots.h"
#include "relay/transform/function/normal_form.h"
#include "relay/transform/passes.h"
#include "relay/transform/simplify/fold_constant.h"
#include "relay/type/infer_type.h"

namespace tessera::relay {
namespace {

struct Value;
using ValuePtr = std::shared_ptr<Value>;

/// Variables of one call of a function, and around it those of the function's definition.
struct Env {
  std::shared_ptr<Env> outer;
  std::unordered_map<const Object*, ValuePtr> values;
  ValuePtr find(const Object* var) const {
    for (const Env* env = this; env; env = env->outer.get())
      if (auto it = env->values.find(var); it != env->values.end()) return it->second;
    return nullptr;
  }
};
using EnvPtr = std::shared_ptr<Env>;

/// A name for the value in the program that is made, and what is known of it.
struct Value {
  enum Kind { Unknown, Tensor, Fields, Closure, Data, Reference } kind = Unknown;
  Expr name;
  NDArray tensor;
  std::vector<ValuePtr> fields;  // of a tuple, or of a constructor
  Constructor constructor;
  Function function;
  EnvPtr env;
};

ValuePtr unknown(Expr name) {
  auto out = std::make_shared<Value>();
  out->name = std::move(name);
  return out;
}

class PartialEvaluator {
 public:
  explicit PartialEvaluator(IRModule mod) : mod_(std::move(mod)) {}

  /// The function of the module of that name. Its recursive calls are not put into itself.
  Function run(const GlobalVar& var) {
    Function function = global_function(var.get())->function;
    active_[function.get()].push_back(0);
    auto env = std::make_shared<Env>();
    for (const Var& param : function->params) env->values[param.get()] = unknown(param);
    store_.clear();
    Expr body = with_lets([&](LetList& lets) { return eval(function->body, env, lets)->name; });
    return with(function, &FunctionNode::body, body);
  }

 private:
  static constexpr int kMaxActive = 500;     // of one function at a time
  static constexpr int kMaxSteps = 200'000;  // of inlining in all

  ValuePtr eval(Expr expr, const EnvPtr& env, LetList& lets) {
    for (; expr.as<Let>(); expr = Expr(expr.as<Let>()->body)) {
      auto* let = expr.as<Let>();
      auto* function = let->value.as<FunctionNode>();
      env->values[let->var.get()] =
          function ? close(Function(function), let->var, env, lets) : step(let->value, env, lets);
    }
    return step(expr, env, lets);
  }

  ValuePtr step(const Expr& expr, const EnvPtr& env, LetList& lets) {
    if (expr.as<Let>()) return eval(expr, env, lets);
    if (expr.as<VarNode>()) {
      ValuePtr known = env->find(expr.get());
      return known ? known : unknown(expr);
    }
    if (expr.as<OpNode>() || expr.as<ConstructorNode>()) return unknown(expr);
    if (auto* global = expr.as<GlobalVarNode>()) return global_function(global);
    if (auto* constant = expr.as<Constant>()) return tensor_value(constant->data, lets);
    if (auto* function = expr.as<FunctionNode>()) return close(Function(function), nullptr, env, lets);
    if (auto* tuple = expr.as<Tuple>()) return tuple_value(all(tuple->fields_, env, lets), lets);
    if (auto* get = expr.as<TupleGetItem>()) {
      ValuePtr tuple = step(get->tuple, env, lets);
      if (tuple->kind == Value::Fields) return tuple->fields.at(get->index);
      return unknown(lets.push(make_get_item(tuple->name, get->index)));
    }
    if (auto* call = expr.as<Call>()) return on_enough_stack([&] { return apply(call, env, lets); });
    if (auto* cond = expr.as<If>()) return on_enough_stack([&] { return branch(cond, env, lets); });
    if (auto* match = expr.as<Match>()) return on_enough_stack([&] { return choose(match, env, lets); });
    return reference(expr, env, lets);
  }

  std::vector<ValuePtr> all(const Array<Expr>& exprs, const EnvPtr& env, LetList& lets) {
    std::vector<ValuePtr> out;
    for (const Expr& expr : exprs) out.push_back(step(expr, env, lets));
    return out;
  }
  static Array<Expr> names(const std::vector<ValuePtr>& values) {
    Array<Expr> out;
    for (const ValuePtr& value : values) out.push_back(value->name);
    return out;
  }

  static ValuePtr tensor_value(const NDArray& data, LetList& lets) {
    ValuePtr out = unknown(lets.push(make_constant(data)));
    out->kind = Value::Tensor;
    out->tensor = data;
    return out;
  }
  static ValuePtr tuple_value(std::vector<ValuePtr> fields, LetList& lets) {
    ValuePtr out = unknown(lets.push(make_tuple(names(fields))));
    out->kind = Value::Fields;
    out->fields = std::move(fields);
    return out;
  }

  // ---- functions ---------------------------------------------------------------------------------------------------

  /// The function itself is kept in the program, its body evaluated for arguments of which nothing is known.
  ValuePtr close(const Function& function, const Var& name, const EnvPtr& env, LetList& lets) {
    Var var = name ? fresh_copy(name) : fresh_local(function);
    if (is_primitive(function.get()) || function->attrs.has(attr::kCompiler)) return unknown(lets.push(var, function));
    auto inner = std::make_shared<Env>(Env{env, {}});
    if (name) inner->values[name.get()] = unknown(var);
    Array<Var> params;
    for (const Var& param : function->params) {
      params.push_back(fresh_copy(param));
      inner->values[param.get()] = unknown(params.back());
    }
    auto store = std::exchange(store_, {});
    ++branches_;
    Expr body = with_lets([&](LetList& own) { return eval(function->body, inner, own)->name; });
    --branches_;
    store_ = std::move(store);
    FunctionNode residual(*function.get());
    residual.params = params;
    residual.body = body;
    ValuePtr out = unknown(lets.push(var, make(std::move(residual))));
    out->kind = Value::Closure;
    out->function = function;
    out->env = env;
    if (name) {  // the body finds the function itself under its name
      out->env = std::make_shared<Env>(Env{env, {}});
      out->env->values[name.get()] = out;
      closures_.push_back(out->env);
    }
    return out;
  }

  ValuePtr global_function(const GlobalVarNode* global) {
    ValuePtr& known = globals_[std::string(global->name_hint)];
    if (known) return known;
    known = unknown(Expr(global));
    GlobalVar var = mod_.find_global_var(global->name_hint);
    auto* function = var ? mod_->functions[var].as<FunctionNode>() : nullptr;
    if (!function || is_kernel(function)) return known;
    known->kind = Value::Closure;
    known->function = downcast<Function>(to_a_normal_form(Expr(function)));
    return known;
  }

  ValuePtr apply(const Call* call, const EnvPtr& env, LetList& lets) {
    ValuePtr callee = call->op.as<OpNode>() ? unknown(call->op) : step(call->op, env, lets);
    std::vector<ValuePtr> args = all(call->args, env, lets);
    if (auto* op = callee->name.as<OpNode>()) return apply_operator(Op(op), call, args, lets);
    if (auto* constructor = callee->name.as<ConstructorNode>()) {
      ValuePtr out = unknown(lets.push(make_call(callee->name, names(args), call->attrs, call->type_args)));
      out->kind = Value::Data;
      out->constructor = Constructor(constructor);
      out->fields = std::move(args);
      return out;
    }
    if (callee->kind == Value::Closure && may_inline(callee->function, call)) return inlined(callee, call, args, lets);
    store_.clear();  // whatever is called may write
    return unknown(lets.push(make_call(callee->name, names(args), call->attrs, call->type_args, call->span)));
  }

  bool may_inline(const Function& function, const Call* call) {
    if (function->params.size() != call->args.size()) return false;
    if (!function->type_params.empty() && function->type_params.size() != call->type_args.size()) return false;
    if (++steps_ > kMaxSteps) return false;
    const std::vector<int>& active = active_[function.get()];
    if (active.empty()) return true;
    return active.back() == branches_ && active.size() < kMaxActive;
  }

  ValuePtr inlined(const ValuePtr& callee, const Call* call, const std::vector<ValuePtr>& args, LetList& lets) {
    Function function = callee->function;
    if (!function->type_params.empty()) function = instantiated(function, call->type_args);
    auto inner = std::make_shared<Env>(Env{callee->env, {}});
    for (size_t i = 0; i < args.size(); ++i) inner->values[function->params[i].get()] = args[i];
    active_[callee->function.get()].push_back(branches_);
    kept_.push_back(function);
    ValuePtr out = eval(function->body, inner, lets);
    active_[callee->function.get()].pop_back();
    return out;
  }

  ValuePtr apply_operator(const Op& op, const Call* call, const std::vector<ValuePtr>& args, LetList& lets) {
    Attrs attrs = call->op.as<OpNode>() ? call->attrs : Attrs(nullptr);
    if (std::optional<NDArray> known = fold(op, attrs, args)) return tensor_value(*known, lets);
    return unknown(lets.push(make_call(op, names(args), attrs, call->type_args, call->span)));
  }

  /// The value of an operator of known tensors; nothing when it may do more than compute, or when that does not work.
  static std::optional<NDArray> fold(const Op& op, const Attrs& attrs, const std::vector<ValuePtr>& args) {
    auto is_set = [&](const char* slot) {
      Any value = op.slot(slot);
      return !value.is_null() && value.to<bool>();
    };
    if (args.empty() || is_set(kIsStateful) || is_set(kNonComputational)) return std::nullopt;
    Array<Expr> operands;
    for (const ValuePtr& arg : args) {
      if (arg->kind != Value::Tensor) return std::nullopt;
      operands.push_back(make_constant(arg->tensor));
    }
    Expr folded = fold_constant(infer_type(make_call(op, operands, attrs)));
    auto* constant = folded.as<Constant>();
    return constant ? std::optional<NDArray>(constant->data) : std::nullopt;
  }

  // ---- choices -----------------------------------------------------------------------------------------------------

  /// What is done when it is not known whether it happens: references are not known afterwards.
  template <class F>
  Expr maybe(F&& eval_body) {
    auto store = store_;
    ++branches_;
    Expr out = with_lets(eval_body);
    --branches_;
    store_ = std::move(store);
    return out;
  }

  ValuePtr branch(const If* cond, const EnvPtr& env, LetList& lets) {
    ValuePtr test = step(cond->cond, env, lets);
    if (test->kind == Value::Tensor) {
      bool yes = *test->tensor.copy_to(cpu()).data<uint8_t>() != 0;
      return eval(yes ? cond->true_branch : cond->false_branch, env, lets);
    }
    If out(*cond);
    out.checked_type_ = nullptr;
    out.cond = test->name;
    out.true_branch = maybe([&](LetList& own) { return eval(cond->true_branch, env, own)->name; });
    out.false_branch = maybe([&](LetList& own) { return eval(cond->false_branch, env, own)->name; });
    store_.clear();
    return unknown(lets.push(make(std::move(out))));
  }

  enum class Fit { Yes, No, Unknown };

  /// Does the value fit; binds the variables of the pattern on the way.
  Fit fit(const Pattern& pattern, const ValuePtr& value, Env* env) {
    if (pattern.as<PatternWildcard>()) return Fit::Yes;
    if (auto* var = pattern.as<PatternVar>()) return env->values[var->var.get()] = value, Fit::Yes;
    auto* made = pattern.as<PatternConstructor>();
    if (made && value->kind == Value::Data && !made->constructor.same_as(value->constructor)) return Fit::No;
    if (value->kind != (made ? Value::Data : Value::Fields)) return Fit::Unknown;
    const Array<Pattern>& parts = made ? made->patterns : pattern.as<PatternTuple>()->patterns;
    Fit out = Fit::Yes;
    for (size_t i = 0; i < parts.size(); ++i) {
      Fit part = fit(parts[i], value->fields.at(i), env);
      if (part == Fit::No) return part;
      if (part == Fit::Unknown) out = part;
    }
    return out;
  }

  ValuePtr choose(const Match* match, const EnvPtr& env, LetList& lets) {
    ValuePtr data = step(match->data, env, lets);
    for (const Clause& clause : match->clauses) {
      Fit fits = fit(clause->lhs, data, env.get());
      if (fits == Fit::Yes) return eval(clause->rhs, env, lets);
      if (fits == Fit::Unknown) break;
    }
    Match out(*match);
    out.checked_type_ = nullptr;
    out.data = data->name;
    out.clauses = {};
    for (const Clause& clause : match->clauses) {
      ClauseNode next(*clause.get());
      for (const Var& var : pattern_vars(clause->lhs)) env->values[var.get()] = unknown(var);
      next.rhs = maybe([&](LetList& own) { return eval(clause->rhs, env, own)->name; });
      out.clauses.push_back(downcast<Clause>(with_own_variables(make(std::move(next)))));
    }
    store_.clear();
    return unknown(lets.push(make(std::move(out))));
  }

  /// A clause may be evaluated several times; each copy binds variables of its own.
  static ObjectRef with_own_variables(const Clause& clause) {
    Match alone;
    alone.data = make_tuple({});
    alone.clauses = {clause};
    std::unordered_map<const Object*, Expr> fresh;
    for (const Var& var : pattern_vars(clause->lhs)) fresh.emplace(var.get(), fresh_copy(var));
    Expr out = rename(make(std::move(alone)), [&](const Var& var) {
      auto it = fresh.find(var.get());
      return it == fresh.end() ? Expr(nullptr) : it->second;
    });
    return out.as<Match>()->clauses[0];
  }

  // ---- references --------------------------------------------------------------------------------------------------

  ValuePtr reference(const Expr& expr, const EnvPtr& env, LetList& lets) {
    if (auto* create = expr.as<RefCreate>()) {
      ValuePtr value = step(create->value, env, lets);
      RefCreate node;
      node.value = value->name;
      ValuePtr out = unknown(lets.push(make(std::move(node))));
      out->kind = Value::Reference;
      store_[out.get()] = value;
      references_.push_back(out);
      return out;
    }
    if (auto* read = expr.as<RefRead>()) {
      ValuePtr ref = step(read->ref, env, lets);
      if (auto it = store_.find(ref.get()); it != store_.end()) return it->second;
      RefRead node;
      node.ref = ref->name;
      return unknown(lets.push(make(std::move(node))));
    }
    auto* write = expr.as<RefWrite>();
    if (!write) throw Error(NotImplementedError) << "PartialEvaluate does not know " << expr->type_key();
    ValuePtr ref = step(write->ref, env, lets), value = step(write->value, env, lets);
    RefWrite node;
    node.ref = ref->name;
    node.value = value->name;
    ValuePtr out = unknown(lets.push(make(std::move(node))));
    if (ref->kind != Value::Reference) store_.clear();  // it may be any of them
    else store_[ref.get()] = value;
    return out;
  }

  IRModule mod_;
  std::unordered_map<std::string, ValuePtr> globals_;
  std::unordered_map<const Value*, ValuePtr> store_;            // what references hold, where that is known
  std::unordered_map<const Object*, std::vector<int>> active_;  // functions being inlined: branches_ at entry
  std::vector<ValuePtr> references_;                            // kept alive: their addresses are keys
  std::vector<EnvPtr> closures_;                                // point at themselves; freed at the end
  std::vector<Function> kept_;
  int branches_ = 0;  // conditions around that are not known
  int steps_ = 0;

 public:
  ~PartialEvaluator() {
    for (const EnvPtr& env : closures_) env->values.clear();
  }
};

}  // namespace

IRModule partial_evaluate(const IRModule& given) {
  IRModule mod = infer_type(given), out = mod.copy();
  for (const auto& [var, function] : mod.sorted_functions()) {
    auto* relay = function.as<FunctionNode>();
    if (!relay || is_kernel(relay)) continue;
    out.update(var, PartialEvaluator(mod).run(var));
  }
  return infer_type(out);
}

}  // namespace tessera::relay

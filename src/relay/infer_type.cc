#include "relay/infer_type.h"

#include <algorithm>

#include "base/stack.h"
#include "ir/diagnostic.h"
#include "ir/rewrite.h"
#include "ir/structural_equal.h"
#include "relay/pattern.h"
#include "relay/print_text.h"
#include "relay/type_rule.h"
#include "relay/type_solver.h"
#include "runtime/registry.h"

namespace tessera::relay {

Type without_any_inside(const Type& type) {
  if (auto* tensor = type.as<TensorTypeNode>()) {
    Array<PrimExpr> shape = tensor->shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      PrimExpr extent = shape[i];
      if (as_int(extent) || is_any(extent)) continue;
      PrimExpr any;
      walk(extent, [&](const AnyDim* inside) { any = PrimExpr(inside); });
      if (any) shape.set(i, any);
    }
    return with(tensor, &TensorTypeNode::shape, shape);
  }
  auto* tuple = type.as<TupleType>();
  if (!tuple) return type;
  Array<Type> fields = tuple->fields_;
  for (size_t i = 0; i < fields.size(); ++i) {
    Type field = without_any_inside(fields[i]);
    if (!field.same_as(fields[i])) fields.set(i, field);
  }
  return with(tuple, &TupleType::fields_, fields);
}

namespace {

/// How a call is named in messages: its operator, function or global, and what is known of its arguments.
std::string describe(const Call* call, TypeSolver& solver, const std::vector<Type>& args) {
  std::string out = call->op.as<OpNode>()            ? std::string(call->op.as<OpNode>()->name)
                    : call->op.as<GlobalVarNode>()   ? "@" + std::string(call->op.as<GlobalVarNode>()->name_hint)
                    : call->op.as<VarNode>()         ? "%" + std::string(call->op.as<VarNode>()->name_hint())
                    : call->op.as<ConstructorNode>() ? std::string(call->op.as<ConstructorNode>()->name_hint)
                                                     : std::string("fn");
  out += "(";
  for (size_t i = 0; i < args.size(); ++i) {
    Type type = solver.resolve(args[i]);
    out += (i ? ", " : "") + (type.as<IncompleteType>() ? std::string("?") : type_text(type));
  }
  return out + ")";
}

class SolverQuery final : public TypeQuery {
 public:
  SolverQuery(TypeSolver& solver, std::vector<Type> resolved, const Attrs& attrs, Type out)
      : TypeQuery(std::move(resolved), attrs), solver_(solver), out_(std::move(out)) {}
  void result(const Type& type) override { solver_.unify(out_, without_any_inside(type)); }
  void argument(int i, const Type& given) override { solver_.unify(type(i), given); }

 private:
  TypeSolver& solver_;
  Type out_;
};

/// The same where all arguments are known: the result needs no hole to be put into.
class KnownQuery final : public TypeQuery {
 public:
  KnownQuery(TypeSolver& solver, std::vector<Type> args, const Attrs& attrs)
      : TypeQuery(std::move(args), attrs), solver_(solver) {}
  void result(const Type& type) override {
    Type said = without_any_inside(type);
    out = out ? solver_.unify(out, said) : said;
  }
  void argument(int i, const Type& given) override { solver_.unify(type(i), given); }
  Type out;

 private:
  TypeSolver& solver_;
};

/// First pass: a type, perhaps with holes, for every expression.
class Inference {
 public:
  explicit Inference(IRModule mod) : mod_(std::move(mod)) {}

  Type visit(const Expr& expr) {
    if (auto it = types_.find(expr.get()); it != types_.end()) return it->second;
    Type type = on_enough_stack([&] { return infer(expr); });
    return types_.insert_or_assign(expr.get(), std::move(type)).first->second;
  }

  Type global(const GlobalVar& var) {
    if (auto it = types_.find(var.get()); it != types_.end()) return it->second;
    BaseFunc function = mod_->functions.get_or_null(var);
    if (!function) throw Error(DiagnosticError) << "there is no function @" << var->name_hint << " in the module";
    if (!function.as<FunctionNode>()) {  // a loop program: its type is what it was given
      if (!function->checked_type_)
        throw Error(DiagnosticError) << "@" << var->name_hint << " is not a Relay function and has no type";
      return types_[var.get()] = function->checked_type_;
    }
    // Recursive uses see the signature as far as it is written.
    auto* relay = function.as<FunctionNode>();
    types_[var.get()] = signature(relay);
    return types_[var.get()] = solver.unify(types_[var.get()], visit(function));
  }

  void finish() {
    solver.solve();
    if (errors_.empty()) return;
    std::string text;
    for (const std::string& error : errors_) text += (text.empty() ? "" : "\n") + error;
    show_to_user(mod_, diagnostics_);
    throw Error(DiagnosticError) << text;
  }

  void report(const std::string& message, const Span& span) {
    if (errors_.size() >= kMostErrors) return;
    errors_.push_back(message + place(span));
    diagnostics_.push_back(make_diagnostic(DiagnosticLevel::Error, span, String(message)));
  }
  /// Where that is in the text the module was read from, if it was.
  std::string place(const Span& span) const {
    std::string shown = underlined(span, mod_->source_map);
    return shown.empty() ? "" : "\n" + shown;
  }

  const Type* find(const Object* expr) const {
    auto it = types_.find(expr);
    return it == types_.end() ? nullptr : &it->second;
  }
  const Array<Type>* type_args(const Object* call) const {
    auto it = type_args_.find(call);
    return it == type_args_.end() ? nullptr : &it->second;
  }

  TypeSolver solver;

 private:
  static constexpr size_t kMostErrors = 20;

  /// Unifies, or notes the error and goes on with `a`.
  Type same(const Type& a, const Type& b, const std::string& what, const Span& span) {
    try {
      return solver.unify(a, b);
    } catch (Error& error) {
      report(what + ": " + error.message(), span);
      return a;
    }
  }

  Type signature(const FunctionNode* function) {
    FuncType type;
    for (const Var& param : function->params) type.arg_types.push_back(visit(param));
    type.ret_type = function->ret_type ? function->ret_type : solver.hole();
    type.type_params = function->type_params;
    return make(std::move(type));
  }

  /// A function type with fresh holes (or the given types) for its parameters.
  Type instantiate(const Type& type, const Array<Type>& given, Array<Type>* used) {
    auto* func = type.as<FuncType>();
    if (!func || func->type_params.empty()) return type;
    if (!given.empty() && given.size() != func->type_params.size())
      throw Error(TypeError) << "the function takes " << func->type_params.size() << " type arguments, " << given.size()
                             << " are given";
    std::unordered_map<const Object*, Type> by;
    for (size_t i = 0; i < func->type_params.size(); ++i) {
      used->push_back(given.empty() ? solver.hole(func->type_params[i]->kind) : given[i]);
      by.emplace(func->type_params[i].get(), used->back());
    }
    FuncType out;
    for (const Type& arg : func->arg_types) out.arg_types.push_back(substitute_types(solver.resolve(arg), by));
    out.ret_type = substitute_types(solver.resolve(func->ret_type), by);
    return make(std::move(out));
  }

  Type constructor_type(const ConstructorNode* constructor) {
    auto* data = mod_->type_definitions.get_or_null(constructor->belong_to).as<TypeDataNode>();
    if (!data)
      throw Error(DiagnosticError) << "the data type " << constructor->belong_to->name_hint << " of "
                                   << constructor->name_hint << " is not defined in the module";
    FuncType type;
    type.arg_types = constructor->inputs;
    type.ret_type = make(TypeCall{.func = constructor->belong_to, .args = Array<Type>(data->type_vars)});
    type.type_params = data->type_vars;
    return make(std::move(type));
  }

  Type infer(const Expr& expr) {
    if (auto* call = expr.as<Call>()) return infer_call(call);
    if (auto* var = expr.as<VarNode>()) return var->type_annotation ? var->type_annotation : solver.hole();
    if (auto* constant = expr.as<Constant>()) {
      Array<PrimExpr> shape;
      for (int64_t extent : constant->data.shape()) shape.push_back(int_imm(DataType::Int(32), extent));
      return TensorType(shape, constant->data.dtype());
    }
    if (auto* tuple = expr.as<Tuple>()) {
      TupleType type;
      for (const Expr& field : tuple->fields_) type.fields_.push_back(visit(field));
      return make(std::move(type));
    }
    if (auto* get = expr.as<TupleGetItem>()) return infer_get(get);
    if (expr.as<Let>()) return infer_lets(expr);
    if (auto* branch = expr.as<If>()) {
      same(visit(branch->cond), TensorType::scalar(DataType::Bool()), "the condition of an if must be a bool",
           branch->span);
      Type then = visit(branch->true_branch);
      return same(then, visit(branch->false_branch), "the branches of an if must have one type", branch->span);
    }
    if (auto* function = expr.as<FunctionNode>()) return infer_function(function);
    if (auto* var = expr.as<GlobalVarNode>()) return global(GlobalVar(var));
    if (auto* constructor = expr.as<ConstructorNode>()) return constructor_type(constructor);
    if (auto* match = expr.as<Match>()) return infer_match(match);
    if (auto* ref = expr.as<RefCreate>()) return make(RefType{.value = visit(ref->value)});
    if (auto* read = expr.as<RefRead>()) {
      Type value = solver.hole();
      same(make(RefType{.value = value}), visit(read->ref), "ref_read", read->span);
      return value;
    }
    if (auto* write = expr.as<RefWrite>()) {
      same(make(RefType{.value = visit(write->value)}), visit(write->ref), "ref_write", write->span);
      return void_type();
    }
    if (auto* op = expr.as<OpNode>()) {
      if (op->op_type) return op->op_type;
      throw Error(DiagnosticError) << "the operator " << op->name << " can only be called, not used as a value";
    }
    if (expr->checked_type_) return expr->checked_type_;
    throw Error(DiagnosticError) << "the type of a " << expr->type_key() << " cannot be inferred";
  }

  Type infer_get(const TupleGetItem* get) {
    Type tuple = visit(get->tuple), out = solver.hole();
    Ref<TupleGetItem> keep(get);
    solver.ask({tuple}, [this, keep, tuple, out] {
      Type known = solver.head(tuple);
      if (known.as<IncompleteType>()) return false;
      auto* fields = known.as<TupleType>();
      if (!fields)
        report("field " + std::to_string(keep->index) + " of a value that is no tuple but " + type_text(known),
               keep->span);
      else if (keep->index < 0 || static_cast<size_t>(keep->index) >= fields->fields_.size())
        report("field " + std::to_string(keep->index) + " of a tuple that has " +
                   std::to_string(fields->fields_.size()) + " fields",
               keep->span);
      else same(out, fields->fields_[keep->index], "a field of a tuple", keep->span);
      return true;
    });
    return out;
  }

  Type infer_lets(const Expr& first) {
    std::vector<const Let*> chain;
    Expr at = first;
    while (auto* let = at.as<Let>()) {
      chain.push_back(let);
      Type var = visit(let->var);
      if (auto* function = let->value.as<FunctionNode>(); function && !let->var->type_annotation)
        var = solver.unify(var, signature(function));  // it may use its own name
      types_[let->var.get()] = same(var, visit(let->value), "let %" + std::string(let->var->name_hint()), let->span);
      at = let->body;
      if (types_.count(at.get())) break;
    }
    Type body = visit(at);
    for (const Let* let : chain) types_[let] = body;
    return body;
  }

  Type infer_function(const FunctionNode* function) {
    Type written = signature(function);
    Type body = visit(function->body);
    auto* type = written.as<FuncType>();
    Type ret = same(type->ret_type, body, "a function returns another type than it says", function->span);
    return with(type, &FuncType::ret_type, ret);
  }

  Type infer_call(const Call* call) {
    std::vector<Type> args;
    for (const Expr& arg : call->args) args.push_back(visit(arg));
    if (auto* op = call->op.as<OpNode>()) return infer_op_call(call, Op(op), std::move(args));
    Type out = solver.hole();
    Type callee = visit(call->op);
    Ref<Call> keep(call);
    solver.ask({callee}, [this, keep, callee, args, out] {
      Type known = solver.head(callee);
      if (known.as<IncompleteType>() && !args_settled(args)) return false;
      apply(keep.get(), known, args, out);
      return true;
    });
    return out;
  }

  /// A callee of unknown type is taken to be a plain function of these arguments, once those are known.
  bool args_settled(const std::vector<Type>& args) {
    for (const Type& arg : args)
      if (solver.head(arg).as<IncompleteType>()) return false;
    return true;
  }

  void apply(const Call* call, const Type& callee, const std::vector<Type>& args, const Type& out) {
    try {
      Array<Type> used;
      Type type = instantiate(callee, call->type_args, &used);
      if (!used.empty()) type_args_[call] = used;
      auto* func = type.as<FuncType>();
      if (func && func->arg_types.size() != args.size())
        throw Error(TypeError) << "the function takes " << func->arg_types.size() << " arguments, " << args.size()
                               << " are given";
      FuncType wanted;
      for (const Type& arg : args) wanted.arg_types.push_back(arg);
      wanted.ret_type = out;
      solver.unify(type, make(std::move(wanted)));
    } catch (Error& error) {
      report("in the call " + describe(call, solver, args) + ": " + error.message(), call->span);
    }
  }

  Type infer_op_call(const Call* call, const Op& op, std::vector<Type> args) {
    auto* slot = cast_or_null<TypeRuleSlot>(op.slot(kTypeRule).object());
    if (!slot) {
      report("the operator " + std::string(op->name) + " has no type rule", call->span);
    } else if (op->num_inputs >= 0 && static_cast<int>(args.size()) != op->num_inputs) {
      report(std::string(op->name) + " takes " + std::to_string(op->num_inputs) + " arguments, " +
                 std::to_string(args.size()) + " are given",
             call->span);
    } else {
      if (Type direct = rule_of_known(call, slot, args)) return direct;
      Type out = solver.hole();
      ask_rule(call, slot, std::move(args), out);
      return out;
    }
    return solver.hole();
  }

  /// What the rule says at once when all arguments are known, as in most programs: no holes and no questions. The type that
  /// the call has already is kept where it is that. Null when the rule has to be asked the long way.
  Type rule_of_known(const Call* call, const TypeRuleSlot* slot, const std::vector<Type>& args) {
    for (const Type& arg : args)
      if (!is_of_tensors(arg)) return nullptr;
    KnownQuery query(solver, args, call->attrs);
    try {
      if (!slot->rule(query) || !query.out) return nullptr;
    } catch (Error& error) {
      report(describe(call, solver, args) + ": " + error.message(), call->span);
      return solver.hole();
    }
    const Type& before = call->checked_type_;
    return before && structural_equal(before, query.out) ? before : query.out;
  }

  static bool is_of_tensors(const Type& type) {
    if (type.as<TensorTypeNode>()) return true;
    auto* tuple = type.as<TupleType>();
    if (!tuple) return false;
    return std::all_of(tuple->fields_.begin(), tuple->fields_.end(), [](const Type& t) { return is_of_tensors(t); });
  }

  void ask_rule(const Call* call, const TypeRuleSlot* slot, std::vector<Type> args, const Type& out) {
    Ref<Call> keep(call);
    Ref<TypeRuleSlot> rule(slot);
    std::vector<Type> about = args;
    solver.ask(std::move(about), [this, keep, rule, args, out] {
      try {
        std::vector<Type> known;
        for (const Type& arg : args) known.push_back(solver.resolve(arg));
        SolverQuery query(solver, std::move(known), keep->attrs, out);
        return rule->rule(query);
      } catch (Error& error) {
        report(describe(keep.get(), solver, args) + ": " + error.message(), keep->span);
        return true;
      }
    });
  }

  Type infer_match(const Match* match) {
    Type data = visit(match->data), out = solver.hole();
    for (const Clause& clause : match->clauses) {
      bind_pattern(clause->lhs, data);
      out = same(out, visit(clause->rhs), "the clauses of a match must have one type", match->span);
    }
    return out;
  }

  void bind_pattern(const Pattern& pattern, const Type& type) {
    if (auto* var = pattern.as<PatternVar>()) {
      same(visit(var->var), type, "a pattern", pattern->span);
    } else if (auto* made = pattern.as<PatternConstructor>()) {
      Array<Type> used;
      Type maker = instantiate(constructor_type(made->constructor.get()), {}, &used);
      auto* func = maker.as<FuncType>();
      same(func->ret_type, type, "a pattern of " + std::string(made->constructor->name_hint), pattern->span);
      if (func->arg_types.size() != made->patterns.size())
        return report(std::string(made->constructor->name_hint) + " has " + std::to_string(func->arg_types.size()) +
                          " fields, the pattern " + std::to_string(made->patterns.size()),
                      pattern->span);
      for (size_t i = 0; i < made->patterns.size(); ++i) bind_pattern(made->patterns[i], func->arg_types[i]);
    } else if (auto* tuple = pattern.as<PatternTuple>()) {
      TupleType parts;
      for (size_t i = 0; i < tuple->patterns.size(); ++i) parts.fields_.push_back(solver.hole());
      Array<Type> fields = parts.fields_;
      same(make(std::move(parts)), type, "a pattern", pattern->span);
      for (size_t i = 0; i < tuple->patterns.size(); ++i) bind_pattern(tuple->patterns[i], fields[i]);
    }
  }

  IRModule mod_;
  std::unordered_map<const Object*, Type> types_;  // the expressions are kept alive by the module or the root
  std::unordered_map<const Object*, Array<Type>> type_args_;
  std::vector<std::string> errors_;
  Array<Diagnostic> diagnostics_;  // the same, for a renderer of the user's
};

/// Second pass: the same expressions with their types attached.
class Attach {
 public:
  explicit Attach(Inference& types) : types_(types) {}

  Expr operator()(const Expr& expr) {
    if (auto it = done_.find(expr.get()); it != done_.end()) return it->second.second;
    Expr out = expr.as<Let>() ? lets(expr) : on_enough_stack([&] { return typed(expr, rebuild(expr)); });
    done_[expr.get()] = {expr, out};
    return out;
  }

 private:
  template <class T>
  Array<T> all(const Array<T>& items) {
    Array<T> out = items;
    for (size_t i = 0; i < items.size(); ++i) {
      T item = downcast<T>((*this)(items[i]));
      if (!item.same_as(items[i])) out.set(i, item);
    }
    return out;
  }

  Type type_of(const Expr& expr) {
    const Type* found = types_.find(expr.get());
    if (!found) return expr->checked_type_;
    Type type = types_.solver.resolve(*found);
    if (type.as<IncompleteType>()) {
      std::string what = expr.as<VarNode>() ? "%" + std::string(expr.as<VarNode>()->name_hint()) : "an expression";
      if (auto* call = expr.as<Call>()) what = "the call " + describe(call, types_.solver, arg_types(call));
      throw Error(DiagnosticError) << "the type of " << what << " cannot be inferred; annotate it"
                                   << types_.place(expr->span);
    }
    return type;
  }

  std::vector<Type> arg_types(const Call* call) {
    std::vector<Type> out;
    for (const Expr& arg : call->args)
      if (const Type* type = types_.find(arg.get())) out.push_back(*type);
    return out;
  }

  static bool same_type(const Type& a, const Type& b) { return a.same_as(b) || structural_equal(a, b); }

  /// `after` with the type of `before`; the same object when it has that type already.
  Expr typed(const Expr& before, Expr after) {
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

  Expr rebuild(const Expr& expr) {
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

  static bool has_hole(const Type& type) {
    std::vector<Type> holes;
    collect_holes(type, &holes);
    return !holes.empty();
  }

  Expr rebuild_match(const Match* match) {
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

  Expr lets(const Expr& first) {
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

  Inference& types_;
  std::unordered_map<const Object*, std::pair<Expr, Expr>> done_;
};

}  // namespace

namespace {

/// What this thread typed last. Functions do not change once made, so a module that has the very same ones needs no second
/// look: passes follow each other, and most change nothing. Maps are copied when they are changed while someone holds them.
struct LastTyped {
  Map<GlobalVar, BaseFunc> functions{nullptr};
  ObjectRef data_types;
};
thread_local LastTyped last_typed;

}  // namespace

void forget_typed() { last_typed = {}; }

IRModule infer_type(const IRModule& mod) {
  if (mod->functions.defined() && mod->functions.same_as(last_typed.functions) &&
      mod->type_definitions.same_as(last_typed.data_types))
    return mod.copy();
  Inference inference(mod);
  for (const auto& [var, function] : mod.sorted_functions())
    if (function.as<FunctionNode>()) inference.global(var);
  inference.finish();
  Attach attach(inference);
  IRModule out = mod.copy();
  for (const auto& [var, function] : mod.sorted_functions()) {
    if (!function.as<FunctionNode>()) continue;
    BaseFunc typed = downcast<BaseFunc>(attach(function));
    var->checked_type_ = typed->checked_type_;
    if (!typed.same_as(function)) out.update(var, typed);
  }
  last_typed = {out->functions, out->type_definitions};
  return out;
}

Expr infer_type(const Expr& expr, const IRModule& mod) {
  Inference inference(mod);
  inference.visit(expr);
  inference.finish();
  return Attach(inference)(expr);
}

static Globals globals{
    {"relay._transform.InferType",
     [] { return module_pass("InferType", [](IRModule mod) { return infer_type(mod); }); }},
    {"relay._transform.InferTypeLocal", [](Expr expr) { return checked_type(infer_type(expr)); }},
    {"relay.transform.infer_type_expr", [](Expr expr, IRModule mod) { return infer_type(expr, mod); }},
};

}  // namespace tessera::relay

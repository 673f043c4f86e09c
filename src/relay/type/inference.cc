#include "relay/type/inference.h"

#include "base/stack.h"
#include "relay/print_text.h"
#include "relay/type/infer_type.h"

namespace tessera::relay {

Type Inference::visit(const Expr& expr) {
  if (auto it = types_.find(expr.get()); it != types_.end()) return it->second;
  Type type = on_enough_stack([&] { return infer(expr); });
  return types_.insert_or_assign(expr.get(), std::move(type)).first->second;
}

Type Inference::global(const GlobalVar& var) {
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

void Inference::finish() {
  solver.solve();
  if (errors_.empty()) return;
  std::string text;
  for (const std::string& error : errors_) text += (text.empty() ? "" : "\n") + error;
  show_to_user(mod_, diagnostics_);
  throw Error(DiagnosticError) << text;
}

void Inference::report(const std::string& message, const Span& span) {
  if (errors_.size() >= kMaxErrors) return;
  errors_.push_back(message + shown_at(span));
  diagnostics_.push_back(make_diagnostic(DiagnosticLevel::Error, span, String(message)));
}

std::string Inference::shown_at(const Span& span) const {
  std::string shown = underlined(span, mod_->source_map);
  return shown.empty() ? "" : "\n" + shown;
}

const Type* Inference::find(const Object* expr) const {
  auto it = types_.find(expr);
  return it == types_.end() ? nullptr : &it->second;
}

const Array<Type>* Inference::type_args(const Object* call) const {
  auto it = type_args_.find(call);
  return it == type_args_.end() ? nullptr : &it->second;
}

Type Inference::same(const Type& a, const Type& b, const std::string& what, const Span& span) {
  try {
    return solver.unify(a, b);
  } catch (Error& error) {
    report(what + ": " + error.message(), span);
    return a;
  }
}

Type Inference::signature(const FunctionNode* function) {
  FuncType type;
  for (const Var& param : function->params) type.arg_types.push_back(visit(param));
  type.ret_type = function->ret_type ? function->ret_type : solver.hole();
  type.type_params = function->type_params;
  return make(std::move(type));
}

Type Inference::constructor_type(const ConstructorNode* constructor) {
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

Type Inference::infer(const Expr& expr) {
  if (auto* call = expr.as<Call>()) return infer_call(call);
  if (auto* var = expr.as<VarNode>()) {
    if (!var->type_annotation) return solver.hole();
    try {
      valid_type(var->type_annotation);
    } catch (Error& error) {
      report("%" + std::string(var->name_hint()) + ": " + error.message(), var->span);
    }
    return var->type_annotation;
  }
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

Type Inference::infer_get(const TupleGetItem* get) {
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
      report("field " + std::to_string(keep->index) + " of a tuple that has " + std::to_string(fields->fields_.size()) +
                 " fields",
             keep->span);
    else same(out, fields->fields_[keep->index], "a field of a tuple", keep->span);
    return true;
  });
  return out;
}

Type Inference::infer_lets(const Expr& first) {
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

Type Inference::infer_function(const FunctionNode* function) {
  Type written = signature(function);
  Type body = visit(function->body);
  auto* type = written.as<FuncType>();
  Type ret = same(type->ret_type, body, "a function returns another type than it says", function->span);
  return with(type, &FuncType::ret_type, ret);
}

Type Inference::infer_match(const Match* match) {
  Type data = visit(match->data), out = solver.hole();
  for (const Clause& clause : match->clauses) {
    bind_pattern(clause->lhs, data);
    out = same(out, visit(clause->rhs), "the clauses of a match must have one type", match->span);
  }
  return out;
}

void Inference::bind_pattern(const Pattern& pattern, const Type& type) {
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

}  // namespace tessera::relay

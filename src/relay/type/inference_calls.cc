// Types of calls: of functions by unification, of operators by what their rules say.

#include <algorithm>

#include "ir/structural/equal.h"
#include "relay/print_text.h"
#include "relay/type/infer_type.h"
#include "relay/type/inference.h"

namespace tessera::relay {
namespace {

class SolverQuery final : public TypeQuery {
 public:
  SolverQuery(TypeSolver& solver, std::vector<Type> resolved, const Attrs& attrs, Type out)
      : TypeQuery(std::move(resolved), attrs), solver_(solver), out_(std::move(out)) {}
  void result(const Type& type) override { solver_.unify(out_, valid_type(type)); }
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
    Type said = valid_type(type);
    out = out ? solver_.unify(out, said) : said;
  }
  void argument(int i, const Type& given) override { solver_.unify(type(i), given); }
  Type out;

 private:
  TypeSolver& solver_;
};

}  // namespace

std::string wrong_number_of_arguments(const Op& op, size_t given) {
  if (op->num_inputs < 0 || static_cast<size_t>(op->num_inputs) == given) return {};
  return std::string(op->name) + " takes " + std::to_string(op->num_inputs) + " arguments, " + std::to_string(given) +
         " are given";
}

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

Type Inference::instantiate(const Type& type, const Array<Type>& given, Array<Type>* used) {
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

Type Inference::infer_call(const Call* call) {
  std::vector<Type> args;
  for (const Expr& arg : call->args) args.push_back(visit(arg));
  if (auto* op = call->op.as<OpNode>()) return infer_op_call(call, Op(op), std::move(args));
  Type out = solver.hole();
  Type callee = visit(call->op);
  Ref<Call> keep(call);
  solver.ask({callee}, [this, keep, callee, args, out] {
    Type known = solver.head(callee);
    if (known.as<IncompleteType>() && !args_inferred(args)) return false;
    apply(keep.get(), known, args, out);
    return true;
  });
  return out;
}

bool Inference::args_inferred(const std::vector<Type>& args) {
  for (const Type& arg : args)
    if (solver.head(arg).as<IncompleteType>()) return false;
  return true;
}

void Inference::apply(const Call* call, const Type& callee, const std::vector<Type>& args, const Type& out) {
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

Type Inference::infer_op_call(const Call* call, const Op& op, std::vector<Type> args) {
  auto* slot = cast_or_null<TypeRuleSlot>(op.slot(kTypeRule).object());
  if (!slot) {
    report("the operator " + std::string(op->name) + " has no type rule", call->span);
  } else if (std::string fault = wrong_number_of_arguments(op, args.size()); !fault.empty()) {
    report(fault, call->span);
  } else {
    if (Type direct = rule_of_known(call, slot, args)) return direct;
    Type out = solver.hole();
    ask_rule(call, slot, std::move(args), out);
    return out;
  }
  return solver.hole();
}

Type Inference::rule_of_known(const Call* call, const TypeRuleSlot* slot, const std::vector<Type>& args) {
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

bool Inference::is_of_tensors(const Type& type) {
  if (type.as<TensorTypeNode>()) return true;
  auto* tuple = type.as<TupleType>();
  if (!tuple) return false;
  return std::all_of(tuple->fields_.begin(), tuple->fields_.end(), [](const Type& t) { return is_of_tensors(t); });
}

void Inference::ask_rule(const Call* call, const TypeRuleSlot* slot, std::vector<Type> args, const Type& out) {
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

}  // namespace tessera::relay

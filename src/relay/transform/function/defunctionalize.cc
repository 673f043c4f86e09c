// Programs whose functions are values become programs of the first order: a closure becomes data, what it captures, and a
// call of an unknown function becomes a call of `apply`, which looks at the data to see what is to be run:
//
//   @map(fn (%x: int32) { add(%x, %n) }, %xs)
//     =>   @map_0(Function0Case0(%n), %xs)
//          type Function0 { Function0Case0(int32) }                                  // functions from int32 to int32
//          def @apply0(%f: Function0, %x0: int32) { match (%f) { Function0Case0(%n) => add(%x0, %n) } }
//
// Functions of the module that are called get a copy for each of the types they are called with.

#include "relay/transform/function/defunctionalize.h"

#include "ir/module_types.h"
#include "ir/structural/equal.h"
#include "relay/make.h"
#include "relay/print_text.h"
#include "relay/rename.h"
#include "relay/transform/function/normal_form.h"
#include "relay/transform/gradient/first_order_body.h"
#include "relay/transform/pass.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

// More come from functions that call themselves with ever larger types.
constexpr size_t kMaxInstances = 2000;
constexpr int kMaxTypeParts = 1000;

/// The parts of a type as it is written, counted up to a little more than `most`.
int count_parts(const Type& type, int most) {
  int out = 1;
  auto add = [&](const Array<Type>& parts) {
    for (const Type& part : parts)
      if (out <= most) out += count_parts(part, most - out);
  };
  if (auto* tuple = type.as<TupleType>()) add(tuple->fields_);
  if (auto* call = type.as<TypeCall>()) add(call->args);
  if (auto* ref = type.as<RefType>()) add({ref->value});
  if (auto* func = type.as<FuncType>()) add(func->arg_types), add({func->ret_type});
  return out;
}

/// What the type variables in `open` must be for it to become `closed`.
void match_types(const Type& open, const Type& closed, std::unordered_map<const Object*, Type>* found) {
  if (open.as<TypeVarNode>()) {
    if (auto it = found->find(open.get()); it != found->end() && !it->second) it->second = closed;
    return;
  }
  auto all = [&](const Array<Type>& a, const Array<Type>& b) {
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) match_types(a[i], b[i], found);
  };
  auto *tuple = open.as<TupleType>(), *tuple_b = closed.as<TupleType>();
  if (tuple && tuple_b) all(tuple->fields_, tuple_b->fields_);
  auto *call = open.as<TypeCall>(), *call_b = closed.as<TypeCall>();
  if (call && call_b) all(call->args, call_b->args);
  auto *ref = open.as<RefType>(), *ref_b = closed.as<RefType>();
  if (ref && ref_b) match_types(ref->value, ref_b->value, found);
  auto *func = open.as<FuncType>(), *func_b = closed.as<FuncType>();
  if (!func || !func_b) return;
  all(func->arg_types, func_b->arg_types);
  match_types(func->ret_type, func_b->ret_type, found);
}

bool same_types(const Array<Type>& a, const Array<Type>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!structural_equal(a[i], b[i])) return false;
  return true;
}

[[noreturn]] void endless(const GlobalVar& global) {
  throw Error(ValueError) << "@" << global->name_hint
                          << " calls itself with ever larger types: it would need a copy for each of them";
}

}  // namespace

Array<Type> type_args_for(const Array<TypeVar>& params, const Type& type, const Type& wanted) {
  std::unordered_map<const Object*, Type> found;
  for (const TypeVar& param : params) found.emplace(param.get(), Type());
  match_types(type, wanted, &found);
  Array<Type> out;
  for (const TypeVar& param : params) out.push_back(found[param.get()] ? found[param.get()] : void_type());
  return out;
}

GlobalVar FirstOrderProgram::instance(const GlobalVar& global, const Array<Type>& type_args) {
  for (const Type& type : type_args)
    if (count_parts(type, kMaxTypeParts) > kMaxTypeParts) endless(global);
  std::vector<Instance>& known = instances_[global.get()];
  for (const Instance& instance : known)
    if (same_types(instance.type_args, type_args)) return instance.copy;
  if (++made_ > kMaxInstances) endless(global);
  std::string name = std::string(global->name_hint) + "_" + std::to_string(known.size());
  while (mod_.find_global_var(name)) name += "_0";
  GlobalVarNode node;
  node.name_hint = name;
  GlobalVar copy = make(std::move(node));
  known.push_back({type_args, copy});
  Function function = instantiated(lookup(global), type_args);
  mod_.update(copy, function);  // takes the name; the definition follows
  pending_.emplace_back(copy, function);
  return copy;
}

Expr FirstOrderProgram::named_function(const Expr& name, const Type& wanted) {
  FunctionKind& kind = types.kind(wanted);
  auto& known = named_[name.get()];
  for (const auto& [type, constructor] : known)
    if (structural_equal(type, wanted)) return make_call(constructor, {});
  Constructor made = types.new_constructor(kind, {});
  known.emplace_back(wanted, made);
  Array<Expr> args(kind.params.begin(), kind.params.end());
  Expr callee = name;
  if (auto* global = name.as<GlobalVarNode>()) {
    if (Function function = lookup(GlobalVar(global))) {
      Function known_type = typed(function);
      callee = instance(GlobalVar(global), type_args_for(function->type_params, checked_type(known_type), wanted));
    }
  } else {
    callee = types.constructor(downcast<Constructor>(name), kind.signature()->ret_type);
  }
  PatternConstructor lhs;
  lhs.constructor = made;
  kind.clauses.push_back(make(ClauseNode{.lhs = make(std::move(lhs)), .rhs = make_call(callee, args)}));
  return make_call(made, {});
}

Function FirstOrderProgram::changed(const Function& function) {
  Function normal = typed(to_a_normal_form(typed(function)));
  FirstOrderBody body(*this);
  Array<Var> params;
  for (const Var& param : normal->params) params.push_back(body.variable(param));
  const Type& result = checked_type(normal).as<FuncType>()->ret_type;
  return make_function(params, body.value(normal->body, result), types(result), {}, function->attrs, function->span);
}

void FirstOrderProgram::define_kinds() {
  for (FunctionKind& kind : types.kinds()) {
    TypeDataNode data{.header = kind.header};
    for (const Constructor& constructor : kind.constructors) data.constructors.push_back(constructor);
    update_type(mod_, kind.header, make(std::move(data)));
    Match match;
    Var function = make_local("f", kind.data_type);
    match.data = function;
    for (const Clause& clause : kind.clauses) match.clauses.push_back(clause);
    Array<Var> params{function};
    for (const Var& param : kind.params) params.push_back(param);
    mod_.update(kind.apply, make_function(params, make(std::move(match)), types(kind.signature()->ret_type)));
  }
}

Function FirstOrderProgram::run(const Function& given) {
  Function function = typed(given);
  if (!function->type_params.empty())
    throw Error(TypeError) << "Defunctionalization takes a function of one type; this one has type parameters";
  auto* signature = checked_type(function).as<FuncType>();
  Array<Type> visible = signature->arg_types;
  visible.push_back(signature->ret_type);
  for (const Type& type : visible)
    if (!structural_equal(types(type), type))
      throw Error(TypeError) << "Defunctionalization takes a function without functions among its arguments and in its "
                                "result, not one with "
                             << type_text(type);
  Function out = changed(function);
  while (!pending_.empty()) {
    auto [copy, body] = pending_.back();
    pending_.pop_back();
    mod_.update(copy, changed(body));
  }
  define_kinds();
  return typed(out);
}

static Globals defunctionalize_globals{
    {"relay._transform.Defunctionalization", [](Function f, IRModule mod) { return FirstOrderProgram(mod).run(f); }},
};

}  // namespace tessera::relay

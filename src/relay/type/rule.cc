#include "relay/type/rule.h"

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/structural/expr_equal.h"
#include "relay/print_text.h"
#include "relay/type/solver.h"
#include "runtime/registry.h"

namespace tessera::relay {

bool TypeQuery::is_known(int i) const {
  std::vector<Type> holes;
  collect_holes(args_[i], &holes);
  return holes.empty();
}

const TensorTypeNode* TypeQuery::tensor(int i) const {
  if (!is_known(i)) return nullptr;
  auto* out = type(i).as<TensorTypeNode>();
  if (!out) throw Error(TypeError) << "argument " << i << " must be a tensor, but is " << type_text(type(i));
  return out;
}

const TupleType* TypeQuery::tuple(int i) const {
  if (!is_known(i)) return nullptr;
  auto* out = type(i).as<TupleType>();
  if (!out) throw Error(TypeError) << "argument " << i << " must be a tuple, but is " << type_text(type(i));
  return out;
}

bool is_any(const PrimExpr& extent) { return extent.as<AnyDim>(); }

namespace {
thread_local ExtentAssumptions* current_assumptions = nullptr;
}

ExtentAssumptions::ExtentAssumptions() : outer_(current_assumptions) { current_assumptions = this; }
ExtentAssumptions::~ExtentAssumptions() { current_assumptions = outer_; }
ExtentAssumptions* ExtentAssumptions::current() { return current_assumptions; }

void assume(const PrimExpr& condition) {
  if (!current_assumptions) return;
  for (const PrimExpr& known : current_assumptions->conditions)
    if (expr_equal(known, condition)) return;
  current_assumptions->conditions.push_back(condition);
}

bool may_equal(const PrimExpr& a, const PrimExpr& b) {
  const int64_t *x = as_int(a), *y = as_int(b);
  if (x && y) return *x == *y;
  if (is_any(a) || is_any(b) || expr_equal(a, b)) return true;
  arith::Analyzer analyzer;
  if (analyzer.can_prove(not_equal(a, b))) return false;
  if (current_assumptions && !analyzer.can_prove_equal(a, b)) assume(equal(a, b));
  return true;
}

namespace {

constexpr const char* kRelationPrefix = "tvm.relay.type_relation.";

/// A rule written in another language: `function(arg_types, attrs)` gives the type of the call. Where there is none, it is
/// that of the rule of the same name.
void add_type_rule(Op op, String name, PackedFunc function) {
  if (!function) function = find_global(kRelationPrefix + name.str());
  if (!function)
    throw Error(ValueError) << "add_type_rel: no type relation is named \"" << name << "\", so that " << op->name
                            << " needs a function (argument types, attrs) -> type";
  TypeRuleSlot slot;
  slot.name = name;
  slot.rule = [function](TypeQuery& query) {
    Array<Type> types;
    for (int i = 0; i < query.size(); ++i) {
      if (!query.is_known(i)) return false;
      types.push_back(query.type(i));
    }
    Type result = function(types, query.attrs()).to<Type>();
    if (result) query.result(result);
    return result.defined();
  };
  op.set(kTypeRule, Ref<TypeRuleSlot>(make(std::move(slot))));
}

/// A call whose argument types are given, and no more.
struct GivenTypes : TypeQuery {
  using TypeQuery::TypeQuery;
  Type out;
  void result(const Type& type) override { out = type; }
  void argument(int, const Type&) override {}
};

}  // namespace

void name_type_relation(const std::string& name, TypeRule rule, bool is_best) {
  const std::string global = kRelationPrefix + name;
  if (find_global(global)) {
    if (!is_best) return;
    remove_global(global);  // not replaced: that is what users do, and kernels would no longer be known by their key
  }
  auto relation = [rule](Array<Type> types, Attrs attrs) {
    GivenTypes query({types.begin(), types.end()}, attrs);
    return rule(query) ? query.out : Type();
  };
  register_global(global, typed(name, relation));
}

static Globals rule_globals{
    {"ir.OpAddTypeRel", add_type_rule},
};

}  // namespace tessera::relay

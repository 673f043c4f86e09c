// Comparisons and logic, and choices by them.

#include "ir/builtin.h"
#include "ir/prim/match.h"

namespace tessera {
namespace {

template <class T>
PrimExpr build_comparison(PrimExpr a, PrimExpr b, std::string_view what) {
  match_types(a, b, what);
  if (PrimExpr folded = try_fold<T>(a, b)) return folded;
  return make_binary<T>(std::move(a), std::move(b));
}

template <class T>
PrimExpr build_logic(PrimExpr a, PrimExpr b, std::string_view what) {
  require_booleans(a, b, what);
  if (a.dtype().lanes != b.dtype().lanes) match_types(a, b, what);
  if (PrimExpr folded = try_fold<T>(a, b)) return folded;
  return make_binary<T>(std::move(a), std::move(b));
}

}  // namespace

PrimExpr operator<(PrimExpr a, PrimExpr b) { return build_comparison<LT>(std::move(a), std::move(b), "<"); }
PrimExpr operator<=(PrimExpr a, PrimExpr b) { return build_comparison<LE>(std::move(a), std::move(b), "<="); }
PrimExpr operator>(PrimExpr a, PrimExpr b) { return build_comparison<GT>(std::move(a), std::move(b), ">"); }
PrimExpr operator>=(PrimExpr a, PrimExpr b) { return build_comparison<GE>(std::move(a), std::move(b), ">="); }
PrimExpr equal(PrimExpr a, PrimExpr b) { return build_comparison<EQ>(std::move(a), std::move(b), "=="); }
PrimExpr not_equal(PrimExpr a, PrimExpr b) { return build_comparison<NE>(std::move(a), std::move(b), "!="); }

PrimExpr logical_and(PrimExpr a, PrimExpr b) { return build_logic<And>(std::move(a), std::move(b), "logical and"); }
PrimExpr logical_or(PrimExpr a, PrimExpr b) { return build_logic<Or>(std::move(a), std::move(b), "logical or"); }

PrimExpr logical_not(PrimExpr a) {
  require_boolean(a, "logical not");
  if (auto* value = as_int(a)) return bool_imm(!*value);
  return make_not(std::move(a));
}

PrimExpr select(PrimExpr condition, PrimExpr true_value, PrimExpr false_value) {
  match_types(true_value, false_value, "select");
  if (auto* value = as_int(condition)) return *value ? true_value : false_value;
  return make_select(std::move(condition), std::move(true_value), std::move(false_value));
}

PrimExpr if_then_else(PrimExpr condition, PrimExpr true_value, PrimExpr false_value) {
  if (!condition || condition.dtype() != DataType::Bool())
    throw Error(RuntimeError) << "if_then_else: the condition must be a scalar bool, but " << condition << " is "
                              << (condition ? condition.dtype().str() : "missing");
  match_types(true_value, false_value, "if_then_else");
  if (auto* value = as_int(condition)) return *value ? true_value : false_value;
  return make_call(true_value.dtype(), builtin::if_then_else(), {condition, true_value, false_value});
}

PrimExpr likely(PrimExpr condition) {
  require_operands(condition, condition, "likely");
  if (as_int(condition)) return condition;
  return make_call(condition.dtype(), builtin::likely(), {condition});
}

}  // namespace tessera

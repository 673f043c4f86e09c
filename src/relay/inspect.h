#pragma once
// Short questions about expressions that passes ask again and again.

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "relay/expr.h"

namespace tessera::relay {

/// The name of the operator that is called; empty for calls of functions, constructors and globals.
std::string_view op_name(const Call* call);
/// The expression as a call of the operator of that name, or null.
const Call* as_call(const Expr& expr, std::string_view op);
/// A Boolean slot of the operator; false where it is not set.
bool has_flag(const OpNode* op, const char* slot);

/// The shape as numbers; nothing where an extent is not a constant or the type is not a tensor's.
std::optional<std::vector<int64_t>> fixed_shape(const Type& type);
/// Constants of an array of extents or axes; nothing where one is not a constant.
std::optional<std::vector<int64_t>> fixed_ints(const Array<PrimExpr>& values);
/// True for extents that are known to be equal: numbers, or expressions of the same shape variables. Any is equal to nothing.
bool is_same_extent(const PrimExpr& a, const PrimExpr& b);
bool is_same_shape(const Array<PrimExpr>& a, const Array<PrimExpr>& b);
Array<PrimExpr> int_array(const std::vector<int64_t>& values, DataType dtype = DataType::Int(32));
size_t rank_of(const Expr& expr);
DataType dtype_of(const Expr& expr);

/// The value of a constant that has one element; nothing for anything else.
std::optional<double> scalar_value(const Expr& expr);
/// True for a constant all of whose elements are `value`.
bool is_filled_with(const Expr& expr, double value);

/// The elements of a constant of integers on the host; nothing for anything else.
std::optional<std::vector<int64_t>> constant_ints(const Expr& expr);

/// How often each expression is used by another; the root counts as used once.
std::unordered_map<const Object*, int> use_counts(const Expr& root);

/// Replaces the arguments of a call; the type is forgotten where they changed.
Expr with_args(const Call* call, Array<Expr> args);

}  // namespace tessera::relay

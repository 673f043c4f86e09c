#pragma once
// A dense tag for the node types that integer analysis looks into, so that it can switch on them.

#include <optional>

#include "ir/prim/expr.h"

namespace tessera::arith {

enum class Kind : uint8_t {
  Other,
  Var,
  IntImm,
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  FloorDiv,
  FloorMod,
  Min,
  Max,  // numbers
  EQ,
  NE,
  LT,
  LE,
  GT,
  GE,
  And,
  Or,  // truth values
  Not,
  Select,
  Ramp,
  Broadcast,
  Cast,
  Call,
  Let,
};
inline constexpr int kKinds = static_cast<int>(Kind::Let) + 1;

Kind kind_of(const PrimExprNode* node);
inline Kind kind_of(const PrimExpr& e) { return kind_of(e.get()); }

inline bool is_binary(Kind kind) { return kind >= Kind::Add && kind <= Kind::Or; }
inline bool is_arithmetic(Kind kind) { return kind >= Kind::Add && kind <= Kind::Max; }
inline bool is_comparison(Kind kind) { return kind >= Kind::EQ && kind <= Kind::GE; }
inline bool is_commutative(Kind kind) {
  return kind == Kind::Add || kind == Kind::Mul || kind == Kind::Min || kind == Kind::Max || kind == Kind::EQ ||
         kind == Kind::NE || kind == Kind::And || kind == Kind::Or;
}
inline const BinaryNode* as_binary(const PrimExpr& e) { return static_cast<const BinaryNode*>(e.get()); }

/// Types whose arithmetic is that of the integers: programs are assumed not to overflow them.
inline bool is_index_type(DataType dtype) {
  return dtype.is_int() && dtype.lanes == 1 && (dtype.bits == 32 || dtype.bits == 64);
}

/// A node of that kind over operands of one type; constants are folded where the result fits the type.
PrimExpr make_node(Kind kind, const PrimExpr& a, const PrimExpr& b);
/// The value of `a <kind> b` on integers; nothing where it overflows or is undefined.
std::optional<int64_t> evaluate(Kind kind, int64_t a, int64_t b);
/// True when `value` can be written as a constant of that type.
bool fits(DataType dtype, int64_t value);

/// A bare node, nothing folded.
template <class T>
PrimExpr bare(DataType dtype, const PrimExpr& a, const PrimExpr& b) {
  T node;
  node.dtype = dtype;
  node.a = a;
  node.b = b;
  return make(std::move(node));
}
PrimExpr bare_node(Kind kind, const PrimExpr& a, const PrimExpr& b);
PrimExpr not_node(const PrimExpr& a);
PrimExpr select_node(const PrimExpr& condition, const PrimExpr& t, const PrimExpr& f);

}  // namespace tessera::arith

// Bare nodes: operands are checked and the type of the result is worked out, nothing is folded.

#include "base/stack.h"
#include "ir/builtin.h"
#include "ir/prim/match.h"
#include "ir/rewrite.h"

namespace tessera {
namespace {

template <class T>
constexpr bool is_comparison = std::is_same_v<T, EQ> || std::is_same_v<T, NE> || std::is_same_v<T, LT> ||
                               std::is_same_v<T, LE> || std::is_same_v<T, GT> || std::is_same_v<T, GE>;
template <class T>
constexpr bool is_logic = std::is_same_v<T, And> || std::is_same_v<T, Or>;

template <class T>
const char* operator_name() {
  return T::info.key + 4;  // without "tir."
}

void check_lanes(const char* what, int lanes) {
  if (lanes <= 1 || lanes > UINT16_MAX)
    throw Error(RuntimeError) << what << ": the number of lanes is " << lanes << ", but a vector has at least 2";
}

}  // namespace

template <class T>
PrimExpr make_binary(PrimExpr a, PrimExpr b) {
  if constexpr (is_logic<T>) require_booleans(a, b, operator_name<T>());
  require_operands(a, b, operator_name<T>());
  if (a.dtype() != b.dtype())
    throw Error(TypeError) << operator_name<T>() << ": mismatched types " << a.dtype() << " and " << b.dtype() << " of "
                           << a << " and " << b << "; cast one of them, or use the operator, which does";
  T node;
  node.dtype = is_comparison<T> || is_logic<T> ? DataType::Bool(a.dtype().lanes) : a.dtype();
  node.a = std::move(a);
  node.b = std::move(b);
  return make(std::move(node));
}

#define TESSERA_MAKE_BINARY(NODE) template PrimExpr make_binary<NODE>(PrimExpr, PrimExpr);
TESSERA_MAKE_BINARY(Add)
TESSERA_MAKE_BINARY(Sub)
TESSERA_MAKE_BINARY(Mul)
TESSERA_MAKE_BINARY(Div)
TESSERA_MAKE_BINARY(Mod)
TESSERA_MAKE_BINARY(FloorDiv)
TESSERA_MAKE_BINARY(FloorMod)
TESSERA_MAKE_BINARY(Min)
TESSERA_MAKE_BINARY(Max)
TESSERA_MAKE_BINARY(EQ)
TESSERA_MAKE_BINARY(NE)
TESSERA_MAKE_BINARY(LT)
TESSERA_MAKE_BINARY(LE)
TESSERA_MAKE_BINARY(GT)
TESSERA_MAKE_BINARY(GE)
TESSERA_MAKE_BINARY(And)
TESSERA_MAKE_BINARY(Or)
#undef TESSERA_MAKE_BINARY

PrimExpr make_not(PrimExpr a) {
  require_boolean(a, "Not");
  Not node;
  node.dtype = DataType::Bool(a.dtype().lanes);
  node.a = std::move(a);
  return make(std::move(node));
}

PrimExpr make_cast(DataType dtype, PrimExpr value) {
  if (!value) throw Error(ValueError) << "Cast to " << dtype << " of nothing (None)";
  if (value.dtype().lanes != dtype.lanes)
    throw Error(RuntimeError) << "Cast: " << value << " has " << int(value.dtype().lanes) << " lanes, " << dtype
                              << " has " << int(dtype.lanes);
  Cast node;
  node.dtype = dtype;
  node.value = std::move(value);
  return make(std::move(node));
}

PrimExpr make_select(PrimExpr condition, PrimExpr true_value, PrimExpr false_value) {
  require_boolean(condition, "Select");
  require_operands(true_value, false_value, "Select");
  if (true_value.dtype() != false_value.dtype())
    throw Error(RuntimeError) << "Select: the values have mismatched types " << true_value.dtype() << " and "
                              << false_value.dtype();
  if (condition.dtype().lanes != 1 && condition.dtype().lanes != true_value.dtype().lanes)
    throw Error(RuntimeError) << "Select: the condition is " << condition.dtype() << ", the values are "
                              << true_value.dtype();
  Select node;
  node.dtype = true_value.dtype();
  node.condition = std::move(condition);
  node.true_value = std::move(true_value);
  node.false_value = std::move(false_value);
  return make(std::move(node));
}

PrimExpr make_ramp(PrimExpr base, PrimExpr stride, int lanes) {
  require_operands(base, stride, "Ramp");
  check_lanes("Ramp", lanes);
  if (!base.dtype().is_scalar() || !stride.dtype().is_scalar())
    throw Error(RuntimeError) << "Ramp: base and stride are scalars, not " << base.dtype() << " and " << stride.dtype();
  if (stride.dtype() != base.dtype())
    throw Error(RuntimeError) << "Ramp: the stride is " << stride.dtype() << ", the base is " << base.dtype();
  Ramp node;
  node.dtype = base.dtype().with_lanes(lanes);
  node.base = std::move(base);
  node.stride = std::move(stride);
  node.lanes = lanes;
  return make(std::move(node));
}

PrimExpr make_broadcast(PrimExpr value, int lanes) {
  require_operands(value, value, "Broadcast");
  check_lanes("Broadcast", lanes);
  if (!value.dtype().is_scalar())
    throw Error(RuntimeError) << "Broadcast: a vector is made of a scalar, not of " << value.dtype();
  Broadcast node;
  node.dtype = value.dtype().with_lanes(lanes);
  node.value = std::move(value);
  node.lanes = lanes;
  return make(std::move(node));
}

PrimExpr make_shuffle(Array<PrimExpr> vectors, Array<PrimExpr> indices) {
  if (vectors.empty() || indices.empty())
    throw Error(RuntimeError) << "Shuffle: needs at least one vector and one index";
  int total = 0;
  DataType element = vectors[0].dtype().element();
  for (const PrimExpr& vector : vectors) {
    if (vector.dtype().element() != element)
      throw Error(RuntimeError) << "Shuffle: vectors of " << element << " and " << vector.dtype().element();
    total += vector.dtype().lanes;
  }
  for (const PrimExpr& index : indices) {
    if (auto* value = as_int(index); value && (*value < 0 || *value >= total))
      throw Error(RuntimeError) << "Shuffle: lane " << *value << " of vectors with " << total << " lanes";
  }
  Shuffle node;
  node.dtype = element.with_lanes(static_cast<int>(indices.size()));
  node.vectors = std::move(vectors);
  node.indices = std::move(indices);
  return make(std::move(node));
}

PrimExpr make_let(Var var, PrimExpr value, PrimExpr body) {
  require_operands(value, body, "Let");
  if (!var || value.dtype() != var->dtype)
    throw Error(RuntimeError) << "Let: the variable " << var << " cannot hold a value of type " << value.dtype();
  Let node;
  node.dtype = body.dtype();
  node.var = std::move(var);
  node.value = std::move(value);
  node.body = std::move(body);
  return make(std::move(node));
}

}  // namespace tessera

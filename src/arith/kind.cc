#include "arith/kind.h"

#include <vector>

#include "arith/int_math.h"

namespace tessera::arith {
namespace {

struct KindRow {
  const TypeInfo* type;
  Kind kind;
};

const std::vector<Kind>& kind_table() {
  static const auto* table = [] {
    const KindRow rows[] = {
        {&type_of<VarNode>, Kind::Var},
        {&type_of<SizeVarNode>, Kind::Var},
        {&type_of<IntImm>, Kind::IntImm},
        {&type_of<Add>, Kind::Add},
        {&type_of<Sub>, Kind::Sub},
        {&type_of<Mul>, Kind::Mul},
        {&type_of<Div>, Kind::Div},
        {&type_of<Mod>, Kind::Mod},
        {&type_of<FloorDiv>, Kind::FloorDiv},
        {&type_of<FloorMod>, Kind::FloorMod},
        {&type_of<Min>, Kind::Min},
        {&type_of<Max>, Kind::Max},
        {&type_of<EQ>, Kind::EQ},
        {&type_of<NE>, Kind::NE},
        {&type_of<LT>, Kind::LT},
        {&type_of<LE>, Kind::LE},
        {&type_of<GT>, Kind::GT},
        {&type_of<GE>, Kind::GE},
        {&type_of<And>, Kind::And},
        {&type_of<Or>, Kind::Or},
        {&type_of<Not>, Kind::Not},
        {&type_of<Select>, Kind::Select},
        {&type_of<Ramp>, Kind::Ramp},
        {&type_of<Broadcast>, Kind::Broadcast},
        {&type_of<Cast>, Kind::Cast},
        {&type_of<Call>, Kind::Call},
        {&type_of<Let>, Kind::Let},
    };
    auto* out = new std::vector<Kind>;
    for (const KindRow& row : rows) {
      if (out->size() <= row.type->index) out->resize(row.type->index + 1, Kind::Other);
      (*out)[row.type->index] = row.kind;
    }
    return out;
  }();
  return *table;
}

bool truth(Kind kind, int64_t a, int64_t b) {
  switch (kind) {
    case Kind::EQ: return a == b;
    case Kind::NE: return a != b;
    case Kind::LT: return a < b;
    case Kind::LE: return a <= b;
    case Kind::GT: return a > b;
    case Kind::GE: return a >= b;
    case Kind::And: return a && b;
    default: return a || b;
  }
}

/// x + 0, x * 1, ... of index type: the operand that stays, or nothing.
PrimExpr drop_neutral(Kind kind, const PrimExpr& a, const PrimExpr& b, const int64_t* ca, const int64_t* cb) {
  switch (kind) {
    case Kind::Add:
      if (ca && *ca == 0) return b;
      if (cb && *cb == 0) return a;
      break;
    case Kind::Sub:
      if (cb && *cb == 0) return a;
      break;
    case Kind::Mul:
      if ((ca && *ca == 1) || (cb && *cb == 0)) return b;
      if ((cb && *cb == 1) || (ca && *ca == 0)) return a;
      break;
    case Kind::Div:
    case Kind::FloorDiv:
      if (cb && *cb == 1) return a;
      if (ca && *ca == 0) return a;
      break;
    case Kind::Mod:
    case Kind::FloorMod:
      if (cb && *cb == 1) return make_zero(a.dtype());
      if (ca && *ca == 0) return a;
      break;
    case Kind::And:
      if (ca) return *ca ? b : a;
      if (cb) return *cb ? a : b;
      break;
    case Kind::Or:
      if (ca) return *ca ? a : b;
      if (cb) return *cb ? b : a;
      break;
    default: break;
  }
  return nullptr;
}

const int64_t* scalar_int(const PrimExpr& e) {
  return kind_of(e) == Kind::IntImm ? &static_cast<const IntImm*>(e.get())->value : nullptr;
}

}  // namespace

Kind kind_of(const PrimExprNode* node) {
  static const std::vector<Kind>& table = kind_table();
  uint32_t index = node->type()->index;
  return index < table.size() ? table[index] : Kind::Other;
}

std::optional<int64_t> evaluate(Kind kind, int64_t a, int64_t b) {
  switch (kind) {
    case Kind::Add: return checked_add(a, b);
    case Kind::Sub: return checked_sub(a, b);
    case Kind::Mul: return checked_mul(a, b);
    case Kind::Div: return can_divide(a, b) ? MaybeInt(a / b) : MaybeInt();
    case Kind::Mod: return can_divide(a, b) ? MaybeInt(a % b) : MaybeInt();
    case Kind::FloorDiv: return can_divide(a, b) ? MaybeInt(floor_div(a, b)) : MaybeInt();
    case Kind::FloorMod: return can_divide(a, b) ? MaybeInt(floor_mod(a, b)) : MaybeInt();
    case Kind::Min: return a < b ? a : b;
    case Kind::Max: return a > b ? a : b;
    default: return truth(kind, a, b);
  }
}

bool fits(DataType dtype, int64_t value) {
  if (dtype.bits >= 64) return dtype.is_int() || value >= 0;
  if (dtype.is_uint()) return value >= 0 && value < (int64_t{1} << dtype.bits);
  int64_t half = int64_t{1} << (dtype.bits - 1);
  return value >= -half && value < half;
}

PrimExpr bare_node(Kind kind, const PrimExpr& a, const PrimExpr& b) {
  DataType t = a.dtype(), truth = DataType::Bool(t.lanes);
  switch (kind) {
    case Kind::Add: return bare<Add>(t, a, b);
    case Kind::Sub: return bare<Sub>(t, a, b);
    case Kind::Mul: return bare<Mul>(t, a, b);
    case Kind::Div: return bare<Div>(t, a, b);
    case Kind::Mod: return bare<Mod>(t, a, b);
    case Kind::FloorDiv: return bare<FloorDiv>(t, a, b);
    case Kind::FloorMod: return bare<FloorMod>(t, a, b);
    case Kind::Min: return bare<Min>(t, a, b);
    case Kind::Max: return bare<Max>(t, a, b);
    case Kind::EQ: return bare<EQ>(truth, a, b);
    case Kind::NE: return bare<NE>(truth, a, b);
    case Kind::LT: return bare<LT>(truth, a, b);
    case Kind::LE: return bare<LE>(truth, a, b);
    case Kind::GT: return bare<GT>(truth, a, b);
    case Kind::GE: return bare<GE>(truth, a, b);
    case Kind::And: return bare<And>(truth, a, b);
    case Kind::Or: return bare<Or>(truth, a, b);
    default: ICHECK(false) << "not a binary node"; return nullptr;
  }
}

PrimExpr make_node(Kind kind, const PrimExpr& a, const PrimExpr& b) {
  DataType dtype = a.dtype();
  if (is_index_type(dtype) || dtype.is_bool()) {
    const int64_t *ca = scalar_int(a), *cb = scalar_int(b);
    if (ca && cb) {
      bool numbers = is_arithmetic(kind);
      MaybeInt value = evaluate(kind, *ca, *cb);
      if (value && !numbers) return bool_imm(*value != 0);
      if (value && fits(dtype, *value)) return int_imm(dtype, *value);
    } else if (ca || cb) {
      if (PrimExpr kept = drop_neutral(kind, a, b, ca, cb)) return kept;
    }
  }
  return bare_node(kind, a, b);
}

PrimExpr not_node(const PrimExpr& a) {
  if (const int64_t* value = scalar_int(a)) return bool_imm(*value == 0);
  Not node;
  node.dtype = a.dtype();
  node.a = a;
  return make(std::move(node));
}

PrimExpr select_node(const PrimExpr& condition, const PrimExpr& t, const PrimExpr& f) {
  if (const int64_t* value = scalar_int(condition)) return *value ? t : f;
  Select node;
  node.dtype = t.dtype();
  node.condition = condition;
  node.true_value = t;
  node.false_value = f;
  return make(std::move(node));
}

}  // namespace tessera::arith

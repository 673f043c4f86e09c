#include "ir/expr.h"

#include <cmath>
#include <limits>
#include <unordered_map>

#include "ir/prim/expr.h"
#include "ir/prim/ops.h"

namespace tessera {
namespace {

std::unordered_map<const NodeInfo*, ToPrimExpr>& conversions() {
  static auto* table = new std::unordered_map<const NodeInfo*, ToPrimExpr>;
  return *table;
}

ObjectRef box_int(int64_t value) {
  bool fits = value >= INT32_MIN && value <= INT32_MAX;
  return int_imm(DataType::Int(fits ? 32 : 64), value);
}
ObjectRef box_float(double value) {
  bool fits = !std::isfinite(value) || std::abs(value) <= std::numeric_limits<float>::max();
  return float_imm(DataType::Float(fits ? 32 : 64), value);
}
ObjectRef box_bool(bool value) { return bool_imm(value); }

bool unbox_int(const Object* object, int64_t* out) {
  auto* number = cast_or_null<IntImm>(object);
  if (number) *out = number->value;
  return number != nullptr;
}

bool unbox_float(const Object* object, double* out) {
  if (auto* number = cast_or_null<FloatImm>(object)) {
    *out = number->value;
    return true;
  }
  int64_t integer;
  if (!unbox_int(object, &integer)) return false;
  *out = static_cast<double>(integer);
  return true;
}

[[maybe_unused]] const bool boxes_set =
    (number_boxes = NumberBoxes{box_int, box_float, box_bool, unbox_int, unbox_float}, true);

void check_range(DataType dtype, int64_t value) {
  if (dtype.is_uint()) {
    if (value < 0)
      throw Error(RuntimeError) << "cannot make uint from negative value " << value << ", but the type is " << dtype;
    if (dtype.bits < 63 && value >= (int64_t{1} << dtype.bits))
      throw Error(RuntimeError) << "Literal value " << value << " exceeds maximum of " << dtype;
  } else if (dtype.is_int() && dtype.bits < 64) {
    int64_t limit = int64_t{1} << (dtype.bits - 1);
    if (value >= limit) throw Error(RuntimeError) << "Literal value " << value << " exceeds maximum of " << dtype;
    if (value < -limit) throw Error(RuntimeError) << "Literal value " << value << " exceeds minimum of " << dtype;
  }
}

/// Infinities and NaN are of every floating type; finite values must not turn into them.
void check_float_range(DataType dtype, double value) {
  if (!std::isfinite(value)) return;
  double largest = dtype.bits == 16 && dtype.is_float() ? 65504.0 : std::numeric_limits<float>::max();
  if (dtype.bits < 64 && std::abs(value) > largest)
    throw Error(RuntimeError) << "Literal value " << value
                              << (value > 0 ? " exceeds maximum of " : " exceeds minimum of ") << dtype;
}

}  // namespace

PrimExpr::PrimExpr(int value) : Ref(int_imm(DataType::Int(32), value)) {}
PrimExpr::PrimExpr(float value) : Ref(float_imm(DataType::Float(32), value)) {}

PrimExpr int_imm(DataType dtype, int64_t value) {
  if (!dtype.is_scalar() || !dtype.is_integral())
    throw Error(ValueError) << "an integer constant has a scalar integer type, not " << dtype;
  check_range(dtype, value);
  IntImm node;
  node.dtype = dtype;
  node.value = value;
  return make(std::move(node));
}

PrimExpr float_imm(DataType dtype, double value) {
  bool is_custom = dtype.code >= DataType::kCustom;  // what the number becomes there is for its lowering to say
  if (!dtype.is_scalar() || !(dtype.is_floating() || is_custom))
    throw Error(ValueError) << "a floating-point constant has a scalar floating type, not " << dtype;
  if (!is_custom) check_float_range(dtype, value);
  FloatImm node;
  node.dtype = dtype;
  node.value = value;
  return make(std::move(node));
}

PrimExpr bool_imm(bool value, int lanes) { return make_const(DataType::Bool(lanes), static_cast<int64_t>(value)); }

PrimExpr string_imm(String value) {
  StringImm node;
  node.dtype = DataType::Handle();
  node.value = std::move(value);
  return make(std::move(node));
}

PrimExpr make_const(DataType dtype, int64_t value) {
  if (dtype.is_vector()) return make_broadcast(make_const(dtype.element(), value), dtype.lanes);
  if (dtype.is_floating() || dtype.code >= DataType::kCustom) return float_imm(dtype, static_cast<double>(value));
  if (dtype.is_integral()) return int_imm(dtype, value);
  throw Error(TypeError) << "there are no constants of type " << dtype;
}

PrimExpr make_const(DataType dtype, double value) {
  if (dtype.is_vector()) return make_broadcast(make_const(dtype.element(), value), dtype.lanes);
  if (dtype.is_floating() || dtype.code >= DataType::kCustom) return float_imm(dtype, value);
  if (!(value >= -0x1p63 && value < 0x1p63))
    throw Error(RuntimeError) << "the constant " << value << " is out of range for " << dtype;
  return make_const(dtype, static_cast<int64_t>(value));
}

const int64_t* as_int(const PrimExpr& e) {
  auto* number = e.as<IntImm>();
  return number ? &number->value : nullptr;
}

bool is_const_int(const PrimExpr& e, int64_t value) {
  if (auto* number = as_int(e)) return *number == value;
  if (auto* vector = e.as<Broadcast>()) return is_const_int(vector->value, value);
  return false;
}

bool is_const(const PrimExpr& e) {
  if (auto* vector = e.as<Broadcast>()) return is_const(vector->value);
  return e.as<IntImm>() || e.as<FloatImm>() || e.as<StringImm>();
}

void register_prim_expr_conversion(const NodeInfo& from, ToPrimExpr convert) { conversions()[&from] = convert; }

PrimExpr Convert<PrimExpr>::unpack(const AnyView& view) {
  switch (view.code()) {
    case kTesseraNull: return nullptr;
    case kTesseraInt: return PrimExpr(downcast<PrimExpr>(box_int(view.raw().v_int64)));
    case kTesseraFloat: return PrimExpr(downcast<PrimExpr>(box_float(view.raw().v_float64)));
    case kTesseraStr: return string_imm(view.raw().v_str);
    default: break;
  }
  const Object* object = view.object();
  if (auto* e = cast_or_null<PrimExprNode>(object)) return PrimExpr(e);
  if (auto* text = cast_or_null<StringNode>(object)) return string_imm(String(text));
  if (object) {
    for (const NodeInfo* node = object->type()->node; node; node = node->parent)
      if (auto it = conversions().find(node); it != conversions().end()) return it->second(object);
  }
  throw_conversion(view, "PrimExpr");
}

Range Convert<Range>::unpack(const AnyView& view) {
  if (view.is_null()) return nullptr;
  const Object* object = view.object();
  if (auto* range = cast_or_null<RangeNode>(object)) return Range(range);
  if (auto* pair = cast_or_null<ArrayNode>(object); pair && pair->items.size() == 2) {
    auto begin = Any::of_object(pair->items[0].get()).to<PrimExpr>();
    auto end = Any::of_object(pair->items[1].get()).to<PrimExpr>();
    return make_range(begin, is_zero(begin) ? end : end - begin);
  }
  throw_conversion(view, "Range");
}

}  // namespace tessera

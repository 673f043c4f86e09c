#include "frontend/torch/promote.h"

#include <algorithm>

#include "frontend/common/parts.h"
#include "relay/make.h"
#include "runtime/function/element.h"

#include <cmath>

namespace tessera::torch {
namespace {

int kind_of(DataType dtype) { return dtype.is_bool() ? 0 : dtype.is_integral() ? 1 : 2; }

}  // namespace

DataType wider_type(DataType a, DataType b) {
  if (a.is_void()) return b;
  if (b.is_void() || a == b) return a;
  const int kind_a = kind_of(a), kind_b = kind_of(b);
  if (kind_a != kind_b) return kind_a > kind_b ? a : b;
  if (kind_a == 2) {
    if (a.bits == b.bits) return DataType::Float(32);  // float16 and bfloat16
    return a.bits > b.bits ? a : b;
  }
  if (a.is_int() == b.is_int()) return a.bits > b.bits ? a : b;
  const DataType with_sign = a.is_int() ? a : b, without = a.is_int() ? b : a;
  if (with_sign.bits > without.bits) return with_sign;
  return DataType::Int(std::min(2 * without.bits, 64));
}

DataType promoted(const Operation& in, const std::vector<Value>& values) {
  DataType groups[3];  // tensors with dimensions, without, numbers
  for (const Value& value : values) {
    if (value.is_absent()) continue;
    if (value.is_tensor()) {
      const Expr x = value.expr();
      DataType& group = groups[in.rank(x) > 0 ? 0 : 1];
      group = wider_type(group, in.dtype(x));
      continue;
    }
    if (!value.is_number()) in.invalid("a tensor or a number is needed");
    const DataType own = value.kind == Value::Bool  ? DataType::Bool()
                         : value.kind == Value::Int ? DataType::Int(64)
                                                    : in.default_dtype();
    groups[2] = wider_type(groups[2], own);
  }
  DataType out = groups[0];
  for (DataType next : {groups[1], groups[2]}) {
    if (next.is_void()) continue;
    if (out.is_void()) out = next;
    else if (kind_of(next) > kind_of(out)) out = next;
  }
  return out;
}

Expr as_type(const Operation& in, const Expr& x, DataType dtype) {
  const DataType own = in.dtype(x);
  if (own == dtype) return x;
  if (dtype.is_bool()) return relay::call_op("not_equal", {x, relay::make_scalar(0, own)});
  return relay::cast(x, dtype);
}

Expr as_type(const Operation& in, const Value& value, DataType dtype) {
  if (value.is_known_number()) {
    if (dtype.is_bool()) return relay::make_scalar(value.as_real() != 0, dtype);
    if (value.kind != Value::Float && dtype.is_integral())
      return relay::make_constant(int_scalar(value.integer, dtype));
    return relay::make_scalar(dtype.is_integral() ? std::trunc(value.as_real()) : value.as_real(), dtype);
  }
  return as_type(in, in.tensor_of(value), dtype);
}

Expr as_float(const Operation& in, const Expr& x) {
  return is_float(in.dtype(x)) ? x : as_type(in, x, in.default_dtype());
}

}  // namespace tessera::torch

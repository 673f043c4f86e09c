// Elements as another type.

#include "frontend/common/parts.h"
#include "frontend/onnx/minifloat.h"
#include "frontend/onnx/ml/texts.h"
#include "relay/attrs/transform.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// Integers of fewer than eight bits lie in bytes; what does not fit wraps around.
Expr wrapped(const Expr& x, DataType dtype, int bits) {
  Expr spare = make_constant(int_scalar(8 - bits, dtype));
  return call_op("right_shift", {call_op("left_shift", {x, spare}), spare});
}

Value converted(Operation& in, const Value& given, ElementType to) {
  if (given.texts) {
    if (to == ElementType::String) return given;
    return Value(numbers_of_texts(in, *given.texts, element_type(to)));
  }
  Expr x = as_numbers(given);
  if (to == ElementType::String) return Value::of(texts_of_numbers(in, x));
  if (is_minifloat(to)) {
    if (given.element == to) return given;
    std::string rounding = in.text("round_mode", "up");
    return as_minifloat(in, x, to, in.integer("saturate", 1) != 0,
                        to == ElementType::Float8E8M0 ? rounding : "nearest");
  }
  DataType dtype = element_type(to), from = in.dtype(x);
  int bits = small_bits(to);
  Value out(from == dtype               ? x
            : dtype == DataType::Bool() ? call_op("not_equal", {x, make_scalar(0, from)})
                                        : cast(x, dtype));
  if (bits && bits != small_bits(given.element)) out.tensor = wrapped(out.tensor, dtype, bits);
  if (bits) out.element = to;
  return out;
}

Values cast_by_number(Operation& in) {
  return {converted(in, in.value(0), static_cast<ElementType>(in.integer("to")))};
}

Values cast_like(Operation& in) {
  const Value& like = in.value(1);
  ElementType to = like.texts                               ? ElementType::String
                   : like.element == ElementType::Undefined ? number_of(in.dtype(in[1]))
                                                            : like.element;
  return {converted(in, in.value(0), to)};
}

/// The bits read as another type of the same size.
Values bit_cast(Operation& in) {
  auto number = static_cast<ElementType>(in.integer("to"));
  const Value& given = in.value(0);
  int bits = small_bits(number), given_bits = small_bits(given.element);
  DataType to = memory_type(number), from = in.dtype(in[0]);
  if (from.bytes() != to.bytes() || bits != given_bits) in.invalid("the types have different sizes");
  Expr x = in[0];
  if (from == DataType::Bool() || to == DataType::Bool()) {  // a byte of 0 or 1
    x = from == to ? x : to == DataType::Bool() ? call_op("not_equal", {x, make_scalar(0, from)}) : cast(x, to);
  } else if (from != to) {
    x = call_op("reinterpret", {x}, make_attrs<CastAttrs>([&](auto& attrs) { attrs.dtype = to; }));
    if (bits)
      x = is_minifloat(number) ? call_op("bitwise_and", {x, make_scalar((1 << bits) - 1, to)}) : wrapped(x, to, bits);
  }
  Value out(x);
  if (bits || is_minifloat(number)) out.element = number;
  return {out};
}

}  // namespace

Rows cast_rows() {
  return {
      {"BitCast", 26, bit_cast},
      {"Cast", 6, cast_by_number},
      {"CastLike", 15, cast_like},
  };
}

}  // namespace tessera::onnx

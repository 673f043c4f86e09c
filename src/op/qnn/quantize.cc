// Between real numbers and the integers that stand for them: qnn.quantize, qnn.dequantize.

#include "op/qnn/affine.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/qnn.h"
#include "relay/make.h"

namespace tessera::op {
namespace {

using relay::DequantizeAttrs;
using relay::QuantizeAttrs;

const DataType kInt32 = DataType::Int(32);

bool quantize_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<QuantizeAttrs>();
  if (data->dtype.code != DataType::kFloat)
    throw Error(TypeError) << "what is quantised must be floats, but is " << to_text(query.type(0));
  if (attrs->out_dtype.code != DataType::kInt && attrs->out_dtype.code != DataType::kUInt)
    throw Error(TypeError) << "out_dtype must be an integer type, got " << to_text(attrs->out_dtype);
  if (attrs->rounding != "None" && attrs->rounding != "TOEVEN")
    throw Error(TypeError) << "rounding is \"" << attrs->rounding << "\"; it is None or TOEVEN";
  if (!check_affine(query, 1, 2, data->shape, attrs->axis)) return false;
  query.result(TensorType(data->shape, attrs->out_dtype));
  return true;
}

bool dequantize_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  if (data->dtype.code != DataType::kInt && data->dtype.code != DataType::kUInt)
    throw Error(TypeError) << "what stands for real numbers must be integers, but is " << to_text(query.type(0));
  if (!check_affine(query, 1, 2, data->shape, query.attrs_as<DequantizeAttrs>()->axis)) return false;
  query.result(TensorType(data->shape, query.tensor(1)->dtype));
  return true;
}

///   cast(clip(round(x / scale) + zero point))
Expr plain_quantize(const Attrs& given, const Array<Expr>& args, const Array<Type>& types) {
  auto* attrs = given.as<QuantizeAttrs>();
  auto* data = tensor_of(types[0]);
  const size_t rank = data->shape.size();
  Expr scaled = relay::divide(args[0], along_axis(args[1], types[1], attrs->axis, rank));
  Expr rounded = relay::call_op(attrs->rounding == "TOEVEN" ? "round_to_even" : "round", {scaled});
  Expr zero = relay::cast(along_axis(args[2], types[2], attrs->axis, rank), data->dtype);
  auto [low, high] = integer_range(attrs->out_dtype);
  return relay::cast(relay::clip(relay::add(rounded, zero), low, high), attrs->out_dtype);
}

///   cast(x - zero point) * scale
Expr plain_dequantize(const Attrs& given, const Array<Expr>& args, const Array<Type>& types) {
  const int axis = given.as<DequantizeAttrs>()->axis;
  const size_t rank = tensor_of(types[0])->shape.size();
  Expr moved = relay::subtract(relay::cast(args[0], kInt32), along_axis(args[2], types[2], axis, rank));
  return relay::multiply(relay::cast(moved, tensor_of(types[1])->dtype), along_axis(args[1], types[1], axis, rank));
}

}  // namespace

void quantize_records() {
  OpRecord("qnn.quantize")
      .doc("Integers that stand for real numbers: round(data / scale) + zero point, within the range of out_dtype.")
      .attrs<QuantizeAttrs>()
      .input("data", "floats")
      .input("output_scale", "what a step of the integers stands for")
      .input("output_zero_point", "the integer that stands for 0")
      .support_level(11)
      .type("Quantize", quantize_type)
      .fusion(Fusion::Opaque)
      .set(kCanonicalize, canonicalization("qnn.quantize", plain_quantize));
  OpRecord("qnn.dequantize")
      .doc("The real numbers that integers stand for: (data - zero point) * scale.")
      .attrs<DequantizeAttrs>()
      .input("data", "integers")
      .input("input_scale", "what a step of the integers stands for")
      .input("input_zero_point", "the integer that stands for 0")
      .support_level(11)
      .type("Dequantize", dequantize_type)
      .fusion(Fusion::Opaque)
      .set(kCanonicalize, canonicalization("qnn.dequantize", plain_dequantize));
}

}  // namespace tessera::op

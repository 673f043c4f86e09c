// Between real numbers and the integers that stand for them: qnn.quantize, qnn.dequantize.

#include "base/dtypes.h"
#include "op/qnn/affine.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/qnn.h"
#include "relay/make.h"

namespace tessera::op {
namespace {

using relay::DequantizeAttrs;
using relay::QuantizeAttrs;

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

Expr plain_quantize(const Attrs& given, const Array<Expr>& args, const Array<Type>& types,
                    const relay::GraphEnvironment&) {
  auto* attrs = given.as<QuantizeAttrs>();
  return integers_of(args[0], {args[1], args[2], types[1], types[2]}, attrs->axis, tensor_of(types[0])->shape.size(),
                     attrs->out_dtype, attrs->rounding == "TOEVEN");
}

Expr plain_dequantize(const Attrs& given, const Array<Expr>& args, const Array<Type>& types,
                      const relay::GraphEnvironment&) {
  return real_of(args[0], {args[1], args[2], types[1], types[2]}, given.as<DequantizeAttrs>()->axis,
                 tensor_of(types[0])->shape.size());
}

}  // namespace

///   cast(clip(round(x / scale) + zero point))
Expr integers_of(const Expr& x, const AffineArgs& to, int axis, size_t rank, DataType dtype, bool to_even) {
  Expr scaled = relay::divide(x, along_axis(to.scale, to.scale_type, axis, rank));
  Expr rounded = relay::call_op(to_even ? "round_to_even" : "round", {scaled});
  Expr zero = relay::cast(along_axis(to.zero, to.zero_type, axis, rank), tensor_of(to.scale_type)->dtype);
  auto [low, high] = integer_range(dtype);
  return relay::cast(relay::clip(relay::add(rounded, zero), low, high), dtype);
}

///   cast(x - zero point) * scale
Expr real_of(const Expr& x, const AffineArgs& from, int axis, size_t rank) {
  Expr moved = relay::subtract(relay::cast(x, kInt32), along_axis(from.zero, from.zero_type, axis, rank));
  return relay::multiply(relay::cast(moved, tensor_of(from.scale_type)->dtype),
                         along_axis(from.scale, from.scale_type, axis, rank));
}

static void quantize_records() {
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

[[gnu::init_priority(kFamilies)]] static const OpFamily quantize_family{quantize_records};

}  // namespace tessera::op

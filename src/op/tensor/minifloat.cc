// fp8 and smaller floats (minifloats): their bytes made and read. Tensors of such floats are tensors of uint8.

#include "topi/minifloat.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/minifloat.h"
#include "topi/elementwise.h"

namespace tessera::op {
namespace {

using relay::MinifloatAttrs;

topi::Rounding rounding_of(const String& name) {
  if (name == "up") return topi::Rounding::Up;
  if (name == "down") return topi::Rounding::Down;
  if (name == "nearest") return topi::Rounding::Nearest;
  throw Error(ValueError) << "the rounding is \"" << name.str() << "\"; it is up, down or nearest";
}

bool encode_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<MinifloatAttrs>();
  topi::minifloat(attrs->format.str());
  rounding_of(attrs->rounding);
  if (data->dtype != DataType::Float(32) && data->dtype != DataType::Float(64))
    throw Error(TypeError) << "minifloats are made from float32 or float64, not from " << to_text(data->dtype);
  query.result(TensorType(data->shape, DataType::UInt(8)));
  return true;
}

bool decode_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  topi::minifloat(query.attrs_as<MinifloatAttrs>()->format.str());
  if (data->dtype != DataType::UInt(8))
    throw Error(TypeError) << "minifloats are read from uint8, not from " << to_text(data->dtype);
  query.result(TensorType(data->shape, DataType::Float(32)));
  return true;
}

}  // namespace

static void minifloat_records() {
  OpRecord("small_float_encode")
      .doc("The bytes that stand for the elements as fp8 or smaller floats.")
      .attrs<MinifloatAttrs>()
      .input("data", "float32 or float64")
      .support_level(10)
      .type("SmallFloatEncode", encode_type)
      .fusion(Fusion::Elementwise)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<MinifloatAttrs>();
        return Tensors{topi::elementwise(in[0], [&](const PrimExpr& x) {
          return topi::encode(x, topi::minifloat(attrs->format.str()), attrs->saturate, rounding_of(attrs->rounding));
        })};
      });
  OpRecord("small_float_decode")
      .doc("The float32 that bytes of fp8 or smaller floats stand for.")
      .attrs<MinifloatAttrs>()
      .input("data", "uint8")
      .support_level(10)
      .type("SmallFloatDecode", decode_type)
      .fusion(Fusion::Elementwise)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        const topi::Minifloat& format = topi::minifloat(given.as<MinifloatAttrs>()->format.str());
        return Tensors{topi::elementwise(in[0], [&](const PrimExpr& x) { return topi::decode(x, format); })};
      });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily minifloat_family{minifloat_records};

}  // namespace tessera::op

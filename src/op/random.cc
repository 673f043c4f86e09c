// Random numbers from keys.

#include "topi/random.h"
#include "ir/prim/ops.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/random.h"

namespace tessera::op {
namespace {

using relay::MultinomialAttrs;
using relay::NormalAttrs;
using relay::ThreefryGenerateAttrs;
using relay::UniformAttrs;

Type key_type() { return TensorType({PrimExpr(10)}, DataType::UInt(64)); }

void require_key(const TypeQuery& query) {
  auto* key = query.tensor(0);
  if (key->dtype != DataType::UInt(64) || rank_of(key) != 1 || !relay::may_equal(key->shape[0], PrimExpr(10)))
    throw Error(TypeError) << "key must be ten uint64, as relay.random.threefry_key makes them, but is "
                           << to_text(query.type(0));
}

bool generate_type(TypeQuery& query) {
  if (!query.tensor(0)) return false;
  require_key(query);
  query.result(
      tuple_type({key_type(), TensorType(query.attrs_as<ThreefryGenerateAttrs>()->out_shape, DataType::UInt(64))}));
  return true;
}

bool split_type(TypeQuery& query) {
  if (!query.tensor(0)) return false;
  require_key(query);
  query.result(tuple_type({key_type(), key_type()}));
  return true;
}

/// Two numbers after the key: bounds, or mean and deviation.
template <class A>
bool numbers_type(TypeQuery& query) {
  for (int i = 0; i < 3; ++i)
    if (!query.tensor(i)) return false;
  require_key(query);
  require_rank(query, 1, "the first parameter", 0);
  require_rank(query, 2, "the second parameter", 0);
  auto* attrs = query.attrs_as<A>();
  if (attrs->out_dtype != DataType::Float(32) && attrs->out_dtype != DataType::Float(64))
    throw Error(TypeError) << "random numbers are float32 or float64, not " << to_text(attrs->out_dtype);
  query.result(tuple_type({key_type(), TensorType(attrs->out_shape, attrs->out_dtype)}));
  return true;
}

using Numbers = Tensors (*)(const te::Tensor&, const PrimExpr&, const PrimExpr&, const Array<PrimExpr>&, DataType);
template <Numbers numbers>
Tensors compute_numbers(const Attrs&, const Tensors& in, const Type& out) {
  auto* type = tensor_of(out.as<TupleType>()->fields_[1]);
  return numbers(in[0], te::load(in[1], {}), te::load(in[2], {}), type->shape, type->dtype);
}

bool multinomial_type(TypeQuery& query) {
  auto *key = query.tensor(0), *probabilities = query.tensor(1);
  if (!key || !probabilities) return false;
  require_key(query);
  if (probabilities->shape.empty() || !probabilities->dtype.is_floating())
    throw Error(TypeError) << "probs must be rows of floats, but is " << to_text(query.type(1));
  Array<PrimExpr> shape(probabilities->shape.begin(), probabilities->shape.end() - 1);
  shape.push_back(PrimExpr(query.attrs_as<MultinomialAttrs>()->num_samples));
  query.result(tuple_type({key_type(), TensorType(shape, DataType::Int(32))}));
  return true;
}

}  // namespace

static void random_records() {
  OpRecord("random.threefry_generate")
      .doc("The next key, and random 64-bit words.")
      .attrs<ThreefryGenerateAttrs>()
      .input("key", "the key")
      .support_level(10)
      .type("ThreefryGenerate", generate_type)
      .fusion(Fusion::Opaque)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        return topi::threefry_generate(in[0], attrs.as<ThreefryGenerateAttrs>()->out_shape);
      });
  OpRecord("random.threefry_split")
      .doc("Two keys whose numbers have nothing to do with each other.")
      .input("key", "the key")
      .support_level(10)
      .type("ThreefrySplit", split_type)
      .fusion(Fusion::Opaque)
      .compute([](const Attrs&, const Tensors& in, const Type&) { return topi::threefry_split(in[0]); });
  OpRecord("random.uniform")
      .doc("The next key, and random numbers from low to below high.")
      .attrs<UniformAttrs>()
      .input("key", "the key")
      .input("low", "the least number")
      .input("high", "what all numbers stay below")
      .support_level(10)
      .type("Uniform", numbers_type<UniformAttrs>)
      .fusion(Fusion::Opaque)
      .compute(compute_numbers<topi::uniform>);
  OpRecord("random.normal")
      .doc("The next key, and random numbers of a normal distribution.")
      .attrs<NormalAttrs>()
      .input("key", "the key")
      .input("mean", "their mean")
      .input("scale", "their standard deviation")
      .support_level(10)
      .type("Normal", numbers_type<NormalAttrs>)
      .fusion(Fusion::Opaque)
      .compute(compute_numbers<topi::normal>);
  OpRecord("random.multinomial")
      .doc("The next key, and random outcomes by their probabilities.")
      .attrs<MultinomialAttrs>()
      .input("key", "the key")
      .input("probs", "the probability of each outcome, in rows")
      .support_level(10)
      .type("Multinomial", multinomial_type)
      .fusion(Fusion::Opaque)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        return topi::multinomial(in[0], in[1], PrimExpr(attrs.as<MultinomialAttrs>()->num_samples));
      });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily random_family{random_records};

}  // namespace tessera::op

// Quantisation that stays among floats, for finding out what it costs: qnn.simulated_quantize, qnn.simulated_dequantize.

#include "op/qnn/affine.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/qnn.h"
#include "topi/nn/simulated_quantize.h"

namespace tessera::op {
namespace {

using relay::DequantizeAttrs;
using relay::SimulatedQuantizeAttrs;

template <class A>
bool simulated_type(TypeQuery& query) {
  auto *data = query.tensor(0), *code = query.tensor(1);
  if (!data || !code) return false;
  if (data->dtype.code != DataType::kFloat)
    throw Error(TypeError) << "simulated quantisation is of floats, but the data is " << to_text(query.type(0));
  if (code->dtype != DataType::Int(32) || !code->shape.empty())
    throw Error(TypeError) << "the type that is simulated must be one int32, but is " << to_text(query.type(1));
  if (!check_affine(query, 2, 3, data->shape, query.attrs_as<A>()->axis, true)) return false;
  query.result(query.type(0));
  return true;
}

template <class A,
          te::Tensor (*function)(const te::Tensor&, const te::Tensor&, const te::Tensor&, const te::Tensor&, int)>
Array<te::Tensor> simulated(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  return {function(in[0], in[1], in[2], in[3], attrs.as<A>()->axis)};
}

}  // namespace

static void simulated_quantize_records() {
  OpRecord("qnn.simulated_quantize")
      .doc("What quantize gives, as floats; the type is a value.")
      .attrs<SimulatedQuantizeAttrs>()
      .input("data", "floats")
      .input("out_dtype", "the code of the type that is simulated: 0 none, 1 int8, 2 uint8, 3 int32")
      .input("output_scale", "what a step of the integers stands for")
      .input("output_zero_point", "the integer that stands for 0")
      .support_level(11)
      .type("QNNSimulatedQuantize", simulated_type<SimulatedQuantizeAttrs>)
      .fusion(Fusion::Elementwise)
      .numeric(false)
      .compute(simulated<SimulatedQuantizeAttrs, topi::simulated_quantize>);
  OpRecord("qnn.simulated_dequantize")
      .doc("What dequantize gives, of integers that are floats; their type is a value.")
      .attrs<DequantizeAttrs>()
      .input("data", "floats")
      .input("in_dtype", "the code of the type that is simulated: 0 none, 1 int8, 2 uint8, 3 int32")
      .input("input_scale", "what a step of the integers stands for")
      .input("input_zero_point", "the integer that stands for 0")
      .support_level(11)
      .type("QNNSimulatedDequantize", simulated_type<DequantizeAttrs>)
      .fusion(Fusion::Elementwise)
      .numeric(false)
      .compute(simulated<DequantizeAttrs, topi::simulated_dequantize>);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily simulated_quantize_family{simulated_quantize_records};

}  // namespace tessera::op

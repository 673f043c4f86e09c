// relay.op.annotation.simulated_quantize: floats as integers of a scale would have them, where relay.quantize will put integers.

#include "ir/prim/ops.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/annotation.h"
#include "topi/broadcast.h"

namespace tessera::op {
namespace {

using relay::QuantizeAnnotationAttrs;
register_types<QuantizeAnnotationAttrs> quantize_annotation_types;

bool simulated_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  if (data->dtype.code != DataType::kFloat)
    throw Error(TypeError) << "simulated quantisation is of floats, but the data is " << to_text(query.type(0));
  query.result(query.type(0));
  return true;
}

/// The element of a tensor that is broadcast with the data.
PrimExpr part_at(const te::Tensor& part, const Array<PrimExpr>& at, const Array<PrimExpr>& shape) {
  return te::load(part, topi::broadcast_indices(at, shape, part->shape));
}

Array<te::Tensor> simulated(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<QuantizeAnnotationAttrs>();
  const te::Tensor& data = in[0];
  auto body = [&](const Array<PrimExpr>& at) -> PrimExpr {
    PrimExpr x = te::load(data, at);
    if (attrs->kind == 0) return x;
    PrimExpr scale = part_at(in[1], at, data->shape), steps = div(x, scale);
    PrimExpr rounded = attrs->rounding == "UPWARD" ? floor(steps + make_const(x.dtype(), 0.5)) : nearbyint(steps);
    PrimExpr clipped = max(min(rounded, part_at(in[3], at, data->shape)), part_at(in[2], at, data->shape));
    return clipped * scale;
  };
  return {topi::compute(data->shape, "i", body, "simulated_quantize", topi::kElementwise)};
}

}  // namespace

static void annotated_quantize_records() {
  OpRecord("relay.op.annotation.simulated_quantize")
      .doc("The input in steps of a scale, clipped: what its integers stand for.")
      .attrs<QuantizeAnnotationAttrs>()
      .input("data", "floats")
      .input("dom_scale", "what a step stands for; broadcast with the data")
      .input("clip_min", "the least integer")
      .input("clip_max", "the largest integer")
      .support_level(11)
      .type("SimulatedQuantize", simulated_type)
      .fusion(Fusion::Elementwise)
      .numeric(false)
      .compute(simulated);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily annotated_quantize_family{annotated_quantize_records};

}  // namespace tessera::op

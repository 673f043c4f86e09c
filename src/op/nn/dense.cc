// nn.dense: a linear layer.

#include "topi/nn/dense.h"
#include "ir/prim_ops.h"
#include "op/records.h"
#include "relay/attrs/nn.h"

namespace tessera::op {
namespace {

using relay::DenseAttrs;

/// data (..., k), weight (units, k) -> (..., units). A weight of unknown type gets it from `units`.
bool dense_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<DenseAttrs>();
  if (data->shape.empty()) throw Error(TypeError) << "data must have at least one dimension";
  PrimExpr depth = data->shape.back(), units = attrs->units;
  DataType out_dtype = attrs->out_dtype.is_void() ? data->dtype : attrs->out_dtype;
  auto* weight = query.tensor(1);
  if (weight) {
    if (weight->shape.size() != 2)
      throw Error(TypeError) << "weight must have two dimensions (units, k), but is " << to_text(query.type(1));
    if (!relay::may_equal(depth, weight->shape[1]))
      throw Error(TypeError) << "data and weight disagree about k: data is " << to_text(query.type(0)) << ", weight is "
                             << to_text(query.type(1)) << "; " << depth << " is not " << weight->shape[1];
    if (units && !relay::may_equal(units, weight->shape[0]))
      throw Error(TypeError) << "units is " << units << ", but weight has " << weight->shape[0] << " rows";
    if (!units) units = weight->shape[0];
    if (attrs->out_dtype.is_void() && weight->dtype.bits > data->dtype.bits) out_dtype = weight->dtype;
  } else {
    if (!units) return false;
    query.argument(1, TensorType({units, depth}, data->dtype));
  }
  Array<PrimExpr> shape = data->shape;
  shape.set(shape.size() - 1, units);
  query.result(TensorType(shape, out_dtype));
  return true;
}

Array<te::Tensor> dense_compute(const Attrs&, const Array<te::Tensor>& in, const Type& out) {
  return {topi::dense(in[0], in[1], {}, out.as<TensorTypeNode>()->dtype)};
}

}  // namespace

void dense_record() {
  OpRecord("nn.dense")
      .doc("Linear layer: out[..., n] = sum over k of data[..., k] * weight[n, k].")
      .attrs<DenseAttrs>()
      .input("data", "(..., k): activations", "nD Tensor")
      .input("weight", "(units, k): one row per output feature", "2D Tensor")
      .support_level(1)
      .type("Dense", dense_type)
      .fusion(Fusion::OutputElementwise)
      .compute(dense_compute);
}

}  // namespace tessera::op

// nn.relu, nn.leaky_relu, nn.bias_add, nn.softmax, nn.log_softmax, nn.batch_flatten.

#include "ir/prim_ops.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/nn.h"
#include "topi/elementwise.h"
#include "topi/nn/softmax.h"
#include "topi/transform.h"

namespace tessera::op {
namespace {

using relay::BiasAddAttrs;
using relay::LeakyReluAttrs;
using relay::SoftmaxAttrs;

bool bias_add_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto axis =
      static_cast<size_t>(normal_axis(query.attrs_as<BiasAddAttrs>()->axis, static_cast<int>(data->shape.size())));
  PrimExpr extent = data->shape[axis];
  if (auto* bias = query.tensor(1)) {
    if (bias->shape.size() != 1 || !relay::may_equal(bias->shape[0], extent))
      throw Error(TypeError) << "bias must be one value for each of the " << extent << " along axis " << axis
                             << ", but is " << to_text(query.type(1));
  } else {
    query.argument(1, TensorType({extent}, data->dtype));
  }
  query.result(query.type(0));
  return true;
}

Array<te::Tensor> bias_add(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  auto axis = static_cast<size_t>(normal_axis(attrs.as<BiasAddAttrs>()->axis, static_cast<int>(in[0]->shape.size())));
  return {topi::compute(
      in[0]->shape, "ax", [&](const Array<PrimExpr>& at) { return te::load(in[0], at) + te::load(in[1], {at[axis]}); },
      "T_add", topi::kBroadcast)};
}

Array<te::Tensor> relu(const Attrs&, const Array<te::Tensor>& in, const Type&) {
  return {topi::elementwise(in[0], [](PrimExpr x) { return max(x, make_zero(x.dtype())); })};
}

Array<te::Tensor> leaky_relu(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  double alpha = attrs.as<LeakyReluAttrs>()->alpha;
  return {topi::elementwise(
      in[0], [alpha](PrimExpr x) { return select(x > make_zero(x.dtype()), x, x * make_const(x.dtype(), alpha)); })};
}

template <te::Tensor (*function)(const te::Tensor&, int)>
Array<te::Tensor> softmax(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  return {function(in[0], normal_axis(attrs.as<SoftmaxAttrs>()->axis, static_cast<int>(in[0]->shape.size())))};
}

bool softmax_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  normal_axis(query.attrs_as<SoftmaxAttrs>()->axis, static_cast<int>(data->shape.size()));
  query.result(query.type(0));
  return true;
}

bool batch_flatten_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  if (data->shape.empty()) throw Error(TypeError) << "data must have at least one dimension";
  PrimExpr rest = make_const(data->shape[0].dtype(), 1);
  for (size_t i = 1; i < data->shape.size() && !relay::is_any(rest); ++i)
    rest = relay::is_any(data->shape[i]) ? data->shape[i] : rest * data->shape[i];
  query.result(TensorType({data->shape[0], rest}, data->dtype));
  return true;
}

Array<te::Tensor> batch_flatten(const Attrs&, const Array<te::Tensor>& in, const Type&) {
  const Array<PrimExpr>& shape = in[0]->shape;
  Array<PrimExpr> inner = shape;
  inner.erase(0);
  PrimExpr rest = make_const(shape[0].dtype(), 1);
  for (const PrimExpr& extent : inner) rest = rest * extent;
  return {topi::compute(
      {shape[0], rest}, "i",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> source = topi::unflat_index(at[1], inner);
        source.insert(0, at[0]);
        return te::load(in[0], source);
      },
      "tensor", topi::kInjective)};
}

}  // namespace

void activation_records() {
  OpRecord("nn.relu")
      .doc("max(x, 0).")
      .input("data", "the input")
      .support_level(1)
      .type("Identity", same_as_input)
      .fusion(Fusion::Elementwise)
      .compute(relu);
  OpRecord("nn.leaky_relu")
      .doc("x where it is positive, else alpha * x.")
      .attrs<LeakyReluAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Identity", same_as_input)
      .fusion(Fusion::Elementwise)
      .compute(leaky_relu);
  OpRecord("nn.bias_add")
      .doc("Adds one value to each slice along an axis.")
      .attrs<BiasAddAttrs>()
      .input("data", "the input", "nD Tensor")
      .input("bias", "one value per slice", "1D Tensor")
      .support_level(1)
      .type("BiasAdd", bias_add_type)
      .fusion(Fusion::Broadcast)
      .compute(bias_add);
  OpRecord("nn.softmax")
      .doc("exp(x) over its sum along an axis.")
      .attrs<SoftmaxAttrs>()
      .input("data", "the input")
      .support_level(1)
      .type("Identity", softmax_type)
      .fusion(Fusion::OutputElementwise)
      .compute(softmax<topi::softmax>);
  OpRecord("nn.log_softmax")
      .doc("The logarithm of softmax.")
      .attrs<SoftmaxAttrs>()
      .input("data", "the input")
      .support_level(1)
      .type("Identity", softmax_type)
      .fusion(Fusion::OutputElementwise)
      .compute(softmax<topi::log_softmax>);
  OpRecord("nn.batch_flatten")
      .doc("All dimensions but the first become one.")
      .input("data", "the input")
      .support_level(2)
      .type("BatchFlatten", batch_flatten_type)
      .fusion(Fusion::Injective)
      .compute(batch_flatten);
}

}  // namespace tessera::op

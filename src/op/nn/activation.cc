// nn.relu, nn.leaky_relu, nn.prelu, nn.bias_add, nn.softmax, nn.fast_softmax, nn.log_softmax, nn.batch_flatten.

#include "ir/prim/ops.h"
#include "op/layout_rules.h"
#include "op/nn/gradients.h"
#include "op/qnn/quantized_forms.h"
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
using relay::PReluAttrs;
using relay::SoftmaxAttrs;

/// A vector of one element, which serves all slices where their number is known at run time only.
bool is_one_element(const Type& type, DataType dtype) {
  auto* tensor = type.as<TensorTypeNode>();
  return tensor && tensor->dtype == dtype && tensor->shape.size() == 1 && is_one(tensor->shape[0]);
}
PrimExpr value_of_slice(const te::Tensor& values, const PrimExpr& slice) {
  return te::load(values, {is_one(values->shape[0]) ? PrimExpr(0) : slice});
}

/// data, and one value for each slice along an axis.
template <class A>
bool per_slice_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto axis = static_cast<size_t>(normal_axis(query.attrs_as<A>()->axis, static_cast<int>(data->shape.size())));
  const char* name = std::is_same_v<A, BiasAddAttrs> ? "bias" : "alpha";
  if (as_int(data->shape[axis]) || !is_one_element(query.type(1), data->dtype))
    per_slice_argument(query, 1, name, data->shape[axis], data->dtype);
  query.result(query.type(0));
  return true;
}

Array<te::Tensor> bias_add(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  auto axis = static_cast<size_t>(normal_axis(attrs.as<BiasAddAttrs>()->axis, static_cast<int>(in[0]->shape.size())));
  return {topi::compute(
      in[0]->shape, "ax",
      [&](const Array<PrimExpr>& at) { return te::load(in[0], at) + value_of_slice(in[1], at[axis]); }, "T_add",
      topi::kBroadcast)};
}

Array<te::Tensor> relu(const Attrs&, const Array<te::Tensor>& in, const Type&) {
  return {topi::elementwise(in[0], [](PrimExpr x) { return max(x, make_zero(x.dtype())); })};
}

Array<te::Tensor> leaky_relu(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  double alpha = attrs.as<LeakyReluAttrs>()->alpha;
  return {topi::elementwise(
      in[0], [alpha](PrimExpr x) { return select(x > make_zero(x.dtype()), x, x * make_const(x.dtype(), alpha)); })};
}

Array<te::Tensor> prelu(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  auto axis = static_cast<size_t>(normal_axis(attrs.as<PReluAttrs>()->axis, static_cast<int>(in[0]->shape.size())));
  return {topi::compute(
      in[0]->shape, "i",
      [&](const Array<PrimExpr>& at) {
        PrimExpr x = te::load(in[0], at);
        return select(x > make_zero(x.dtype()), x, x * value_of_slice(in[1], at[axis]));
      },
      "compute", topi::kBroadcast)};
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
  query.result(TensorType({data->shape[0], extent_product(data->shape, 1)}, data->dtype));
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

OpRecord softmax_record(const char* name, const char* doc, relay::Compute compute, Gradient gradient) {
  return OpRecord(name)
      .doc(doc)
      .attrs<SoftmaxAttrs>()
      .input("data", "the input")
      .support_level(1)
      .type("Identity", softmax_type)
      .fusion(Fusion::OutputElementwise)
      .flops(5)
      .compute(std::move(compute))
      .gradient(std::move(gradient));
}

}  // namespace

static void activation_records() {
  OpRecord("nn.relu")
      .doc("max(x, 0).")
      .input("data", "the input")
      .support_level(1)
      .type("Identity", same_as_input)
      .fusion(Fusion::Elementwise)
      .precision(Precision::Follow)
      .keeps_positive_scale()
      .quantized(quantized_relu)
      .layout(layout::elementwise)
      .compute(relu)
      .gradient(relu_gradient);
  OpRecord("nn.leaky_relu")
      .doc("x where it is positive, else alpha * x.")
      .attrs<LeakyReluAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Identity", same_as_input)
      .fusion(Fusion::Elementwise)
      .precision(Precision::Follow)
      .keeps_positive_scale()
      .layout(layout::elementwise)
      .compute(leaky_relu)
      .gradient(leaky_relu_gradient);
  OpRecord("nn.bias_add")
      .doc("Adds one value to each slice along an axis.")
      .attrs<BiasAddAttrs>()
      .input("data", "the input", "nD Tensor")
      .input("bias", "one value per slice", "1D Tensor")
      .support_level(1)
      .type("BiasAdd", per_slice_type<BiasAddAttrs>)
      .fusion(Fusion::Broadcast)
      .precision(Precision::Follow)
      .compute(bias_add)
      .gradient(bias_add_gradient);
  OpRecord("nn.prelu")
      .doc("x where it is positive, else alpha * x with one alpha per slice.")
      .attrs<PReluAttrs>()
      .input("data", "the input")
      .input("alpha", "one factor per slice")
      .support_level(3)
      .type("PRelu", per_slice_type<PReluAttrs>)
      .fusion(Fusion::Broadcast)
      .precision(Precision::Follow)
      .compute(prelu)
      .gradient(prelu_gradient);
  softmax_record("nn.softmax", "exp(x) over its sum along an axis.", softmax<topi::softmax>, softmax_gradient)
      .layout(layout::softmax)
      .precision(Precision::Never)
      .fast_form("nn.fast_softmax");
  softmax_record("nn.fast_softmax", "softmax, quicker and less exact.", softmax<topi::fast_softmax>, softmax_gradient);
  softmax_record("nn.log_softmax", "The logarithm of softmax.", softmax<topi::log_softmax>, log_softmax_gradient)
      .layout(layout::softmax)
      .precision(Precision::Never);
  OpRecord("nn.batch_flatten")
      .doc("All dimensions but the first become one.")
      .input("data", "the input")
      .support_level(2)
      .type("BatchFlatten", batch_flatten_type)
      .fusion(Fusion::Injective)
      .moves(Moves::View)
      .precision(Precision::Follow)
      .quantized(quantized_moves)
      .compute(batch_flatten)
      .gradient(batch_flatten_gradient);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily activation_family{activation_records};

}  // namespace tessera::op

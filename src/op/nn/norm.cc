// Normalisation: nn.batch_norm, nn.layer_norm, nn.instance_norm, nn.group_norm, nn.l2_normalize, nn.lrn, and nn.dropout.
// SimplifyInference replaces most of them by arithmetic; they have a compute for those who do not run it.

#include "topi/nn/norm.h"
#include "ir/prim/ops.h"
#include "op/layout_rules.h"
#include "op/nn/gradients.h"
#include "op/nn/inference_forms.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/norm.h"
#include "topi/elementwise.h"

namespace tessera::op {
namespace {

using relay::DropoutAttrs;
using relay::GroupNormAttrs;
using relay::L2NormalizeAttrs;
using relay::LRNAttrs;
using relay::NormAttrs;

const NormAttrs* norm_attrs(const Attrs& attrs) {
  auto* out = cast_or_null<NormAttrs>(attrs.get());
  if (!out) throw Error(TypeError) << "the call has no attributes of a normalisation";
  return out;
}

/// data, then one value per slice for each further argument. Those of batch_norm that describe the data, mean and
/// variance, are results too.
bool norm_type(TypeQuery& query) {
  static constexpr const char* kNames[] = {"data", "gamma", "beta", "moving_mean", "moving_var"};
  auto* data = query.tensor(0);
  if (!data) return false;
  auto axis = static_cast<size_t>(normal_axis(norm_attrs(query.attrs())->axis, static_cast<int>(data->shape.size())));
  PrimExpr extent = data->shape[axis];
  for (int i = 1; i < query.size(); ++i) per_slice_argument(query, i, kNames[i], extent, data->dtype);
  if (auto* group = query.attrs().as<GroupNormAttrs>()) {
    const int64_t* channels = as_int(extent);
    if (group->num_groups < 1 || (channels && *channels % group->num_groups != 0))
      throw Error(TypeError) << "num_groups is " << group->num_groups << ", which does not divide the " << extent
                             << " channels of " << to_text(query.type(0));
  }
  TensorType slice({extent}, data->dtype);
  query.result(query.size() == 5 ? tuple_type({query.type(0), slice, slice}) : query.type(0));
  return true;
}

topi::Affine affine_of(const NormAttrs* attrs, const Array<te::Tensor>& in) {
  topi::Affine out;
  out.axis = normal_axis(attrs->axis, static_cast<int>(in[0]->shape.size()));
  if (attrs->scale) out.gamma = in[1];
  if (attrs->center) out.beta = in[2];
  return out;
}

Array<te::Tensor> batch_norm(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = norm_attrs(given);
  return topi::batch_norm(in[0], in[3], in[4], attrs->epsilon, affine_of(attrs, in));
}

Array<te::Tensor> layer_norm(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = norm_attrs(given);
  topi::Affine affine = affine_of(attrs, in);
  return {topi::normalize(in[0], {affine.axis}, attrs->epsilon, affine)};
}

Array<te::Tensor> instance_norm(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = norm_attrs(given);
  topi::Affine affine = affine_of(attrs, in);
  std::vector<int> axes;
  for (int i = 1; i < static_cast<int>(in[0]->shape.size()); ++i)
    if (i != affine.axis) axes.push_back(i);
  return {topi::normalize(in[0], axes, attrs->epsilon, affine)};
}

Array<te::Tensor> group_norm(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<GroupNormAttrs>();
  return {topi::group_norm(in[0], attrs->num_groups, attrs->epsilon, affine_of(attrs, in))};
}

std::vector<int> l2_axes(const L2NormalizeAttrs* attrs, size_t rank) {
  std::vector<int> out;
  if (attrs->axis.defined())
    for (const PrimExpr& axis : attrs->axis) out.push_back(normal_axis(*as_int(axis), static_cast<int>(rank)));
  if (out.empty())
    for (size_t i = 0; i < rank; ++i) out.push_back(static_cast<int>(i));
  return out;
}

bool l2_normalize_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  l2_axes(query.attrs_as<L2NormalizeAttrs>(), data->shape.size());
  query.result(query.type(0));
  return true;
}

Array<te::Tensor> l2_normalize(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<L2NormalizeAttrs>();
  return {topi::l2_normalize(in[0], l2_axes(attrs, in[0]->shape.size()), attrs->eps)};
}

bool lrn_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<LRNAttrs>();
  normal_axis(attrs->axis, static_cast<int>(data->shape.size()));
  query.result(query.type(0));
  return true;
}

Array<te::Tensor> lrn(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<LRNAttrs>();
  if (attrs->size < 1 || attrs->size % 2 == 0)
    throw Error(TypeError) << "nn.lrn: size is " << attrs->size
                           << ", but must be odd: as many neighbours on both sides";
  topi::LrnOptions options;
  options.size = attrs->size;
  options.axis = normal_axis(attrs->axis, static_cast<int>(in[0]->shape.size()));
  options.alpha = attrs->alpha;
  options.beta = attrs->beta;
  options.bias = attrs->bias;
  return {topi::lrn(in[0], options)};
}

/// The data with some elements left out, and which ones stayed.
bool dropout_type(TypeQuery& query) {
  if (!query.tensor(0)) return false;
  query.result(tuple_type({query.type(0), query.type(0)}));
  return true;
}

/// As inference means it: nothing is left out.
Array<te::Tensor> dropout(const Attrs&, const Array<te::Tensor>& in, const Type&) {
  return {topi::elementwise(in[0], [](PrimExpr x) { return x; }),
          topi::full(in[0]->shape, in[0]->dtype, make_const(in[0]->dtype, 1))};
}

OpRecord norm_record(const char* name, const char* doc, const char* rule_name, relay::Compute compute,
                     Gradient gradient) {
  return OpRecord(name)
      .doc(doc)
      .input("data", "the input")
      .input("gamma", "one scale per slice")
      .input("beta", "one offset per slice")
      .support_level(1)
      .type(rule_name, norm_type)
      .compute(std::move(compute))
      .gradient(std::move(gradient));
}

}  // namespace

static void norm_records() {
  norm_record("nn.batch_norm", "Normalises by a mean and a variance that are given; returns those too.", "BatchNorm",
              batch_norm, batch_norm_gradient)
      .attrs<relay::BatchNormAttrs>()
      .layout(layout::batch_norm)
      .inference_form(batch_norm_inference)
      .precision(Precision::Follow)
      .flops(2)
      .input("moving_mean", "the mean of each slice")
      .input("moving_var", "the variance of each slice")
      .fusion(Fusion::OutputElementwise);
  norm_record("nn.layer_norm", "Normalises by mean and variance along an axis.", "LayerNorm", layer_norm,
              layer_norm_gradient)
      .attrs<relay::LayerNormAttrs>()
      .inference_form(layer_norm_inference)
      .precision(Precision::Never)
      .numeric(true)
      .flops(7);
  norm_record("nn.instance_norm", "Normalises each channel of each sample.", "InstanceNorm", instance_norm,
              instance_norm_gradient)
      .attrs<relay::InstanceNormAttrs>()
      .inference_form(instance_norm_inference)
      .precision(Precision::Never)
      .numeric(true)
      .flops(7);
  norm_record("nn.group_norm", "Normalises each group of channels of each sample.", "GroupNorm", group_norm,
              group_norm_gradient)
      .attrs<GroupNormAttrs>()
      .inference_form(group_norm_inference)
      .precision(Precision::Never)
      .numeric(true)
      .flops(7);
  OpRecord("nn.l2_normalize")
      .doc("x over the root of its sum of squares along some axes.")
      .attrs<L2NormalizeAttrs>()
      .input("data", "the input")
      .support_level(2)
      .type("Identity", l2_normalize_type)
      .precision(Precision::Never)
      .flops(3)
      .inference_form(l2_normalize_inference)
      .compute(l2_normalize)
      .gradient(l2_normalize_gradient);
  OpRecord("nn.lrn")
      .doc("Normalises each element by its neighbours along an axis.")
      .attrs<LRNAttrs>()
      .input("data", "the input")
      .support_level(2)
      .type("Identity", lrn_type)
      .fusion(Fusion::Opaque)
      .precision(Precision::Never)
      .flops(4)
      .numeric(true)
      .compute(lrn)
      .gradient(lrn_gradient);
  OpRecord("nn.dropout")
      .doc("Leaves elements out at random while training; here the data as it is, and a mask of ones.")
      .attrs<DropoutAttrs>()
      .input("data", "the input")
      .support_level(1)
      .type("Dropout", dropout_type)
      .fusion(Fusion::Opaque)
      .precision(Precision::Follow)
      .stateful(true)
      .inference_form(dropout_inference)
      .compute(dropout)
      .gradient(dropout_gradient);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily norm_family{norm_records};

}  // namespace tessera::op

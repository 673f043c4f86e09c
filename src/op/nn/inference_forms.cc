#include "op/nn/inference_forms.h"

#include "relay/attrs/norm.h"
#include "relay/attrs/reduce.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::op {

using namespace relay;
using relay::Call;

namespace {

int normal(int axis, size_t rank) { return axis < 0 ? axis + static_cast<int>(rank) : axis; }

Expr variance(const Expr& data, const Expr& mean, const Array<PrimExpr>& axes) {
  return call_op("variance", {data, mean},
                 make_attrs<VarianceAttrs>([&](auto& a) { a.axis = axes, a.keepdims = true; }));
}

/// (data - mean) / sqrt(variance + epsilon) over the axes.
Expr normalized(const Expr& data, const Array<PrimExpr>& axes, double epsilon, DataType dtype) {
  Expr average = mean(data, axes, true);
  Expr root = sqrt(add(variance(data, average, axes), make_scalar(epsilon, dtype)));
  return divide(subtract(data, average), root);
}

/// data * gamma + beta, one of each along an axis, as far as the attributes ask for them.
Expr scale_and_shift(Expr data, const NormAttrs* attrs, int axis, size_t rank, const Expr& gamma, const Expr& beta) {
  if (attrs->scale) data = multiply(data, expand_to_axes(gamma, {axis}, static_cast<int>(rank)));
  if (attrs->center) data = add(data, expand_to_axes(beta, {axis}, static_cast<int>(rank)));
  return data;
}

}  // namespace

Expr batch_norm_inference(const Call* before, const Array<Expr>& args) {
  auto* attrs = before->attrs_as<BatchNormAttrs>();
  size_t rank = relay::rank_of(before->args[0]);
  int axis = normal(attrs->axis, rank);
  DataType dtype = dtype_of(before->args[4]);
  Expr scale = divide(make_scalar(1, dtype), sqrt(add(args[4], make_scalar(attrs->epsilon, dtype))));
  if (attrs->scale) scale = multiply(scale, args[1]);
  Expr shift = multiply(negative(args[3]), scale);
  if (attrs->center) shift = add(shift, args[2]);
  Expr product = multiply(args[0], expand_to_axes(scale, {axis}, static_cast<int>(rank)));
  return add(product, expand_to_axes(shift, {axis}, static_cast<int>(rank)));
}

Expr layer_norm_inference(const Call* before, const Array<Expr>& args) {
  auto* attrs = before->attrs_as<LayerNormAttrs>();
  size_t rank = relay::rank_of(before->args[0]);
  Expr out = normalized(args[0], {attrs->axis}, attrs->epsilon, dtype_of(before->args[0]));
  return scale_and_shift(out, attrs, normal(attrs->axis, rank), rank, args[1], args[2]);
}

Expr instance_norm_inference(const Call* before, const Array<Expr>& args) {
  auto* attrs = before->attrs_as<InstanceNormAttrs>();
  size_t rank = relay::rank_of(before->args[0]);
  int axis = normal(attrs->axis, rank);
  Array<PrimExpr> reduced;
  for (int i = 1; i < static_cast<int>(rank); ++i)
    if (i != axis) reduced.push_back(i);
  Expr out = normalized(args[0], reduced, attrs->epsilon, dtype_of(before->args[0]));
  return scale_and_shift(out, attrs, axis, rank, args[1], args[2]);
}

/// The channels are split into groups; each is normalised over its channels and all of space.
Expr group_norm_inference(const Call* before, const Array<Expr>& args) {
  auto* attrs = before->attrs_as<GroupNormAttrs>();
  TensorType type = tensor_type(before->args[0]);
  size_t rank = type->shape.size();
  int axis = normal(attrs->axis, rank);
  auto shape = fixed_ints(type->shape);
  if (!shape) return nullptr;
  std::vector<int64_t> grouped;
  Array<PrimExpr> reduced;
  for (int i = 0; i < static_cast<int>(rank); ++i) {
    int64_t extent = (*shape)[static_cast<size_t>(i)];
    if (i == axis) {
      grouped.push_back(attrs->num_groups);
      extent /= attrs->num_groups;
    }
    if (i > 0) reduced.push_back(i < axis ? i : i + 1);
    grouped.push_back(extent);
  }
  Expr out = normalized(reshape(args[0], int_array(grouped)), reduced, attrs->epsilon, type->dtype);
  return scale_and_shift(reshape(out, int_array(*shape)), attrs, axis, rank, args[1], args[2]);
}

Expr l2_normalize_inference(const Call* before, const Array<Expr>& args) {
  auto* attrs = before->attrs_as<L2NormalizeAttrs>();
  Expr squares = sum(multiply(args[0], args[0]), attrs->axis, true);
  return divide(args[0], sqrt(maximum(squares, make_scalar(attrs->eps, dtype_of(before->args[0])))));
}

Expr dropout_inference(const Call*, const Array<Expr>& args) { return args[0]; }

}  // namespace tessera::op

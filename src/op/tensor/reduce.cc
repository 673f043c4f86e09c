// Reductions: sum, max, min, prod, all, any, mean, argmax, argmin, variance.

#include <algorithm>

#include <optional>

#include "ir/prim/ops.h"
#include "op/layout_rules.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/reduce.h"
#include "topi/broadcast.h"
#include "topi/elementwise.h"
#include "topi/reduction.h"

namespace tessera::op {
namespace {

using relay::ArgReduceAttrs;
using relay::ReduceAttrs;
using relay::VarianceAttrs;
using topi::ReduceOptions;

ReduceOptions options_of(const ReduceAttrs* attrs, const te::Tensor& data) {
  std::vector<int> axes = reduce_axes_of(attrs, rank_of(data));
  return {.axes = {axes.begin(), axes.end()}, .all_axes = false, .keepdims = attrs->keepdims};
}

const ReduceAttrs* reduce_attrs(const Attrs& attrs) {
  auto* out = cast_or_null<ReduceAttrs>(attrs.get());
  if (!out) throw Error(TypeError) << "the call has no attributes of a reduction";
  return out;
}

Array<PrimExpr> reduced_shape(const TensorTypeNode* data, const ReduceAttrs* attrs) {
  std::vector<int> axes = reduce_axes_of(attrs, rank_of(data));
  Array<PrimExpr> out;
  for (size_t i = 0; i < data->shape.size(); ++i) {
    bool is_reduced = std::find(axes.begin(), axes.end(), static_cast<int>(i)) != axes.end();
    if (!is_reduced) out.push_back(data->shape[i]);
    else if (attrs->keepdims) out.push_back(make_const(data->shape[i].dtype(), 1));
  }
  return out;
}

bool reduce_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  query.result(TensorType(reduced_shape(data, reduce_attrs(query.attrs())), data->dtype));
  return true;
}

bool arg_reduce_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  // the integer type of the first extent
  DataType index = data->shape.empty() ? DataType::Int(32) : data->shape[0].dtype();
  query.result(TensorType(reduced_shape(data, reduce_attrs(query.attrs())), index));
  return true;
}

using ReduceFunction = te::Tensor (*)(const te::Tensor&, const ReduceOptions&);
template <ReduceFunction reduction>
Array<te::Tensor> reduce(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  return {reduction(in[0], options_of(reduce_attrs(attrs), in[0]))};
}

using Position = te::Tensor (*)(const te::Tensor&, const ReduceOptions&, bool);
template <Position position>
Array<te::Tensor> arg_reduce(const Attrs& attrs, const Array<te::Tensor>& in, const Type& out) {
  auto* options = attrs.as<ArgReduceAttrs>();
  te::Tensor index = position(in[0], options_of(options, in[0]), options->select_last_index);
  return {index->dtype == tensor_of(out)->dtype ? index : topi::cast(index, tensor_of(out)->dtype)};
}

/// How many elements go into one of the result.
PrimExpr count_of(const te::Tensor& data, const ReduceAttrs* attrs) {
  PrimExpr count = make_const(DataType::Int(32), 1);
  for (int axis : reduce_axes_of(attrs, rank_of(data))) count = count * data->shape[axis];
  return tessera::cast(data->dtype, count);
}

te::Tensor divided(const te::Tensor& data, const PrimExpr& by) {
  return std::get<te::Tensor>(topi::broadcast(data, by, [](PrimExpr a, PrimExpr b) { return div(a, b); }, "T_divide"));
}

Array<te::Tensor> mean(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  const ReduceAttrs* attrs = reduce_attrs(given);
  return {divided(topi::sum(in[0], options_of(attrs, in[0])), count_of(in[0], attrs))};
}

/// The mean of the squares of what is left after the mean, which the caller gives with its dimensions kept.
Array<te::Tensor> variance(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<VarianceAttrs>();
  te::Tensor squares = std::get<te::Tensor>(
      topi::broadcast(in[0], in[1], [](PrimExpr x, PrimExpr m) { return (x - m) * (x - m); }, "T_multiply"));
  PrimExpr count = count_of(in[0], attrs);
  if (attrs->unbiased) count = count - make_const(count.dtype(), 1);
  return {divided(topi::sum(squares, options_of(attrs, squares)), count)};
}

struct ReduceRow {
  const char* name;
  relay::Compute compute;
  const char* doc;
  std::optional<Precision> precision = {};
  Reduction reduction = Reduction::None;
};

}  // namespace

static void reduce_records() {
  const ReduceRow rows[] = {
      {"sum", reduce<topi::sum>, "The sum over the axes.", Precision::Never, Reduction::Sum},
      {"prod", reduce<topi::prod>, "The product over the axes.", Precision::Never, Reduction::Product},
      {"max", reduce<topi::max>, "The greatest element over the axes.", Precision::Follow, Reduction::Max},
      {"min", reduce<topi::min>, "The least element over the axes.", Precision::Follow, Reduction::Min},
      {"all", reduce<topi::all>, "True where all elements over the axes are."},
      {"any", reduce<topi::any>, "True where one element over the axes is."},
      {"mean", mean, "The mean over the axes.", Precision::Never, Reduction::Mean},
  };
  for (const ReduceRow& row : rows) {
    OpRecord record(row.name);
    record.doc(row.doc)
        .attrs<ReduceAttrs>()
        .input("data", "the input")
        .support_level(4)
        .type("Reduce", reduce_type)
        .fusion(Fusion::Reduction)
        .layout(layout::reduction)
        .reduction(row.reduction)
        .compute(row.compute);
    if (row.precision) record.precision(*row.precision);
  }
  const ReduceRow positions[] = {
      {"argmax", arg_reduce<topi::two_pass_argmax>, "Where the greatest element over the axes is.", Precision::Follow},
      {"argmin", arg_reduce<topi::two_pass_argmin>, "Where the least element over the axes is.", Precision::Follow},
  };
  for (const ReduceRow& row : positions) {
    OpRecord record(row.name);
    record.doc(row.doc)
        .attrs<ArgReduceAttrs>()
        .input("data", "the input")
        .support_level(4)
        .type("ArgReduce", arg_reduce_type)
        .fusion(Fusion::Reduction)
        .layout(layout::reduction)
        .sees_order_only()
        .compute(row.compute);
    if (row.precision) record.precision(*row.precision);
  }
  OpRecord("variance")
      .doc("The variance over the axes, given the mean.")
      .attrs<VarianceAttrs>()
      .input("data", "the input")
      .input("mean", "its mean over the same axes, dimensions kept")
      .support_level(4)
      .type("Variance", reduce_type)
      .fusion(Fusion::Reduction)
      .reduction(Reduction::Variance)
      .precision(Precision::Never)
      .compute(variance);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily reduce_family{reduce_records};

}  // namespace tessera::op

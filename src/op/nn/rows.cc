// Softmax, and reductions along the last axes, on CPUs (topi/cpu/rows.h): other implementations of nn.softmax,
// nn.log_softmax, sum, mean, max, min, argmax and variance.

#include "topi/cpu/rows.h"

#include <optional>

#include "ir/prim/ops.h"
#include "op/records.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/reduce.h"
#include "relay/strategy.h"

namespace tessera::op {
namespace {

using topi::Machine;
using topi::RowKind;

constexpr int kLevel = 15;  // before an operator's own compute

bool is_last(int64_t axis, const te::Tensor& x) {
  return axis == -1 || axis + 1 == static_cast<int64_t>(x->shape.size());
}

/// How many dimensions are left where the reduction goes over the last ones, which lie together in memory; nothing for others.
std::optional<size_t> rows_left(const relay::ReduceAttrs* attrs, const te::Tensor& x) {
  const size_t rank = x->shape.size();
  if (attrs->exclude || !attrs->axis || attrs->axis.empty() || attrs->axis.size() >= rank) return {};
  std::vector<bool> reduced(rank, false);
  for (const PrimExpr& given : attrs->axis) {
    const int64_t* axis = as_int(given);
    if (!axis) return {};
    reduced[static_cast<size_t>(*axis < 0 ? *axis + static_cast<int64_t>(rank) : *axis)] = true;
  }
  size_t left = rank;
  while (left > 0 && reduced[left - 1]) --left;
  return left > 0 && left + attrs->axis.size() == rank ? std::optional(left) : std::nullopt;
}

/// Lanes of the rows of a reduction over the last axis, or the `last` last ones; 0 for others, or where it is not worth it.
int64_t lanes_for(const relay::ReduceAttrs* attrs, const te::Tensor& x, const Target& target, size_t last,
                  bool takes_int32 = false) {
  if (!target || target->kind->name != "llvm" || !attrs) return 0;
  std::optional<size_t> left = rows_left(attrs, x);
  return left && *left + last >= x->shape.size() ? topi::row_lanes(x, topi::machine_of(target), takes_int32) : 0;
}

template <bool is_log>
void offer_softmax(const relay::OpStrategy& strategy, const Attrs& attrs, const Array<te::Tensor>& inputs, const Type&,
                   const Target& target) {
  auto* softmax = attrs.as<relay::SoftmaxAttrs>();
  if (!target || target->kind->name != "llvm" || !softmax || !is_last(softmax->axis, inputs[0])) return;
  if (inputs[0]->shape.size() < 2) return;
  const int64_t lanes = topi::row_lanes(inputs[0], topi::machine_of(target));
  if (!lanes) return;
  auto compute = [lanes](Attrs, Array<te::Tensor> in, Type) {
    return Array<te::Tensor>{is_log ? topi::log_softmax_rows(in[0], lanes) : topi::softmax_rows(in[0], lanes)};
  };
  auto schedule = [](Attrs, Array<te::Tensor> outs, Target target) { return topi::schedule_rows(outs, target); };
  relay::add_implementation(strategy, typed("softmax by rows", compute), typed("rows", schedule), "softmax_rows.cpu",
                            kLevel);
}

template <RowKind kind, bool is_mean>
void offer_reduction(const relay::OpStrategy& strategy, const Attrs& attrs, const Array<te::Tensor>& inputs,
                     const Type&, const Target& target) {
  auto* reduce = attrs.as<relay::ReduceAttrs>();
  const int64_t lanes = lanes_for(reduce, inputs[0], target, 1, !is_mean);  // others are tiles of loops
  if (!lanes) return;
  auto compute = [lanes, keeps = reduce->keepdims](Attrs, Array<te::Tensor> in, Type) {
    const PrimExpr count = is_mean ? in[0]->shape.back() : PrimExpr(1);
    return Array<te::Tensor>{topi::finish_rows(topi::reduce_rows(in[0], kind, lanes), keeps ? 1 : 0, count)};
  };
  auto schedule = [](Attrs, Array<te::Tensor> outs, Target target) { return topi::schedule_rows(outs, target); };
  relay::add_implementation(strategy, typed("reduction by rows", compute), typed("rows", schedule), "reduce_rows.cpu",
                            kLevel);
}

void offer_argmax(const relay::OpStrategy& strategy, const Attrs& attrs, const Array<te::Tensor>& inputs,
                  const Type& out, const Target& target) {
  auto* reduce = attrs.as<relay::ArgReduceAttrs>();
  const int64_t lanes = lanes_for(reduce, inputs[0], target, 1);
  auto* type = out.as<TensorTypeNode>();
  if (!lanes || !type || type->dtype != DataType::Int(32)) return;
  auto compute = [lanes, keeps = reduce->keepdims, last = reduce->select_last_index](Attrs, Array<te::Tensor> in,
                                                                                     Type) {
    return Array<te::Tensor>{topi::argmax_rows(in[0], lanes, last, keeps ? 1 : 0)};
  };
  auto schedule = [](Attrs, Array<te::Tensor> outs, Target target) { return topi::schedule_rows(outs, target); };
  relay::add_implementation(strategy, typed("argmax by rows", compute), typed("rows", schedule), "argmax_rows.cpu",
                            kLevel);
}

void offer_variance(const relay::OpStrategy& strategy, const Attrs& attrs, const Array<te::Tensor>& inputs, const Type&,
                    const Target& target) {
  auto* reduce = attrs.as<relay::VarianceAttrs>();
  const int64_t lanes = lanes_for(reduce, inputs[0], target, inputs[0]->shape.size());
  if (!lanes || inputs[1]->shape.size() != inputs[0]->shape.size()) return;
  const size_t left = *rows_left(reduce, inputs[0]), rank = inputs[0]->shape.size();
  for (size_t i = left; i < rank; ++i)
    if (!is_one(inputs[1]->shape[i])) return;
  auto compute = [lanes, left, keeps = reduce->keepdims, unbiased = reduce->unbiased](Attrs, Array<te::Tensor> in,
                                                                                      Type) {
    return Array<te::Tensor>{topi::variance_blocks(in[0], in[1], lanes, left, keeps, unbiased)};
  };
  auto schedule = [](Attrs, Array<te::Tensor> outs, Target target) { return topi::schedule_rows(outs, target); };
  relay::add_implementation(strategy, typed("variance by rows", compute), typed("rows", schedule), "variance_rows.cpu",
                            kLevel);
}

}  // namespace

static void row_implementations() {
  auto offer = [](const char* name, auto function) {
    Op::get(name).set(relay::kMoreImplementations, Any(typed("rows.cpu", function)));
  };
  offer("nn.softmax", offer_softmax<false>);
  offer("nn.log_softmax", offer_softmax<true>);
  offer("argmax", offer_argmax);
  offer("sum", offer_reduction<RowKind::Sum, false>);
  offer("mean", offer_reduction<RowKind::Sum, true>);
  offer("max", offer_reduction<RowKind::Max, false>);
  offer("min", offer_reduction<RowKind::Min, false>);
  offer("variance", offer_variance);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily row_implementation_family{row_implementations,
                                                                                  FillOrder::MoreSlots};

}  // namespace tessera::op

// Softmax and reductions along the last axis on processors (topi/cpu/rows.h): other implementations of nn.softmax, sum, mean,
// max and variance.

#include "topi/cpu/rows.h"
#include "ir/prim_ops.h"
#include "op/nn/cpu_implementations.h"
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

/// The reduction goes over the last axis alone.
bool reduces_last(const relay::ReduceAttrs* attrs, const te::Tensor& x) {
  if (attrs->exclude || !attrs->axis || attrs->axis.size() != 1 || !as_int(attrs->axis[0])) return false;
  return is_last(*as_int(attrs->axis[0]), x) && x->shape.size() > 1;
}

void offer_softmax(const relay::OpStrategy& strategy, const Attrs& attrs, const Array<te::Tensor>& inputs, const Type&,
                   const Target& target) {
  auto* softmax = attrs.as<relay::SoftmaxAttrs>();
  if (!target || target->kind->name != "llvm" || !softmax || !is_last(softmax->axis, inputs[0])) return;
  if (inputs[0]->shape.size() < 2) return;
  const int64_t lanes = topi::row_lanes(inputs[0], topi::machine_of(target));
  if (!lanes) return;
  auto compute = [lanes](Attrs, Array<te::Tensor> in, Type) {
    return Array<te::Tensor>{topi::softmax_rows(in[0], lanes)};
  };
  auto schedule = [](Attrs, Array<te::Tensor> outs, Target target) { return topi::schedule_rows(outs, target); };
  relay::add_implementation(strategy, typed("softmax by rows", compute), typed("rows", schedule), "softmax_rows.cpu",
                            kLevel);
}

/// What follows the reduction of a row: the division by `count`, where it is not 1.
te::Tensor finished(const te::Tensor& rows, bool keeps, int64_t count) {
  Array<PrimExpr> shape = rows->shape;
  if (keeps) shape.push_back(PrimExpr(1));
  return te::compute(
      shape,
      [&](const Array<PrimExpr>& at) {
        PrimExpr value = te::load(rows, Array<PrimExpr>(at.begin(), at.end() - (keeps ? 1 : 0)));
        return count == 1 ? value : div(value, make_const(rows->dtype, static_cast<double>(count)));
      },
      "rows_result", "elemwise");
}

template <RowKind kind, bool is_mean>
void offer_reduction(const relay::OpStrategy& strategy, const Attrs& attrs, const Array<te::Tensor>& inputs,
                     const Type&, const Target& target) {
  auto* reduce = attrs.as<relay::ReduceAttrs>();
  if (!target || target->kind->name != "llvm" || !reduce || !reduces_last(reduce, inputs[0])) return;
  const int64_t lanes = topi::row_lanes(inputs[0], topi::machine_of(target));
  if (!lanes) return;
  auto compute = [lanes, keeps = reduce->keepdims](Attrs, Array<te::Tensor> in, Type) {
    const int64_t count = is_mean ? *as_int(in[0]->shape.back()) : 1;
    return Array<te::Tensor>{finished(topi::reduce_rows(in[0], kind, lanes), keeps, count)};
  };
  auto schedule = [](Attrs, Array<te::Tensor> outs, Target target) { return topi::schedule_rows(outs, target); };
  relay::add_implementation(strategy, typed("reduction by rows", compute), typed("rows", schedule), "reduce_rows.cpu",
                            kLevel);
}

void offer_variance(const relay::OpStrategy& strategy, const Attrs& attrs, const Array<te::Tensor>& inputs, const Type&,
                    const Target& target) {
  auto* reduce = attrs.as<relay::VarianceAttrs>();
  if (!target || target->kind->name != "llvm" || !reduce || !reduces_last(reduce, inputs[0])) return;
  const int64_t lanes = topi::row_lanes(inputs[0], topi::machine_of(target));
  if (!lanes || inputs[1]->shape.size() != inputs[0]->shape.size() || !is_one(inputs[1]->shape.back())) return;
  auto compute = [lanes, keeps = reduce->keepdims, unbiased = reduce->unbiased](Attrs, Array<te::Tensor> in, Type) {
    te::Tensor squares = te::compute(
        in[0]->shape,
        [&](const Array<PrimExpr>& at) {
          Array<PrimExpr> place(at.begin(), at.end() - 1);
          place.push_back(PrimExpr(0));
          PrimExpr rest = te::load(in[0], at) - te::load(in[1], place);
          return rest * rest;
        },
        "squares", "elemwise");
    const int64_t count = *as_int(in[0]->shape.back()) - (unbiased ? 1 : 0);
    return Array<te::Tensor>{finished(topi::reduce_rows(squares, RowKind::Sum, lanes), keeps, count)};
  };
  auto schedule = [](Attrs, Array<te::Tensor> outs, Target target) { return topi::schedule_rows(outs, target); };
  relay::add_implementation(strategy, typed("variance by rows", compute), typed("rows", schedule), "variance_rows.cpu",
                            kLevel);
}

}  // namespace

void row_implementations() {
  auto offer = [](const char* name, auto function) {
    Op::get(name).set(relay::kMoreImplementations, Any(typed("rows.cpu", function)));
  };
  offer("nn.softmax", offer_softmax);
  offer("sum", offer_reduction<RowKind::Sum, false>);
  offer("mean", offer_reduction<RowKind::Sum, true>);
  offer("max", offer_reduction<RowKind::Max, false>);
  offer("variance", offer_variance);
}

}  // namespace tessera::op

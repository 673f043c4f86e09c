// Softmax and reductions along the last axis on processors (topi/cpu/rows.h): other implementations of nn.softmax, sum, mean
// and max.

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

/// What follows the reduction of a row: nothing, or the division by its length.
te::Tensor finished(const te::Tensor& rows, const te::Tensor& x, bool keeps, bool is_mean) {
  Array<PrimExpr> shape = rows->shape;
  if (keeps) shape.push_back(PrimExpr(1));
  return te::compute(
      shape,
      [&](const Array<PrimExpr>& at) {
        PrimExpr value = te::load(rows, Array<PrimExpr>(at.begin(), at.end() - (keeps ? 1 : 0)));
        return is_mean ? div(value, cast(x->dtype, x->shape.back())) : value;
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
    return Array<te::Tensor>{finished(topi::reduce_rows(in[0], kind, lanes), in[0], keeps, is_mean)};
  };
  auto schedule = [](Attrs, Array<te::Tensor> outs, Target target) { return topi::schedule_rows(outs, target); };
  relay::add_implementation(strategy, typed("reduction by rows", compute), typed("rows", schedule), "reduce_rows.cpu",
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
}

}  // namespace tessera::op

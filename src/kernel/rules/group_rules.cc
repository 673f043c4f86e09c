#include "kernel/rules/group_rules.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "relay/transform/fuse/kernel_groups.h"
#include "relay/transform/fuse/resampling.h"
#include "topi/cpu/contraction/attention.h"
#include "topi/cpu/rows.h"
#include "topi/cpu/transpose_tiles.h"
#include "topi/transform.h"

namespace tessera::kernel {
namespace {

using relay::Call;
using relay::checked_type;
using relay::dtype_of;
using relay::Expr;
using relay::fixed_shape;
using relay::FunctionNode;
using relay::op_name;
using relay::tensor_type;

topi::MatmulOptions options_of(const Call* call) {
  auto* attrs = call->attrs_as<relay::BatchMatmulAttrs>();
  return {.transpose_a = attrs->transpose_a, .transpose_b = attrs->transpose_b, .out_dtype = dtype_of(Expr(call))};
}

std::vector<int> axes_of(const Call* transpose) {
  auto* attrs = transpose->attrs_as<relay::TransposeAttrs>();
  const int rank = static_cast<int>(relay::rank_of(transpose->args[0]));
  std::vector<int> out;
  for (int i = 0; i < rank; ++i) {
    const int64_t axis = attrs->axes.defined() ? *as_int(attrs->axes[static_cast<size_t>(i)]) : rank - 1 - i;
    out.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
  }
  return out;
}

/// What a call of transpose or layout_transform does to tensors of its type; nothing for other calls.
std::optional<topi::Transposition> move_of(const Call* call) {
  const Array<PrimExpr>& shape = tensor_type(call->args[0])->shape;
  if (auto* attrs = call->attrs.as<relay::LayoutTransformAttrs>())
    return topi::as_transposition(shape, attrs->src_layout, attrs->dst_layout);
  if (op_name(call) != relay::ops::transpose) return std::nullopt;
  std::vector<size_t> axes;
  for (int axis : axes_of(call)) axes.push_back(static_cast<size_t>(axis));
  return topi::as_transposition(shape, axes);
}

/// Tiles for what lies in memory already: other elements are computed on their way.
Array<te::Tensor> moved_by_tiles(const Call* call, const Array<te::Tensor>& in, const topi::Machine& machine) {
  if (in.size() != 1 || !in[0]->op.as<te::PlaceholderOp>()) return {};
  std::optional<topi::Transposition> move = move_of(call);
  if (!move || !topi::has_tiles(*move, in[0]->dtype, machine)) return {};
  return {topi::transpose_tiles(in[0], *move, tensor_type(Expr(call))->shape, machine)};
}

}  // namespace

/// Operands come first, so the first matmul of the body is that of the scores.
GroupRule attention_rule(const FunctionNode* primitive, const CompileEnvironment& environment) {
  std::vector<const Call*> matmuls;
  walk(primitive->body, [&](const Call* call) {
    if (op_name(call) == relay::ops::batch_matmul) matmuls.push_back(call);
  });
  ICHECK(matmuls.size() == 2) << "attention is made of two matmuls";
  const topi::Machine& machine = environment.machine;
  auto scores = *fixed_shape(checked_type(Expr(matmuls[0]))), out = *fixed_shape(checked_type(Expr(matmuls[1])));
  auto left = *fixed_shape(checked_type(matmuls[0]->args[0]));
  topi::AttentionSize size;
  size.batch = scores[0], size.rows = scores[1], size.columns = scores[2], size.width = out[2];
  size.depth = left[options_of(matmuls[0]).transpose_a ? 1 : 2];
  const DataType dtype = dtype_of(Expr(matmuls[1]));
  auto with_plan = [=, target = environment.target](const ObjectRef& knobs) -> GroupKernel {
    auto plan = downcast<topi::AttentionPlan>(knobs);
    topi::check_attention(plan, machine, dtype);
    auto compute = [=](const Call* call, const Array<te::Tensor>& in) -> Array<te::Tensor> {
      if (call == matmuls[0]) return {topi::attention_scores(in[0], in[1], options_of(call), plan)};
      if (call == matmuls[1]) return {topi::attention_values(in[0], in[1], options_of(call), plan)};
      if (op_name(call) == relay::ops::reshape)
        return {topi::view_by_dimensions(in[0], tensor_type(Expr(call))->shape)};
      if (op_name(call) == relay::ops::transpose) return {topi::transpose(in[0], axes_of(call))};
      if (op_name(call) == relay::ops::softmax) return {topi::softmax_rows(in[0], plan->lanes, plan->lanes)};
      return {};
    };
    return {compute, [=](const Array<te::Tensor>& outs) { return topi::schedule_attention(outs, plan, target); }};
  };
  return {topi::plan_attention(machine, size, dtype), with_plan};
}

GroupRule rows_rule(const FunctionNode*, const CompileEnvironment& environment) {
  const topi::Machine& machine = environment.machine;
  auto compute = [machine](const topi::RowsKnobs& knobs, const Call* call,
                           const Array<te::Tensor>& in) -> Array<te::Tensor> {
    const relay::Reduction reduction = relay::reduction_of(call);
    if (!relay::goes_by_rows(reduction)) return moved_by_tiles(call, in, machine);
    auto* attrs = cast_or_null<relay::ReduceAttrs>(call->attrs.get());
    ICHECK(attrs && attrs->axis.defined() && attrs->keepdims) << "FuseRows takes reductions that keep their axes";
    const size_t rank = in[0]->shape.size(), last = attrs->axis.size(), left = rank - last;
    const int64_t lanes = machine->vector_bytes / in[0]->dtype.bytes(), widest = knobs->vectors * lanes;
    if (reduction == relay::Reduction::Variance) {
      const bool unbiased = call->attrs_as<relay::VarianceAttrs>()->unbiased;
      return {topi::variance_blocks(in[0], in[1], lanes, left, true, unbiased, widest)};
    }
    const PrimExpr count = reduction == relay::Reduction::Mean ? topi::elements_from(in[0]->shape, left) : PrimExpr(1);
    const topi::RowKind kind = reduction == relay::Reduction::Max ? topi::RowKind::Max : topi::RowKind::Sum;
    return {topi::finish_rows(topi::reduce_blocks(in[0], kind, lanes, left, widest), last, count)};
  };
  auto with_plan = [compute, target = environment.target](const ObjectRef& plan) -> GroupKernel {
    auto knobs = downcast<topi::RowsKnobs>(plan);
    if (knobs->vectors < 1)
      throw Error(ScheduleError) << "the plan of reductions of rows does not fit them: all sizes are at least 1";
    return {[=](const Call* call, const Array<te::Tensor>& in) { return compute(knobs, call, in); },
            [target](const Array<te::Tensor>& outs) { return topi::schedule_rows(outs, target); }};
  };
  return {make(topi::RowsKnobsNode()), with_plan};
}

/// All is computed at the end, from the data and what is known of rows and columns.
GroupRule resample_rule(const FunctionNode* primitive, const CompileEnvironment& environment) {
  std::optional<relay::Resampling> columns = relay::resampling_of(primitive->body);
  ICHECK(columns) << "a resampled image ends with its columns";
  std::optional<topi::ResampledAxis> numbers = relay::numbers_of(*columns);
  const topi::Machine& machine = environment.machine;
  const int64_t lanes = machine->vector_bytes / dtype_of(primitive->body).bytes();
  auto of_rows = std::make_shared<topi::ResampledTables>(), of_columns = std::make_shared<topi::ResampledTables>();
  GroupKernel kernel;
  kernel.compute = [=](const Call* call, const Array<te::Tensor>& in) -> Array<te::Tensor> {
    const bool is_of_columns = std::find(columns->calls.begin(), columns->calls.end(), call) != columns->calls.end();
    topi::ResampledTables& tables = is_of_columns ? *of_columns : *of_rows;
    if (op_name(call) == relay::ops::take) tables.indices.push_back(in[1]);
    if (op_name(call) == relay::ops::multiply) tables.weights.push_back(in[1]);
    if (call != columns->calls.back()) return {in[0]};
    return {numbers ? topi::resample(in[0], *of_rows, *numbers, lanes)
                    : topi::resample_at_run_time(in[0], *of_rows, *of_columns, machine)};
  };
  return {nullptr, [kernel](const ObjectRef&) { return kernel; }};
}

std::string group_name(const FunctionNode* primitive) {
  ObjectRef name = primitive->attrs.get_attr(relay::attr::kKernelRule);
  return name ? downcast<String>(name).str() : "";
}

}  // namespace tessera::kernel

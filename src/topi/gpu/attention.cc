// Which programs are attention, and how many rows and columns of it a block takes.

#include "topi/gpu/attention.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "tir/loops/accumulation.h"
#include "topi/cpu/reduction_block.h"
#include "topi/gpu/float32.h"
#include "topi/gpu/nest.h"
#include "topi/gpu/wgmma_parts.h"

namespace tessera::topi {
namespace {

register_types<GpuAttentionPlanNode> gpu_attention_plan_types;

constexpr int64_t kMaxHeadSize = 256, kMaxKeysAtOnce = 256;
constexpr int64_t kMinQueries = 16, kMinKeys = 16, kMinHeadSize = 16;  // below, tiles are mostly empty
constexpr int64_t kKeyUnit = 64;                                       // a line of V's tiles, whichever way it lies
constexpr int64_t kHeadUnitBytes = 16;                                 // that strides are multiples of
/// Registers of a thread for scores, for their 16-bit copies and for results, by warp groups.
constexpr int64_t kMaxHeldScores[kMaxMultiplyGroups + 1] = {0, 192, 184, 128};

PrimExpr without_casts(PrimExpr value) {
  while (auto* op = value.as<Cast>()) value = op->value;
  return value;
}

/// The axes of scores and of values are the same ones.
class AttentionMatcher {
 public:
  AttentionMatcher(const BlockProgram& program, const GpuContraction& scores, const GpuContraction& values)
      : program_(program), out_{.scores = scores, .values = values} {
    out_.sum = make_var("sum", DataType::Float(32));
  }

  bool operator()(const schedule::BlockRef& greatest, const schedule::BlockRef& total) {
    if (!shares_axes() || !takes_apart()) return false;
    std::optional<PrimExpr> score = in_float32(score_);
    if (!score) return false;
    out_.score = *score;
    note_scale();
    return accumulates(greatest, greatest_, score_, true) && accumulates(total, total_, power_, false);
  }
  const AttentionProgram& found() const { return out_; }

 private:
  bool shares_axes() const {
    const GpuContraction &s = out_.scores, &o = out_.values;
    auto is_one_axis = [](const GemmAxes& axes) { return axes.vars.size() == 1; };
    if (s.is_dynamic() || o.is_dynamic() || s.batch.vars.size() != o.batch.vars.size()) return false;
    for (size_t i = 0; i < s.batch.vars.size(); ++i)
      if (*as_int(s.batch.extents[i]) != *as_int(o.batch.extents[i])) return false;
    return is_one_axis(s.m) && is_one_axis(s.n) && is_one_axis(s.k) && is_one_axis(o.m) && is_one_axis(o.n) &&
           is_one_axis(o.k) && s.m.known == o.m.known && s.n.known == o.k.known && !s.epilogue;
  }

  /// exp(score - greatest) / total
  bool takes_apart() {
    const PrimExpr value = without_casts(out_.values.a.value);
    auto* quotient = value.as<Div>();
    if (!quotient) return false;
    power_ = without_casts(quotient->a);
    const PrimExpr total = without_casts(quotient->b);
    auto* exp = power_.as<Call>();
    if (!exp || !is_call(exp, "tir.exp")) return false;
    const PrimExpr shifted = without_casts(exp->args[0]);
    auto* difference = shifted.as<Sub>();
    if (!difference) return false;
    score_ = difference->a;
    const PrimExpr greatest = without_casts(difference->b);
    greatest_ = greatest.as<BufferLoad>(), total_ = total.as<BufferLoad>();
    return greatest_ && total_;
  }

  /// The stage stores what `load` reads: max or sum of `element` along the keys.
  bool accumulates(const schedule::BlockRef& ref, const BufferLoad* load, const PrimExpr& element, bool is_max) {
    std::optional<Reduction> reduction = as_reduction(program_.state.find(ref));
    if (!reduction || reduction->reduce_axes != 1) return false;
    std::vector<loops::Accumulated> found = loops::match_accumulation(reduction->block);
    if (found.size() != 1 || !found[0].buffer.same_as(load->buffer) || !loops::begins_with_identity(found[0]) ||
        (is_max ? !found[0].value.as<Max>() : !found[0].value.as<Add>()))
      return false;
    Map<Var, PrimExpr> at;
    for (size_t i = 0; i < load->indices.size(); ++i) {
      auto* var = found[0].indices[i].as<VarNode>();
      if (var) at.set(Var(var), load->indices[i]);
      else if (!is_zero(found[0].indices[i])) return false;
    }
    for (const IterVar& axis : reduction->block->iter_vars)
      if (axis->iter_type != IterType::DataPar) at.set(axis->var, out_.values.k.vars[0]);
    std::optional<PrimExpr> theirs = in_float32(substitute(found[0].element, at)), ours = in_float32(element);
    if (!theirs || !ours) return false;
    arith::Analyzer analyzer;
    bind_axes(&analyzer);
    return structural_equal(analyzer.simplify(*theirs), analyzer.simplify(*ours));
  }

  void bind_axes(arith::Analyzer* analyzer) const {
    const GpuContraction& o = out_.values;
    for (const GemmAxes* axes : {&o.batch, &o.m, &o.k})
      for (size_t i = 0; i < axes->vars.size(); ++i)
        analyzer->bind(axes->vars[i], make_range(make_zero(axes->vars[i]->dtype), axes->extents[i]));
  }

  /// Whether a load of scores is that of the same row and column.
  bool is_own_score(const BufferLoad* load) const {
    auto* store = out_.scores.block->body.as<BufferStore>();
    const GpuContraction &s = out_.scores, &o = out_.values;
    arith::Analyzer analyzer;
    bind_axes(&analyzer);
    for (size_t i = 0; i < load->indices.size(); ++i) {
      PrimExpr wanted = make_zero(load->indices[i].dtype());
      auto pair = [&](const GemmAxes& of_scores, const GemmAxes& of_values) {
        for (size_t axis = 0; axis < of_scores.vars.size(); ++axis)
          if (store->indices[i].same_as(of_scores.vars[axis])) wanted = of_values.vars[axis];
      };
      pair(s.batch, o.batch), pair(s.m, o.m), pair(s.n, o.k);
      if (!analyzer.can_prove_equal(load->indices[i], wanted)) return false;
    }
    return true;
  }

  /// In float32, with `sum` for the scores. Empty where something has no such form.
  std::optional<PrimExpr> in_float32(const PrimExpr& value) const {
    bool fits = true;
    auto* scores = out_.scores.block->body.as<BufferStore>();
    std::optional<PrimExpr> out = topi::in_float32(value, [&](const PrimExpr& part) -> PrimExpr {
      auto* load = part.as<BufferLoad>();
      if (!load || !load->buffer.same_as(scores->buffer)) return PrimExpr();
      fits = fits && is_own_score(load);
      const double scale = out_.scores.scale();
      return scale == 1 ? PrimExpr(out_.sum) : out_.sum * make_const(DataType::Float(32), scale);
    });
    return fits ? out : std::nullopt;
  }

  /// Where scores are only scaled, exponents are one multiply-add of a sum.
  void note_scale() {
    PrimExpr rest = out_.score;
    double scale = 1;
    while (auto* scaled = rest.as<Mul>()) {
      auto *left = scaled->a.as<FloatImm>(), *right = scaled->b.as<FloatImm>();
      if (!left && !right) return;
      scale *= left ? left->value : right->value;
      rest = left ? scaled->b : scaled->a;
    }
    if (scale <= 0 || !rest.same_as(out_.sum)) return;
    out_.is_scaled = true;
    out_.scale = scale;
  }

  const BlockProgram& program_;
  AttentionProgram out_;
  PrimExpr score_, power_;
  const BufferLoad *greatest_ = nullptr, *total_ = nullptr;
};

int64_t attention_bytes(const GpuAttention& a, const GpuAttentionPlan& plan) {
  const int64_t line = a.q.line(), of_depth = a.depth_lines() * line, bytes = a.q.operand.dtype.bytes();
  return (plan->rows() * of_depth + plan->stages * int64_t{plan->columns} * (of_depth + a.width())) * bytes +
         kAttentionBarrierBytes * (4 * plan->stages + 1);
}

bool attention_plan_fits(const GpuAttention& a, const GpuAttentionPlan& plan, const GpuMachine& machine) {
  if (plan->groups < 1 || plan->groups > kMaxMultiplyGroups || plan->columns < kKeyUnit ||
      plan->columns > kMaxKeysAtOnce || plan->columns % kKeyUnit != 0 || plan->stages < 1 || plan->stages > 8)
    return false;
  if (plan->by_turns && plan->groups == 1) return false;
  const int64_t held = plan->columns / 2 + plan->columns / 4 + a.width() / 2;
  return held <= kMaxHeldScores[plan->groups] && attention_bytes(a, plan) <= machine->dynamic_shared_bytes;
}

}  // namespace

int64_t gpu_attention_shared_bytes(const GpuAttention& attention, const GpuAttentionPlan& plan) {
  return attention_bytes(attention, plan);
}

bool has_gpu_attention(const GpuAttentionSize& size, DataType dtype, const GpuMachine& machine) {
  const int64_t unit = kHeadUnitBytes / dtype.bytes();
  return machine->has_wgmma && is_narrow(dtype) && size.rows >= kMinQueries && size.columns >= kMinKeys &&
         size.depth >= kMinHeadSize && size.depth <= kMaxHeadSize && size.width >= kMinHeadSize &&
         size.width <= kMaxHeadSize && size.depth % unit == 0 && size.width % unit == 0;
}

PrimExpr AttentionProgram::score_at(const PrimExpr& of_sum, const PrimExpr& batch, const PrimExpr& row,
                                    const PrimExpr& column) const {
  Map<Var, PrimExpr> at{{sum, of_sum}};
  auto set = [&](const GemmAxes& axes, const PrimExpr& index) {
    std::vector<PrimExpr> digits = digits_of(index, axes.extents);
    for (size_t d = 0; d < digits.size(); ++d) at.set(axes.vars[d], cast(axes.vars[d]->dtype, digits[d]));
  };
  set(values.batch, batch), set(values.m, row), set(values.k, column);
  return substitute(score, at);
}

std::optional<AttentionProgram> as_attention_program(const BlockProgram& program) {
  const std::vector<schedule::BlockRef> stages = program.stages();
  if (stages.size() < 4 || stages.size() > 5) return std::nullopt;
  auto scores = as_gpu_contraction(program.state, stages[0]), values = as_gpu_contraction(program.state, stages[3]);
  if (!scores || !values || values->epilogue_ref.key.defined() != (stages.size() == 5)) return std::nullopt;
  AttentionMatcher match(program, *scores, *values);
  if (!match(stages[1], stages[2])) return std::nullopt;
  AttentionProgram out = match.found();
  out.stages = stages;
  return out;
}

std::optional<GpuAttention> as_gpu_attention(const BlockProgram& program, const GpuMachine& machine) {
  if (!machine->has_wgmma) return std::nullopt;
  std::optional<AttentionProgram> found = as_attention_program(program);
  if (!found) return std::nullopt;
  GpuAttention out{*found};
  const DataType dtype = out.scores.a.dtype;
  const GpuAttentionSize size{out.scores.m.known, out.scores.n.known, out.scores.k.known, out.values.n.known};
  if (out.scores.b.dtype != dtype || out.values.b.dtype != dtype || !has_gpu_attention(size, dtype, machine))
    return std::nullopt;
  auto q = as_tensor_operand(out.scores, out.scores.a, out.scores.m),
       k = as_tensor_operand(out.scores, out.scores.b, out.scores.n),
       v = as_tensor_operand(out.values, out.values.b, out.values.n);
  if (!q || !k || !v || q->has_windows()) return std::nullopt;
  out.q = *q, out.k = *k, out.v = *v;
  return out;
}

GpuAttentionPlan plan_gpu_attention(const GpuAttention& a, const GpuMachine& machine) {
  GpuAttentionPlanNode node;
  const int64_t batches = std::max<int64_t>(1, a.scores.batch.known);
  const bool is_small = batches * ceil_div(a.scores.m.known, 2 * kWgmmaRows) < machine->multiprocessors;
  if (a.scores.m.known <= kWgmmaRows || is_small) node.groups = 1, node.by_turns = false;
  for (int32_t columns : {128, 64})
    for (int32_t stages : {2, 1}) {
      if (columns > kKeyUnit && a.scores.n.known <= kKeyUnit) continue;
      node.columns = columns, node.stages = stages;
      GpuAttentionPlan plan = make(GpuAttentionPlanNode(node));
      if (attention_plan_fits(a, plan, machine)) return plan;
    }
  return nullptr;
}

void check_gpu_attention(const GpuAttention& attention, const GpuAttentionPlan& plan, const GpuMachine& machine) {
  if (!attention_plan_fits(attention, plan, machine))
    throw Error(ScheduleError) << "the plan of attention does not fit it or the machine: columns are multiples of "
                               << kKeyUnit << " up to " << kMaxKeysAtOnce
                               << ", scores and results of a thread fit its registers, turns need two warp groups, and "
                                  "tiles of all stages fit "
                               << machine->dynamic_shared_bytes << " bytes of shared memory";
}

}  // namespace tessera::topi

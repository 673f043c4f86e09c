#include "topi/cpu/te_tiles.h"

#include <algorithm>
#include <optional>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "topi/cpu/cost_model.h"
#include "topi/te/schedule.h"
#include "topi/te/stages.h"

namespace tessera::topi {
namespace {

constexpr int64_t kMinLanes = 4;

/// How a reduction is computed: `tile` elements of the result along each axis together, by vectors along the last axis, or, where
/// `parts` is given, along that axis of the reduction, of which `width` partial sums are kept.
struct TilePlan {
  std::vector<int64_t> tile;
  int64_t lanes = 1, width = 1;
  IterVar parts;
};

class Tiler {
 public:
  Tiler(const StageReads& reads, const te::Stage& stage, const Machine& machine)
      : op_(compute_of(stage)), plan_{std::vector<int64_t>(op_->axis.size(), 1)} {
    lanes_ = std::max<int64_t>(1, machine->vector_bytes / std::max(1, te::output(stage->op, 0)->dtype.bytes()));
    sums_ = std::max<int64_t>(4, machine->vector_registers * 3 / 4);
    reads.each_read(stage, [this](const te::Tensor&, const Array<PrimExpr>& indices) { reads_.push_back(indices); });
  }

  /// None where the result's elements cannot lie side by side, or a run or the result's own axes say how much is reduced.
  std::optional<TilePlan> plan() {
    for (const auto& axes : {op_->axis, op_->reduce_axis})
      for (const IterVar& axis : axes)
        if (extent_of(axis) < 1 || !as_int(axis->dom->min)) return std::nullopt;
    const IterVar last = op_->axis.empty() ? IterVar() : op_->axis.back();
    const int64_t outward = last ? vectors_along(last) : 1;
    if (outward >= kMinLanes && count(last, Along::Apart) == 0) return along_result(outward);
    for (size_t i = op_->reduce_axis.size(); i-- > 0;) {
      const IterVar& axis = op_->reduce_axis[i];
      const int64_t lanes = vectors_along(axis);
      if (lanes >= kMinLanes && count(axis, Along::Apart) == 0 && count(axis, Along::Neighbours) > 0)
        return along_reduction(axis, lanes);
    }
    return outward >= kMinLanes ? along_result(outward) : std::optional<TilePlan>();
  }

 private:
  int64_t vectors_along(const IterVar& axis) const {
    int64_t lanes = lanes_;
    while (lanes > 1 && (extent_of(axis) < 1 || extent_of(axis) % lanes)) lanes /= 2;
    return lanes;
  }
  int64_t count(const IterVar& axis, Along how) const {
    return std::count_if(reads_.begin(), reads_.end(), [&](const auto& read) { return along(read, axis->var) == how; });
  }
  /// How many reads along `vector` serve all of `axis`.
  int64_t reuse(const IterVar& axis, const IterVar& vector) const {
    return std::count_if(reads_.begin(), reads_.end(), [&](const auto& read) {
      return along(read, vector->var) != Along::Same && along(read, axis->var) == Along::Same;
    });
  }
  /// Axes of the result along which vectors that were read are used again, the innermost first.
  std::vector<size_t> reusing(const IterVar& vector, size_t axes) const {
    std::vector<size_t> out;
    for (size_t i = axes; i-- > 0;)
      if (extent_of(op_->axis[i]) > 1 && reuse(op_->axis[i], vector)) out.push_back(i);
    return out;
  }

  TilePlan along_result(int64_t lanes) {
    const size_t last = op_->axis.size() - 1;
    const std::vector<size_t> rows = reusing(op_->axis[last], last);
    const int64_t vectors = extent_of(op_->axis[last]) / lanes;
    double best = -1;
    for (int64_t across : {1, 2, 3, 4}) {
      if (vectors % across) continue;
      const int64_t down = rows.empty() ? 1 : divisor_of(extent_of(op_->axis[rows[0]]), sums_ / across);
      const auto sums = static_cast<double>(across * down), reads = static_cast<double>(across + down);
      if (sums / reads <= best) continue;
      best = sums / reads;
      plan_.tile[last] = across * lanes;
      if (!rows.empty()) plan_.tile[rows[0]] = down;
    }
    plan_.lanes = lanes;
    return plan_;
  }

  TilePlan along_reduction(const IterVar& axis, int64_t lanes) {
    constexpr int64_t kAcross = 4;
    const std::vector<size_t> rows = reusing(axis, op_->axis.size());
    int64_t sums = 1;
    for (size_t i = 0; i < std::min<size_t>(rows.size(), 2); ++i)
      sums *= plan_.tile[rows[i]] = divisor_of(extent_of(op_->axis[rows[i]]), std::min(kAcross, sums_ / sums));
    plan_.lanes = plan_.width = lanes;
    while (sums * 2 <= kAcross && extent_of(axis) % (plan_.width * 2) == 0) plan_.width *= 2, sums *= 2;
    plan_.parts = axis;
    return plan_;
  }

  const te::ComputeOp* op_;
  TilePlan plan_;
  int64_t lanes_, sums_;
  std::vector<Array<PrimExpr>> reads_;
};

/// The last of `axes` by vectors, the others written out.
void unroll_tile(const te::Stage& stage, const Array<IterVar>& axes, int64_t lanes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i + 1 < axes.size() || lanes == 1) {
      te::set_loop_kind(stage, axes[i], IterType::Unrolled);
      continue;
    }
    auto [across, inner] = te::split(stage, axes[i], PrimExpr(static_cast<int>(lanes)), PrimExpr());
    te::set_loop_kind(stage, across, IterType::Unrolled);
    te::set_loop_kind(stage, inner, IterType::Vectorized);
  }
}

class Scheduler final : public StagePolicy {
 public:
  Scheduler(const te::Schedule& sch, Machine machine) : StagePolicy(sch), machine_(std::move(machine)) {}

 private:
  void element_wise(const te::Stage& stage) override { schedule_stage_cpu(stage); }

  void reduction(const te::Stage& sums, const te::Stage& epilogue) override {
    done_.insert(sums.get());
    const bool is_plain = compute_of(sums)->body.size() == 1;
    std::optional<TilePlan> plan = is_plain ? Tiler(reads_, sums, machine_).plan() : std::nullopt;
    if (!plan) {
      schedule_stage_cpu(sums);
      if (epilogue) schedule_stage_cpu(epilogue);
      return;
    }
    const int64_t work = total_work(compute_of(sums));
    const te::Stage last = epilogue ? epilogue : sums;
    te::Stage inner = sums;
    if (plan->parts) {
      auto [outer, parts] = te::split(sums, plan->parts, PrimExpr(static_cast<int>(plan->width)), PrimExpr());
      inner = te::stage_of(
          sch_,
          te::rfactor(sch_, te::output(sums->op, 0), parts, static_cast<int>(compute_of(sums)->axis.size()))[0]->op);
    } else if (!epilogue) {
      inner = te::stage_of(sch_, te::cache_write(sch_, {te::output(sums->op, 0)}, "local")[0]->op);
    }
    IterVar tile = tiled(last, *plan, work);
    for (const te::Stage& stage : {inner, sums}) {
      if (stage.same_as(last) || !tile) continue;
      stage.edit()->scope = "local";
      te::compute_at(stage, last, tile);
    }
    if (epilogue && plan->parts) unroll_sums(sums);
    auto* op = compute_of(inner);
    Array<IterVar> order = op->reduce_axis;
    for (const IterVar& axis : op->axis) order.push_back(axis);
    te::reorder(inner, order);
    unroll_tile(inner, op->axis, plan->lanes);
  }

  static void unroll_sums(const te::Stage& sums) {
    auto* op = compute_of(sums);
    for (const IterVar& axis : op->axis) te::set_loop_kind(sums, axis, IterType::Unrolled);
    for (const IterVar& axis : op->reduce_axis) te::set_loop_kind(sums, axis, IterType::Unrolled);
  }

  /// Splits the axes of a result into tiles. Gives the loop over them; none where there are no axes.
  IterVar tiled(const te::Stage& stage, const TilePlan& plan, int64_t work) {
    auto* op = compute_of(stage);
    Array<IterVar> outer, inner;
    for (size_t i = 0; i < op->axis.size(); ++i) {
      if (plan.tile[i] == 1 && !(i + 1 == op->axis.size() && !plan.parts)) {
        outer.push_back(op->axis[i]);
        continue;
      }
      auto [tile, rest] = te::split(stage, op->axis[i], PrimExpr(static_cast<int>(plan.tile[i])), PrimExpr());
      outer.push_back(tile);
      inner.push_back(rest);
    }
    if (outer.empty()) return {};
    Array<IterVar> order = outer;
    for (const auto& axes : {inner, op->reduce_axis})
      for (const IterVar& axis : axes) order.push_back(axis);
    te::reorder(stage, order);
    unroll_tile(stage, inner, plan.parts ? 1 : plan.lanes);
    for (const IterVar& axis : op->reduce_axis) te::set_loop_kind(stage, axis, IterType::Unrolled);
    IterVar tile = outer.size() == 1 ? outer[0] : te::fuse(stage, outer);
    if (work >= ParallelThreshold::elements) te::set_loop_kind(stage, tile, IterType::Parallelized);
    return tile;
  }

  /// A stage over rows, with all that is computed of these rows for it alone. False where there is nothing.
  bool by_rows(const te::Stage& stage) override {
    const StageReads::Rows rows = reads_.rows_before(stage, done_);
    if (!rows.axes) return false;
    const Array<IterVar> axes = compute_of(stage)->axis;
    const int64_t work = total_work(compute_of(stage));
    const Array<IterVar> lead(axes.begin(), axes.begin() + static_cast<long>(rows.axes));
    IterVar row = fused(stage, lead);
    if (work >= ParallelThreshold::elements) te::set_loop_kind(stage, row, IterType::Parallelized);
    vectorize_last(stage);
    for (const te::Stage& made : rows.stages) {
      done_.insert(made.get());
      te::compute_at(made, stage, row);
      if (is_reduction(made)) sum_of_row(made, stage, row);
      else vectorize_last(made);
    }
    return true;
  }

  void sum_of_row(const te::Stage& sums, const te::Stage& stage, const IterVar& row) {
    std::optional<TilePlan> plan = Tiler(reads_, sums, machine_).plan();
    if (!plan || !plan->parts) return;
    auto [outer, parts] = te::split(sums, plan->parts, PrimExpr(static_cast<int>(plan->width)), PrimExpr());
    te::Stage inner = te::stage_of(
        sch_,
        te::rfactor(sch_, te::output(sums->op, 0), parts, static_cast<int>(compute_of(sums)->axis.size()))[0]->op);
    inner.edit()->scope = "local";
    te::compute_at(inner, stage, row);
    auto* op = compute_of(inner);
    Array<IterVar> order = op->reduce_axis;
    order.push_back(op->axis.back());
    te::reorder(inner, order);
    unroll_tile(inner, {op->axis.back()}, plan->lanes);
  }

  void vectorize_last(const te::Stage& stage) {
    const IterVar& last = compute_of(stage)->axis.back();
    int64_t lanes = machine_->vector_bytes / std::max(1, te::output(stage->op, 0)->dtype.bytes());
    while (lanes > 1 && (extent_of(last) < 1 || extent_of(last) % lanes)) lanes /= 2;
    if (lanes == 1) return;
    auto [outer, inner] = te::split(stage, last, PrimExpr(static_cast<int>(lanes)), PrimExpr());
    te::set_loop_kind(stage, inner, IterType::Vectorized);
  }

  Machine machine_;
};

}  // namespace

bool keeps_memory(const te::Schedule& sch, const te::Stage& stage) {
  auto* op = compute_of(stage);
  bool is_costly = false, has_border = false;
  walk(op->body[0], [&](const Call* call) {
    auto* name = call->op.as<OpNode>();
    const bool is_choice = name && name->name == "tir.if_then_else";
    (is_choice ? has_border : is_costly) = true;
  });
  int readers = 0, reductions = 0;
  for (const te::Stage& other : sch->stages)
    for (const te::Tensor& input : te::input_tensors(other->op.get()))
      if (input->op.same_as(stage->op)) ++readers, reductions += is_reduction(other);
  return (is_costly && readers > 1) || (has_border && reductions > 0);
}

void schedule_stages_cpu(const te::Schedule& sch, const Machine& machine) { Scheduler(sch, machine).run(); }

}  // namespace tessera::topi

#include "topi/cpu/te_tiles.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_set>

#include "arith/linear.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "topi/cpu/cost_model.h"
#include "topi/te_schedule.h"

namespace tessera::topi {
namespace {

constexpr int64_t kMinLanes = 4;

int64_t extent_of(const IterVar& axis) {
  const int64_t* extent = axis->dom ? as_int(axis->dom->extent) : nullptr;
  return extent ? *extent : -1;
}

/// The largest divisor of `extent` that is at most `limit`.
int64_t divisor_of(int64_t extent, int64_t limit) {
  for (int64_t out = std::min(extent, limit); out > 1; --out)
    if (extent % out == 0) return out;
  return 1;
}

const te::ComputeOp* compute_of(const te::Stage& stage) { return stage->op.as<te::ComputeOp>(); }
bool is_inline(const te::Stage& stage) { return stage->attach_type == te::AttachType::Inline; }
bool is_reduction(const te::Stage& stage) { return compute_of(stage) && !compute_of(stage)->reduce_axis.empty(); }

using Read = std::function<void(const te::Tensor&, const Array<PrimExpr>& indices)>;

/// What an expression reads, through stages that are computed where they are read.
void each_read(const te::Schedule& sch, const PrimExpr& expr, const Read& read) {
  walk(expr, [&](const ProducerLoad* load) {
    te::Tensor tensor = downcast<te::Tensor>(load->producer);
    te::Stage stage = te::stage_of(sch, tensor->op);
    auto* op = compute_of(stage);
    if (!op || !is_inline(stage)) return read(tensor, load->indices);
    Map<Var, PrimExpr> values;
    for (size_t i = 0; i < op->axis.size(); ++i) values.set(op->axis[i]->var, load->indices[i]);
    each_read(sch, substitute(op->body[static_cast<size_t>(tensor->value_index)], values), read);
  });
}
void each_read_of(const te::Schedule& sch, const te::Stage& stage, const Read& read) {
  if (auto* op = compute_of(stage))
    for (const PrimExpr& body : op->body) each_read(sch, body, read);
}

/// How elements that are read lie in memory while a variable counts.
enum class Along { Same, Neighbours, Apart };
Along along(const Array<PrimExpr>& indices, const Var& var) {
  Along out = Along::Same;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!uses_var(indices[i], var)) continue;
    Array<PrimExpr> terms =
        i + 1 == indices.size() ? arith::detect_linear_equation(indices[i], {var}) : Array<PrimExpr>();
    const int64_t* factor = terms.size() == 2 ? as_int(terms[0]) : nullptr;
    if (!factor || *factor != 1) return Along::Apart;
    out = Along::Neighbours;
  }
  return out;
}

/// How a reduction is computed: `tile` elements of the result along each axis together, by vectors along the last axis, or, where
/// `parts` is given, along that axis of the reduction, of which `width` partial sums are kept.
struct TilePlan {
  std::vector<int64_t> tile;
  int64_t lanes = 1, width = 1;
  IterVar parts;
};

class Tiler {
 public:
  Tiler(const te::Schedule& sch, const te::Stage& stage, const Machine& machine)
      : op_(compute_of(stage)), plan_{std::vector<int64_t>(op_->axis.size(), 1)} {
    lanes_ = std::max<int64_t>(1, machine->vector_bytes / std::max(1, te::output(stage->op, 0)->dtype.bytes()));
    sums_ = std::max<int64_t>(4, machine->vector_registers * 3 / 4);
    each_read_of(sch, stage, [this](const te::Tensor&, const Array<PrimExpr>& indices) { reads_.push_back(indices); });
  }

  /// None where the result's elements cannot lie side by side.
  std::optional<TilePlan> plan() {
    for (const IterVar& axis : op_->axis)
      if (extent_of(axis) < 1) return std::nullopt;
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

class Scheduler {
 public:
  Scheduler(te::Schedule sch, Machine machine) : sch_(std::move(sch)), machine_(std::move(machine)) {}

  void run() {
    const Array<te::Stage> stages = sch_->stages;  // there will be more
    for (size_t i = stages.size(); i-- > 0;) {
      const te::Stage& stage = stages[i];
      if (!compute_of(stage) || is_inline(stage) || done_.count(stage.get())) continue;
      if (is_reduction(stage)) reduction(stage, te::Stage());
      else if (!by_rows(stage)) element_wise(stage);
    }
  }

 private:
  struct Reader {
    te::Stage stage;
    Array<PrimExpr> indices;
  };
  std::vector<Reader> readers_of(const te::Stage& stage) const {
    std::vector<Reader> out;
    for (const te::Stage& other : sch_->stages) {
      if (is_inline(other)) continue;
      if (!compute_of(other)) {
        for (const te::Tensor& input : te::input_tensors(other->op.get()))
          if (input->op.same_as(stage->op)) out.push_back({other, {}});
        continue;
      }
      each_read_of(sch_, other, [&](const te::Tensor& tensor, const Array<PrimExpr>& indices) {
        if (tensor->op.same_as(stage->op)) out.push_back({other, indices});
      });
    }
    return out;
  }
  /// Does a reader count with the first `axes` of its own axes over those of what it reads?
  static bool reads_rows(const Reader& reader, size_t axes) {
    auto* op = compute_of(reader.stage);
    if (!op || op->axis.size() < axes || reader.indices.size() < axes) return false;
    for (size_t i = 0; i < axes; ++i)
      if (!reader.indices[i].same_as(op->axis[i]->var)) return false;
    return true;
  }
  static bool have_same_extents(const te::Stage& a, const te::Stage& b, size_t axes) {
    for (size_t i = 0; i < axes; ++i)
      if (extent_of(compute_of(a)->axis[i]) < 1 ||
          extent_of(compute_of(a)->axis[i]) != extent_of(compute_of(b)->axis[i]))
        return false;
    return true;
  }

  /// An element-wise stage, with the reduction that it alone reads element by element.
  void element_wise(const te::Stage& stage) {
    const size_t axes = compute_of(stage)->axis.size();
    te::Stage found;
    each_read_of(sch_, stage, [&](const te::Tensor& tensor, const Array<PrimExpr>&) {
      te::Stage made = te::stage_of(sch_, tensor->op);
      if (found || !is_reduction(made) || made->is_output || done_.count(made.get())) return;
      if (compute_of(made)->axis.size() != axes || !have_same_extents(made, stage, axes)) return;
      const std::vector<Reader> readers = readers_of(made);
      if (std::all_of(readers.begin(), readers.end(),
                      [&](const Reader& reader) { return reader.stage.same_as(stage) && reads_rows(reader, axes); }))
        found = made;
    });
    if (found && stage->is_output) return reduction(found, stage);
    schedule_stage_cpu(stage);
  }

  /// A reduction and what is computed from its elements, if anything.
  void reduction(const te::Stage& sums, const te::Stage& epilogue) {
    done_.insert(sums.get());
    const bool is_plain = compute_of(sums)->body.size() == 1;
    std::optional<TilePlan> plan = is_plain ? Tiler(sch_, sums, machine_).plan() : std::nullopt;
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

  static int64_t total_work(const te::ComputeOp* op) {
    int64_t out = 1;
    for (const auto& axes : {op->axis, op->reduce_axis})
      for (const IterVar& axis : axes) out *= std::max<int64_t>(1, extent_of(axis));
    return out;
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
  bool by_rows(const te::Stage& stage) {
    auto* op = compute_of(stage);
    size_t rows = 0;
    std::unordered_set<const Object*> with{stage.get()};
    std::vector<te::Stage> taken;
    const Array<te::Stage> stages = sch_->stages;
    for (size_t i = stages.size(); i-- > 0;) {
      const te::Stage& made = stages[i];
      auto* its = compute_of(made);
      if (!its || is_inline(made) || made->is_output || done_.count(made.get())) continue;
      const bool is_row = is_reduction(made) && its->axis.size() < op->axis.size();
      if (!is_row && (is_reduction(made) || its->axis.size() != op->axis.size())) continue;
      const size_t axes = is_row ? its->axis.size() : rows;
      if (axes == 0 || (rows && axes != rows) || its->body.size() != 1) continue;
      if (!have_same_extents(made, stage, is_row ? axes : its->axis.size())) continue;
      const std::vector<Reader> readers = readers_of(made);
      if (readers.empty() || !std::all_of(readers.begin(), readers.end(), [&](const Reader& reader) {
            return with.count(reader.stage.get()) && reads_rows(reader, axes);
          }))
        continue;
      rows = axes;
      with.insert(made.get());
      taken.push_back(made);
    }
    if (!rows) return false;
    int64_t work = 1;
    for (const IterVar& axis : op->axis) work *= std::max<int64_t>(1, extent_of(axis));
    const Array<IterVar> lead(op->axis.begin(), op->axis.begin() + static_cast<long>(rows));
    IterVar row = lead.size() == 1 ? lead[0] : te::fuse(stage, lead);
    if (work >= ParallelThreshold::elements) te::set_loop_kind(stage, row, IterType::Parallelized);
    vectorize_last(stage);
    for (const te::Stage& made : taken) {
      done_.insert(made.get());
      te::compute_at(made, stage, row);
      if (is_reduction(made)) sum_of_row(made, stage, row);
      else vectorize_last(made);
    }
    return true;
  }

  void sum_of_row(const te::Stage& sums, const te::Stage& stage, const IterVar& row) {
    std::optional<TilePlan> plan = Tiler(sch_, sums, machine_).plan();
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

  te::Schedule sch_;
  Machine machine_;
  std::unordered_set<const Object*> done_;
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

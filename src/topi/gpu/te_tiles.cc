#include "topi/gpu/te_tiles.h"

#include <algorithm>
#include <optional>

#include "ir/prim/ops.h"
#include "topi/cpu/number.h"
#include "topi/te/schedule.h"
#include "topi/te/stages.h"

namespace tessera::topi {
namespace {

constexpr int64_t kThreadTile = 4;         // results of a thread along an axis
constexpr int64_t kBlockThreads = 16;      // threads of a block along an axis
constexpr int64_t kSharedElements = 4096;  // of an operand's tile
constexpr int64_t kBlockReduction = 64;    // from which on threads share one
constexpr int64_t kManyResults = 1 << 14;  // which keep a GPU busy with a thread each

std::pair<IterVar, IterVar> split_by(const te::Stage& stage, const IterVar& axis, int64_t factor) {
  return te::split(stage, axis, number(factor), PrimExpr());
}
void bind_to(const te::Stage& stage, const IterVar& axis, const char* tag) {
  te::bind(stage, axis, te::thread_axis(Range(), tag));
}

/// Axes of a result along which operands are used again, and how many of its elements a block and a thread have.
struct ResultTile {
  size_t rows, columns;
  int64_t row_threads, column_threads, thread_rows, thread_columns, depth;
  size_t deepest;  // the axis of the reduction whose parts are copied one after the other
};

class GpuScheduler final : public StagePolicy {
 public:
  GpuScheduler(const te::Schedule& sch, int64_t threads) : StagePolicy(sch), threads_(threads) {}

 private:
  void element_wise(const te::Stage& stage) override { schedule_stage_gpu(stage, threads_); }

  void reduction(const te::Stage& sums, const te::Stage& epilogue) override {
    done_.insert(sums.get());
    auto* op = compute_of(sums);
    const int64_t results = total_work(op) / reduced_work(op);
    if (op->body.size() == 1) {
      if (std::optional<ResultTile> tile = result_tile(sums)) return by_tiles(sums, epilogue, *tile);
      if (has_fixed_extents(op) && results < kManyResults && reduced_work(op) >= kBlockReduction && !op->axis.empty())
        return by_blocks(sums, epilogue);
    }
    schedule_stage_gpu(sums, threads_);
    if (epilogue) schedule_stage_gpu(epilogue, threads_);
  }

  static bool has_fixed_extents(const te::ComputeOp* op) {
    for (const auto& axes : {op->axis, op->reduce_axis})
      for (const IterVar& axis : axes)
        if (extent_of(axis) < 1 || !as_int(axis->dom->min)) return false;
    return true;
  }
  static int64_t reduced_work(const te::ComputeOp* op) {
    int64_t out = 1;
    for (const IterVar& axis : op->reduce_axis) out *= std::max<int64_t>(1, extent_of(axis));
    return out;
  }

  /// None where no two axes of the result each leave an operand the same.
  std::optional<ResultTile> result_tile(const te::Stage& sums) const {
    auto* op = compute_of(sums);
    if (!has_fixed_extents(op)) return std::nullopt;
    std::vector<Array<PrimExpr>> reads;
    reads_.each_read(sums, [&](const te::Tensor&, const Array<PrimExpr>& indices) { reads.push_back(indices); });
    auto reuses = [&](const IterVar& axis, const IterVar& other) {
      return std::any_of(reads.begin(), reads.end(), [&](const auto& read) {
        return along(read, axis->var) == Along::Same && along(read, other->var) != Along::Same;
      });
    };
    ResultTile out{};
    bool is_found = false;
    int64_t best = kThreadTile * kThreadTile - 1;
    for (size_t i = 0; i < op->axis.size(); ++i) {
      for (size_t j = i + 1; j < op->axis.size(); ++j) {
        const IterVar &a = op->axis[i], &b = op->axis[j];
        if (!reuses(a, b) || !reuses(b, a)) continue;
        const int64_t size =
            std::min(extent_of(a), kThreadTile * kBlockThreads) * std::min(extent_of(b), kThreadTile * kBlockThreads);
        if (size < best) continue;  // of equal ones the innermost
        best = size;
        is_found = true;
        out.rows = i, out.columns = j;
      }
    }
    if (!is_found) return std::nullopt;
    const int64_t rows = extent_of(op->axis[out.rows]), columns = extent_of(op->axis[out.columns]);
    out.thread_rows = divisor_of(rows, kThreadTile);
    out.thread_columns = divisor_of(columns, kThreadTile);
    out.row_threads = divisor_of(rows / out.thread_rows, kBlockThreads);
    out.column_threads = divisor_of(columns / out.thread_columns, std::min(kBlockThreads, threads_ / out.row_threads));
    out.deepest = 0;
    for (size_t i = 0; i < op->reduce_axis.size(); ++i)
      if (extent_of(op->reduce_axis[i]) > extent_of(op->reduce_axis[out.deepest])) out.deepest = i;
    const int64_t others = reduced_work(op) / extent_of(op->reduce_axis[out.deepest]);
    const int64_t widest = std::max(out.thread_rows * out.row_threads, out.thread_columns * out.column_threads);
    out.depth = divisor_of(extent_of(op->reduce_axis[out.deepest]),
                           std::clamp<int64_t>(kSharedElements / (widest * others), 1, 8));
    return widest * others * out.depth <= kSharedElements ? std::optional(out) : std::nullopt;
  }

  void by_tiles(const te::Stage& sums, const te::Stage& epilogue, const ResultTile& tile) {
    te::Stage inner = sums;
    if (!epilogue) inner = te::stage_of(sch_, te::cache_write(sch_, {te::output(sums->op, 0)}, "local")[0]->op);
    const te::Stage& last = epilogue ? epilogue : sums;
    auto* op = compute_of(last);
    Array<IterVar> blocks;
    for (size_t i = 0; i < op->axis.size(); ++i)
      if (i != tile.rows && i != tile.columns) blocks.push_back(op->axis[i]);
    auto [row_rest, row] = split_by(last, op->axis[tile.rows], tile.thread_rows);
    auto [row_block, row_thread] = split_by(last, row_rest, tile.row_threads);
    auto [column_rest, column] = split_by(last, op->axis[tile.columns], tile.thread_columns);
    auto [column_block, column_thread] = split_by(last, column_rest, tile.column_threads);
    blocks.push_back(row_block);
    blocks.push_back(column_block);
    Array<IterVar> order = blocks;
    for (const IterVar& axis : {row_thread, column_thread, row, column}) order.push_back(axis);
    te::reorder(last, order);
    bind_to(last, fused(last, blocks), "blockIdx.x");
    bind_to(last, row_thread, "threadIdx.y");
    bind_to(last, column_thread, "threadIdx.x");
    te::set_loop_kind(last, row, IterType::Unrolled);
    te::set_loop_kind(last, column, IterType::Unrolled);

    inner.edit()->scope = "local";
    te::compute_at(inner, last, column_thread);
    auto* own = compute_of(inner);
    auto [part, step] = split_by(inner, own->reduce_axis[tile.deepest], tile.depth);
    Array<IterVar> steps{part};
    for (size_t i = 0; i < own->reduce_axis.size(); ++i)
      if (i != tile.deepest) steps.push_back(own->reduce_axis[i]);
    steps.push_back(step);
    for (const IterVar& axis : own->axis) {
      steps.push_back(axis);
      te::set_loop_kind(inner, axis, IterType::Unrolled);
    }
    te::reorder(inner, steps);
    for (const te::Tensor& operand : te::input_tensors(inner->op.get())) copy_to_shared(operand, inner, part, tile);
  }

  void copy_to_shared(const te::Tensor& operand, const te::Stage& reader, const IterVar& part, const ResultTile& tile) {
    te::Stage copy = te::stage_of(sch_, te::cache_read(sch_, operand, "shared", {reader->op})->op);
    te::compute_at(copy, reader, part);
    auto [rest, column] = split_by(copy, fused(copy, compute_of(copy)->axis), tile.column_threads);
    auto [steps, row] = split_by(copy, rest, tile.row_threads);
    bind_to(copy, row, "threadIdx.y");
    bind_to(copy, column, "threadIdx.x");
  }

  int64_t threads_for(int64_t work) const {
    int64_t out = 1;
    while (out * 2 <= std::min(work, threads_)) out *= 2;
    return out;
  }

  /// A block for each result.
  void by_blocks(const te::Stage& sums, const te::Stage& epilogue) {
    const int64_t threads = threads_for(reduced_work(compute_of(sums)));
    const te::Stage& last = epilogue ? epilogue : sums;
    share_reduction(sums, threads);
    IterVar block = fused(last, compute_of(last)->axis);
    bind_to(last, block, "blockIdx.x");
    if (!epilogue) return;
    sums.edit()->scope = "local";
    te::compute_at(sums, last, block);
    sums.edit()->store_predicate = nullptr;  // all threads know the sum, and store the same
  }

  /// The partial sums of each thread, and their sum, which one thread stores.
  void share_reduction(const te::Stage& sums, int64_t threads) {
    auto [rest, own] = split_by(sums, fused(sums, compute_of(sums)->reduce_axis), threads);
    te::Stage parts = te::stage_of(sch_, te::rfactor(sch_, te::output(sums->op, 0), own, 0)[0]->op);
    const IterVar along_threads = compute_of(sums)->reduce_axis[0];
    IterVar thread = te::thread_axis(Range(), "threadIdx.x");
    te::bind(sums, along_threads, thread);
    te::compute_at(parts, sums, along_threads);
    parts.edit()->scope = "local";
    sums.edit()->store_predicate = equal(thread->var, number(0));
  }

  /// A block for each row of a stage, with all that is computed of it for that stage alone.
  bool by_rows(const te::Stage& stage) override {
    const StageReads::Rows rows = reads_.rows_before(stage, done_);
    auto* op = compute_of(stage);
    if (!rows.axes || !has_fixed_extents(op)) return false;
    for (const te::Stage& made : rows.stages)
      if (!has_fixed_extents(compute_of(made))) return false;
    const auto middle = op->axis.begin() + static_cast<long>(rows.axes);
    const Array<IterVar> lead(op->axis.begin(), middle), row(middle, op->axis.end());
    int64_t work = 1;
    for (const IterVar& axis : row) work *= extent_of(axis);
    const int64_t threads = threads_for(work);
    IterVar block = fused(stage, lead);
    bind_to(stage, block, "blockIdx.x");
    bind_to(stage, split_by(stage, fused(stage, row), threads).second, "threadIdx.x");
    for (const te::Stage& made : rows.stages) {
      done_.insert(made.get());
      made.edit()->scope = "shared";
      if (is_reduction(made)) {
        share_reduction(made, threads);
      } else {
        const auto& axes = compute_of(made)->axis;
        IterVar elements = fused(made, Array<IterVar>(axes.begin() + static_cast<long>(rows.axes), axes.end()));
        bind_to(made, split_by(made, elements, threads).second, "threadIdx.x");
      }
      te::compute_at(made, stage, block);
    }
    return true;
  }

  int64_t threads_;
};

}  // namespace

void schedule_stages_gpu(const te::Schedule& sch, int64_t threads) { GpuScheduler(sch, threads).run(); }

}  // namespace tessera::topi

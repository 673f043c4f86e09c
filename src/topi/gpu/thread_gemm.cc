// Contractions by multiply-adds of threads: a thread keeps its part of the tile in registers.

#include <algorithm>

#include "ir/prim/ops.h"
#include "topi/gpu/gemm_tiles.h"
#include "topi/gpu/nest.h"

namespace tessera::topi {
namespace {

constexpr int64_t kWide = 4;                        // elements that a thread reads of shared memory at once
constexpr int64_t kCopiesOfStep = 4;                // that follow a step of k
constexpr int64_t kWarpRows = 4, kWarpColumns = 8;  // threads of a warp

/// Which rows of a tile are a thread's: `width` neighbours, then as many from `threads * width` further on.
struct ThreadRows {
  int64_t part = 1, threads = 1, width = 1;
  PrimExpr thread;

  PrimExpr at(const PrimExpr& i) const {
    return floordiv(i, number(width)) * number(threads * width) + thread * number(width) + floormod(i, number(width));
  }
};

ThreadRows rows_of_thread(const SharedTile& tile, int64_t part, int64_t threads, const PrimExpr& thread) {
  return {part, threads, !tile.along_k && part % kWide == 0 ? kWide : 1, thread};
}

class ThreadGemm {
 public:
  /// `partials`: where the sums of parts of k go; empty where there is one part.
  ThreadGemm(const GpuContraction& contraction, const GemmPlan& plan, const Buffer& partials)
      : contraction_(contraction),
        plan_(plan),
        stages_(contraction, plan),
        is_ahead_(reads_ahead(contraction, plan)),
        depth_(!is_ahead_ && plan->tile_k % kWide == 0 ? kWide : 1),
        partials_(partials) {}

  Stmt operator()() {
    return each_gemm_tile(contraction_, plan_, [&](const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column) {
      auto threads = [&](const PrimExpr& part) {
        part_ = part;
        stages_.first_tile = part * stages_.tiles_along_k();
        return thread_loop("threadIdx.x", number(plan_->threads()), [&](const PrimExpr& thread) {
          return with_min_blocks(plan_->blocks,
                                 with_own_barriers(keep_unrolled_loops(of_thread(thread, batch, row, column))));
        });
      };
      return partials_ ? thread_loop("blockIdx.y", number(plan_->parts), threads) : threads(number(0));
    });
  }

 private:
  Stmt of_thread(const PrimExpr& thread, const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column) {
    const int64_t across = plan_->tile_n / plan_->part_n, down = plan_->tile_m / plan_->part_m;
    PrimExpr my_row = floordiv(thread, number(across)), my_column = floormod(thread, number(across));
    if (is_ahead_ && across % kWarpColumns == 0 && down % kWarpRows == 0) {  // a warp reads as little as it can
      const PrimExpr warp = floordiv(thread, number(kWarpRows * kWarpColumns)),
                     lane = floormod(thread, number(kWarpRows * kWarpColumns)), warps = number(across / kWarpColumns);
      my_row = floordiv(warp, warps) * number(kWarpRows) + floordiv(lane, number(kWarpColumns));
      my_column = floormod(warp, warps) * number(kWarpColumns) + floormod(lane, number(kWarpColumns));
    }
    rows_ = rows_of_thread(stages_.a, plan_->part_m, down, my_row);
    columns_ = rows_of_thread(stages_.b, plan_->part_n, across, my_column);
    const int64_t halves = is_ahead_ ? 2 : 1;
    sums_ = memory_of("sums", contraction_.sum, int64_t{plan_->part_m} * plan_->part_n, "local");
    a_ = memory_of("a", stages_.a.dtype, halves * plan_->part_m * depth_, "local");
    b_ = memory_of("b", stages_.b.dtype, halves * plan_->part_n * depth_, "local");
    Stmt clear = unrolled_loop("i", int64_t{plan_->part_m} * plan_->part_n,
                               [&](const PrimExpr& i) { return store_to(sums_, i, make_zero(contraction_.sum)); });
    const SharedStages::TilePosition position{thread, batch, row, column};
    Stmt body = sequence({clear, stages_.prepare(thread, row, column),
                          is_ahead_           ? ahead(position)
                          : plan_->stages > 1 ? pipelined(position)
                                              : one_stage(position),
                          store(batch, row, column)});
    std::vector<Buffer> memory = stages_.buffers();
    memory.insert(memory.end(), {sums_, a_, b_});
    return all_allocated(memory, body);
  }

  using TilePosition = SharedStages::TilePosition;

  PrimExpr start_of(const PrimExpr& stage) const { return stage * number(stages_.stage_elements()); }

  Stmt one_stage(const TilePosition& position) const {
    return loop_over("tile_k", stages_.tiles_along_k(), [&](const PrimExpr& tile) {
      std::vector<Stmt> parts{shared_barrier(), stages_.copy(position, tile, number(0))};
      if (plan_->copies_async) parts.insert(parts.end(), {commit_copies(), wait_for_copies(0)});
      parts.insert(parts.end(), {shared_barrier(), multiply(number(0))});
      return sequence(parts);
    });
  }

  /// Copies run `stages` - 1 tiles ahead of what is multiplied.
  Stmt pipelined(const TilePosition& position) const {
    const PrimExpr tiles = stages_.tiles_along_k(), stages = number(plan_->stages), ahead = stages - 1;
    std::vector<Stmt> parts = first_tiles(position);
    parts.push_back(loop_over("tile_k", tiles, [&](const PrimExpr& tile) {
      const PrimExpr next = tile + ahead;
      return sequence({wait_for_copies(plan_->stages - 2), shared_barrier(),
                       guarded(next < tiles, stages_.copy(position, next, start_of(floormod(next, stages)))),
                       commit_copies(), multiply(floormod(tile, stages))});
    }));
    return sequence(parts);
  }

  std::vector<Stmt> first_tiles(const TilePosition& position) const {
    std::vector<Stmt> parts;
    for (int i = 0; i + 1 < plan_->stages; ++i) {
      parts.push_back(
          guarded(number(i) < stages_.tiles_along_k(), stages_.copy(position, number(i), start_of(number(i)))));
      parts.push_back(commit_copies());
    }
    return parts;
  }

  /// The same, and what is multiplied is read one step of k ahead, into the other half of the registers. A few copies follow each
  /// step: all at once they would fill the queue that reads of shared memory wait in.
  Stmt ahead(const TilePosition& position) const {
    const PrimExpr tiles = stages_.tiles_along_k();
    const int64_t steps = plan_->tile_k,
                  copy_steps = std::clamp<int64_t>(stages_.copies() / kCopiesOfStep, 1, steps - 1);
    auto read_step = [&](const PrimExpr& start, int64_t k, int64_t half) {
      return sequence({read(stages_.a, rows_, a_, start, number(k), half * plan_->part_m),
                       read(stages_.b, columns_, b_, start, number(k), half * plan_->part_n)});
    };
    const std::vector<Stmt> wait{wait_for_copies(plan_->stages - 2), shared_barrier()};
    std::vector<Stmt> parts = first_tiles(position);
    parts.insert(parts.end(), wait.begin(), wait.end());
    parts.push_back(read_step(number(0), 0, 0));
    // counted, since a remainder takes several instructions; times its size, so that vectors are seen to be aligned
    const Buffer counter = memory_of("stage", DataType::Int(32), 1, "local");
    const PrimExpr stage = make_load(counter, {0}), last = number(plan_->stages - 1),
                   after = select(equal(stage, last), number(0), stage + 1),
                   before = select(equal(stage, number(0)), last, stage - 1);
    parts.push_back(store_to(counter, 0, number(0)));
    parts.push_back(loop_over("tile_k", tiles, [&](const PrimExpr& tile) {
      const PrimExpr next =
          min(tile + number(plan_->stages - 1), tiles - 1);  // the last one again: a branch costs more
      std::vector<Stmt> body;
      for (int64_t k = 0; k < steps; ++k) {
        const bool is_last = k + 1 == steps;
        if (is_last) body.insert(body.end(), wait.begin(), wait.end());
        body.push_back(read_step(start_of(is_last ? after : stage), is_last ? 0 : k + 1, (k + 1) % 2));
        if (k < copy_steps)
          body.push_back(stages_.copy(position, next, start_of(before), {.part = k, .parts = copy_steps}));
        if (k + 1 == copy_steps) body.push_back(commit_copies());
        body.push_back(add_products(k % 2));
      }
      body.push_back(store_to(counter, 0, after));
      return sequence(body);
    }));
    return all_allocated({counter}, sequence(parts));
  }

  /// Reads `depth_` elements along k of each of the thread's rows into registers, from `first` on.
  Stmt read(const SharedTile& tile, const ThreadRows& rows, const Buffer& registers, const PrimExpr& start,
            const PrimExpr& k, int64_t first = 0) const {
    if (tile.along_k)
      return unrolled_loop("i", rows.part, [&](const PrimExpr& i) {
        return each_lane(depth_, [&](const PrimExpr& lane) {
          return store_to(registers, i * number(depth_) + lane,
                          make_load(stages_.memory, {start + tile.element(rows.at(i), k) + lane}));
        });
      });
    return unrolled_loop("step", depth_, [&](const PrimExpr& step) {
      return unrolled_loop("i", rows.part / rows.width, [&](const PrimExpr& i) {
        return each_lane(rows.width, [&](const PrimExpr& lane) {
          const PrimExpr from = start + tile.element(rows.at(i * number(rows.width)), k + step) + lane;
          return store_to(registers, number(first) + step * number(rows.part) + i * number(rows.width) + lane,
                          make_load(stages_.memory, {from}));
        });
      });
    });
  }

  PrimExpr held(const SharedTile& tile, const ThreadRows& rows, const Buffer& registers, const PrimExpr& i,
                const PrimExpr& step, int64_t half) const {
    const PrimExpr at = tile.along_k ? i * number(depth_) + step : (step + number(half)) * number(rows.part) + i;
    return cast(contraction_.sum, make_load(registers, {at}));
  }

  Stmt multiply(const PrimExpr& stage) const {
    const PrimExpr start = stage * number(stages_.stage_elements());
    return unrolled_loop("k", plan_->tile_k / depth_, [&](const PrimExpr& k) {
      return sequence({read(stages_.a, rows_, a_, start, k * number(depth_)),
                       read(stages_.b, columns_, b_, start, k * number(depth_)), add_products(0)});
    });
  }

  /// Of what one half of the registers holds.
  Stmt add_products(int64_t half) const {
    return unrolled_loop("step", depth_, [&](const PrimExpr& step) {
      return unrolled_loop("i", plan_->part_m, [&](const PrimExpr& i) {
        return unrolled_loop("j", plan_->part_n, [&](const PrimExpr& j) {
          const PrimExpr at = i * number(plan_->part_n) + j;
          const PrimExpr product =
              held(stages_.a, rows_, a_, i, step, half) * held(stages_.b, columns_, b_, j, step, half);
          return store_to(sums_, at, make_load(sums_, {at}) + product);
        });
      });
    });
  }

  Stmt store(const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column) const {
    const GemmAxes &m = contraction_.m, &n = contraction_.n;
    const int64_t width = n.vars.size() == 1 && n.known > 0 && n.known % columns_.width == 0 ? columns_.width : 1;
    return unrolled_loop("i", plan_->part_m, [&](const PrimExpr& i) {
      const PrimExpr my_row = row + rows_.at(i);
      Stmt stores = unrolled_loop("j", plan_->part_n / width, [&](const PrimExpr& j) {
        const PrimExpr first = j * number(width), my_column = column + columns_.at(first);
        Stmt lanes = each_lane(width, [&](const PrimExpr& lane) {
          const PrimExpr sum = make_load(sums_, {i * number(plan_->part_n) + first + lane});
          if (partials_) {
            const PrimExpr of_part = (part_ * number(contraction_.batch.known) + batch) * number(m.known) + my_row;
            return store_to(partials_, of_part * number(n.known) + my_column + lane, sum);
          }
          return contraction_.store(batch, my_row, my_column + lane, sum);
        });
        const bool is_guarded = last_tile(contraction_, plan_, true).is_guarded;
        return guarded(is_guarded ? my_column < n.extent() : PrimExpr(bool_imm(true)), lanes);
      });
      const bool is_guarded = last_tile(contraction_, plan_, false).is_guarded;
      return guarded(is_guarded ? my_row < m.extent() : PrimExpr(bool_imm(true)), stores);
    });
  }

  const GpuContraction& contraction_;
  const GemmPlan& plan_;
  SharedStages stages_;
  bool is_ahead_;
  int64_t depth_;  // steps of k that are read at once
  ThreadRows rows_, columns_;
  Buffer sums_, a_, b_, partials_;
  PrimExpr part_;  // of k
};

}  // namespace

Stmt thread_gemm_nest(const GpuContraction& contraction, const GemmPlan& plan) {
  if (plan->parts == 1) return ThreadGemm(contraction, plan, nullptr)();
  const int64_t results = contraction.batch.known * contraction.m.known * contraction.n.known;
  const Buffer partials = memory_of("partials", contraction.sum, plan->parts * results, "global");
  return all_allocated(
      {partials}, sequence({ThreadGemm(contraction, plan, partials)(), gemm_parts_nest(contraction, plan, partials)}));
}

}  // namespace tessera::topi

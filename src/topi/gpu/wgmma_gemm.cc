// The kernel of a contraction by wgmma.

#include "codegen/cuda/cluster_symbol.h"
#include "ir/prim/ops.h"
#include "tir/attrs.h"
#include "topi/cpu/machine.h"
#include "topi/gpu/gemm_tiles.h"
#include "topi/gpu/nest.h"
#include "topi/gpu/wgmma.h"
#include "topi/gpu/wgmma_parts.h"

namespace tessera::topi {
namespace {

constexpr int64_t kBarrierBytes = 8;

class WgmmaGemm {
 public:
  WgmmaGemm(const WgmmaContraction& wgmma, const WgmmaPlan& plan, const GpuMachine& machine)
      : wgmma_(wgmma),
        c_(wgmma.contraction),
        plan_(plan),
        line_(wgmma.tile_k()),
        bytes_(c_.a.dtype.bytes()),
        a_elements_(plan->tile_m * line_),
        stage_elements_(a_elements_ + plan->tile_n * line_),
        tiles_k_(ceil_div(c_.k.known, line_)) {
    down_ = ceil_div(ceil_div(c_.m.known, plan->tile_m), plan->cluster);
    across_ = ceil_div(c_.n.known, plan->tile_n);
    tiles_ = std::max<int64_t>(1, c_.batch.known) * down_ * across_;  // of clusters
    clusters_ = std::min<int64_t>(tiles_, machine->multiprocessors / plan->cluster);
    memory_ = memory_of("tiles", c_.a.dtype, wgmma_shared_bytes(wgmma, plan) / bytes_, "shared.dyn");
  }

  Stmt operator()() {
    const PrimExpr cluster = number(plan_->cluster);
    return thread_loop("blockIdx.x", number(clusters_) * cluster, [&](const PrimExpr& block) {
      rank_ = plan_->cluster > 1 ? floormod(block, cluster) : number(0);
      first_tile_ = plan_->cluster > 1 ? floordiv(block, cluster) : block;
      return thread_loop("threadIdx.x", number(plan_->threads()), [&](const PrimExpr& thread) {
        Stmt body = with_own_barriers(keep_unrolled_loops(of_thread(thread)));
        body = make(AttrStmt{.node = number(0), .attr_key = attr::kMinBlocks, .value = number(1), .body = body});
        if (plan_->cluster > 1)
          body = make(AttrStmt{
              .node = number(0), .attr_key = codegen::kClusterBlocks, .value = number(plan_->cluster), .body = body});
        return body;
      });
    });
  }

 private:
  /// Of a stage, as an offset in the memory.
  PrimExpr barrier(bool is_full, const PrimExpr& stage) const {
    const int64_t first = stage_elements_ * plan_->stages, each = kBarrierBytes / bytes_;
    return number(first + (is_full ? 0 : each * plan_->stages)) + stage * number(each);
  }
  PrimExpr stage_of(const PrimExpr& step) const { return floormod(step, number(plan_->stages)); }
  PrimExpr parity_of(const PrimExpr& step) const { return floormod(floordiv(step, number(plan_->stages)), number(2)); }
  Stmt all_threads() const { return plan_->cluster > 1 ? ptx("cluster_barrier") : shared_barrier(); }

  Stmt of_thread(const PrimExpr& thread) {
    const int64_t arrivals =
        plan_->groups * 4 * plan_->cluster;  // of each warp that reads, of all blocks of the cluster
    std::vector<Stmt> make_barriers;
    for (int64_t stage = 0; stage < plan_->stages; ++stage) {
      make_barriers.push_back(ptx("mbarrier_init", {memory_->data, barrier(true, number(stage)), number(1)}));
      make_barriers.push_back(ptx("mbarrier_init", {memory_->data, barrier(false, number(stage)), number(arrivals)}));
    }
    make_barriers.push_back(ptx("mbarrier_fence"));
    Stmt copies = guarded(thread < number(1), copy_tiles());
    Stmt multiplies = multiply_tiles(thread - number(kWarpGroupThreads));
    std::vector<Stmt> parts{guarded(thread < number(1), sequence(make_barriers)), all_threads(),
                            wgmma_roles(thread, plan_->groups, copies, multiplies)};
    // a block's memory is there until others of the cluster have done with it
    if (plan_->cluster > 1) parts.push_back(ptx("cluster_barrier"));
    return all_allocated({memory_}, sequence(parts));
  }

  /// body(batch, row, column, steps of k before it) for each tile of C of the block. Where the tile is takes divisions, so it is
  /// computed once.
  using TileBody = std::function<Stmt(const PrimExpr&, const PrimExpr&, const PrimExpr&, const PrimExpr&)>;
  Stmt each_tile(const TileBody& body) const {
    const PrimExpr mine = floordiv(number(tiles_ + clusters_ - 1) - first_tile_, number(clusters_));
    return loop_over("tile_of_block", mine, [&](const PrimExpr& i) {
      const PrimExpr tile = first_tile_ + i * number(clusters_);
      return at_gemm_tile(
          tile, number(down_), number(across_), plan_->group, !c_.batch.vars.empty(),
          [&](const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column) {
            const Buffer at = memory_of("at", DataType::Int(32), 3, "local");
            auto stored = [&](int j) { return make_load(at, {number(j)}); };
            Stmt stores = sequence(
                {store_to(at, number(0), batch), store_to(at, number(1), row), store_to(at, number(2), column)});
            const PrimExpr my_row = (stored(1) * number(plan_->cluster) + rank_) * number(plan_->tile_m);
            Stmt inner = body(stored(0), my_row, stored(2) * number(plan_->tile_n), i * number(tiles_k_));
            return all_allocated({at}, sequence({stores, inner}));
          });
    });
  }

  Stmt copy_tiles() const {
    return each_tile([&](const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column, const PrimExpr& before) {
      return loop_over("tile_k", number(tiles_k_), [&](const PrimExpr& tile_k) {
        const PrimExpr step = before + tile_k, stage = stage_of(step), start = stage * number(stage_elements_),
                       full = barrier(true, stage), k = tile_k * number(line_);
        const int64_t slice = plan_->tile_n / plan_->cluster;
        const PrimExpr of_slice = rank_ * number(slice);
        const PrimExpr mask = plan_->cluster > 1 ? number((1 << plan_->cluster) - 1) : number(0);
        return sequence({
            ptx("mbarrier_wait", {memory_->data, barrier(false, stage), number(1) - parity_of(step)}),
            ptx("mbarrier_expect", {memory_->data, full, number(stage_elements_ * bytes_)}),
            copy_box(wgmma_.a, batch, row, k, plan_->tile_m, memory_, start, full, number(0)),
            copy_box(wgmma_.b, batch, column + of_slice, k, slice, memory_,
                     start + number(a_elements_) + of_slice * number(line_), full, mask),
        });
      });
    });
  }

  Stmt multiply_tiles(const PrimExpr& thread) {
    const int64_t rows = plan_->tile_m / plan_->groups, parts = rows / kWgmmaRows;
    const PrimExpr my_rows =
        plan_->groups > 1 ? floordiv(thread, number(kWarpGroupThreads)) * number(rows) : PrimExpr(number(0));
    sums_ = memory_of("sums", c_.sum, parts * plan_->tile_n / 2, "local");
    const PrimExpr lane = floormod(thread, number(32));
    const bool rows_are_inside = c_.m.known % plan_->tile_m == 0 && (c_.m.known / plan_->tile_m) % plan_->cluster == 0;
    const WgmmaSums store{sums_, parts, plan_->tile_n, rows_are_inside, c_.n.known % plan_->tile_n == 0};
    // the first lanes of each warp tell the blocks of the cluster that it has read a stage
    auto arrive = [&](const PrimExpr& step) {
      const bool is_alone = plan_->cluster == 1;
      return guarded(
          lane < number(plan_->cluster),
          ptx("mbarrier_arrive", {memory_->data, barrier(false, stage_of(step)), is_alone ? number(-1) : lane}));
    };
    Stmt tiles =
        each_tile([&](const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column, const PrimExpr& before) {
          Stmt multiply = loop_over("tile_k", number(tiles_k_), [&](const PrimExpr& tile_k) {
            const PrimExpr step = before + tile_k, stage = stage_of(step);
            return sequence(
                {ptx("mbarrier_wait", {memory_->data, barrier(true, stage), parity_of(step)}), ptx("wgmma_fence"),
                 multiply_stage(stage * number(stage_elements_), my_rows, parts, tile_k), ptx("wgmma_commit"),
                 ptx("wgmma_wait", {number(1)}), guarded(tile_k > number(0), arrive(step - number(1)))});
          });
          return sequence({multiply, ptx("wgmma_wait", {number(0)}), arrive(before + number(tiles_k_ - 1)),
                           store_wgmma_sums(c_, store, thread, batch, row + my_rows, column)});
        });
    return all_allocated({sums_}, tiles);
  }

  Stmt multiply_stage(const PrimExpr& start, const PrimExpr& my_rows, int64_t parts, const PrimExpr& tile_k) const {
    const int64_t step = kWgmmaStepBytes / bytes_, steps = line_ / step;
    const std::string form = wgmma_form(plan_->tile_n, c_.a.dtype, c_.b.dtype);
    const int64_t leading = line_ * line_ * bytes_;  // between lines that lie along rows
    std::vector<Stmt> out;
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t along_k = i * step, along_rows = i * step * line_;  // where the step begins
      const PrimExpr adds = i > 0 ? PrimExpr(number(1)) : cast(DataType::Int(32), tile_k > number(0));
      for (int64_t part = 0; part < parts; ++part) {
        // lines of 64 elements: a part's rows begin after as many lines, whichever way they lie
        const PrimExpr a = start + (my_rows + number(part * kWgmmaRows)) * number(line_) +
                           number(wgmma_.a.along_k ? along_k : along_rows);
        const PrimExpr b = start + number(a_elements_) + number(wgmma_.b.along_k ? along_k : along_rows);
        out.push_back(
            ptx("wgmma", {string_imm(form), sums_->data, number(part * plan_->tile_n / 2), memory_->data, a, b,
                          number(wgmma_.a.along_k ? 0 : leading), number(wgmma_.b.along_k ? 0 : leading), adds}));
      }
    }
    return sequence(out);
  }

  const WgmmaContraction& wgmma_;
  const GpuContraction& c_;
  const WgmmaPlan& plan_;
  int64_t line_, bytes_, a_elements_, stage_elements_, tiles_k_;
  int64_t down_ = 0, across_ = 0, tiles_ = 0, clusters_ = 0;
  Buffer memory_, sums_;
  PrimExpr rank_, first_tile_;
};

}  // namespace

Stmt wgmma_nest(const WgmmaContraction& wgmma, const WgmmaPlan& plan, const GpuMachine& machine) {
  return WgmmaGemm(wgmma, plan, machine)();
}

}  // namespace tessera::topi

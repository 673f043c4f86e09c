// The kernel of a contraction by wgmma.

#include "codegen/cuda/cluster_symbol.h"
#include "ir/prim/ops.h"
#include "tir/attrs.h"
#include "topi/gpu/gemm_tiles.h"
#include "topi/gpu/nest.h"
#include "topi/gpu/wgmma.h"

namespace tessera::topi {
namespace {

constexpr int64_t kWarpGroup = 128, kPartRows = 64;
constexpr int64_t kBarrierBytes = 8;
constexpr int64_t kStep = 32;  // bytes along k of one wgmma

/// Registers of threads that copy, and of those that multiply, where `groups` warp groups do: all have as many at first, and
/// that is enough for one.
struct RoleRegisters {
  int64_t copy, multiply;
};
constexpr RoleRegisters kRoleRegisters[] = {{0, 0}, {0, 0}, {40, 232}, {32, 160}};

Stmt call(const char* name, Array<PrimExpr> args = {}) {
  return evaluate(make_call(DataType::Int(32), std::string("tir.ptx_") + name, std::move(args)));
}

const char* ptx_type(DataType dtype) {
  if (dtype.is_integral()) return dtype.is_uint() ? "u8" : "s8";
  return dtype.is_bfloat() ? "bf16" : dtype.bits == 32 ? "tf32" : "f16";
}

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
  Stmt all_threads() const { return plan_->cluster > 1 ? call("cluster_barrier") : shared_barrier(); }

  Stmt of_thread(const PrimExpr& thread) {
    const int64_t arrivals =
        plan_->groups * 4 * plan_->cluster;  // of each warp that reads, of all blocks of the cluster
    std::vector<Stmt> make_barriers;
    for (int64_t stage = 0; stage < plan_->stages; ++stage) {
      make_barriers.push_back(call("mbarrier_init", {memory_->data, barrier(true, number(stage)), number(1)}));
      make_barriers.push_back(call("mbarrier_init", {memory_->data, barrier(false, number(stage)), number(arrivals)}));
    }
    make_barriers.push_back(call("mbarrier_fence"));
    Stmt copies = guarded(thread < number(1), copy_tiles());
    Stmt multiplies = multiply_tiles(thread - number(kWarpGroup));
    const RoleRegisters registers = kRoleRegisters[plan_->groups];
    if (registers.copy) {
      copies = sequence({call("set_registers", {number(registers.copy), number(0)}), copies});
      multiplies = sequence({call("set_registers", {number(registers.multiply), number(1)}), multiplies});
    }
    Stmt roles =
        make(IfThenElse{.condition = thread < number(kWarpGroup), .then_case = copies, .else_case = multiplies});
    std::vector<Stmt> parts{guarded(thread < number(1), sequence(make_barriers)), all_threads(), roles};
    // a block's memory is there until others of the cluster have done with it
    if (plan_->cluster > 1) parts.push_back(call("cluster_barrier"));
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
            call("mbarrier_wait", {memory_->data, barrier(false, stage), number(1) - parity_of(step)}),
            call("mbarrier_expect", {memory_->data, full, number(stage_elements_ * bytes_)}),
            copy_box(wgmma_.a, c_.batch, batch, row, k, plan_->tile_m, memory_, start, full, number(0)),
            copy_box(wgmma_.b, c_.batch, batch, column + of_slice, k, slice, memory_,
                     start + number(a_elements_) + of_slice * number(line_), full, mask),
        });
      });
    });
  }

  Stmt multiply_tiles(const PrimExpr& thread) {
    const int64_t rows = plan_->tile_m / plan_->groups, parts = rows / kPartRows;
    const PrimExpr my_rows =
        plan_->groups > 1 ? floordiv(thread, number(kWarpGroup)) * number(rows) : PrimExpr(number(0));
    sums_ = memory_of("sums", c_.sum, parts * plan_->tile_n / 2, "local");
    const PrimExpr lane = floormod(thread, number(32));
    // the first lanes of each warp tell the blocks of the cluster that it has read a stage
    auto arrive = [&](const PrimExpr& step) {
      const bool is_alone = plan_->cluster == 1;
      return guarded(
          lane < number(plan_->cluster),
          call("mbarrier_arrive", {memory_->data, barrier(false, stage_of(step)), is_alone ? number(-1) : lane}));
    };
    Stmt tiles =
        each_tile([&](const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column, const PrimExpr& before) {
          Stmt multiply = loop_over("tile_k", number(tiles_k_), [&](const PrimExpr& tile_k) {
            const PrimExpr step = before + tile_k, stage = stage_of(step);
            return sequence(
                {call("mbarrier_wait", {memory_->data, barrier(true, stage), parity_of(step)}), call("wgmma_fence"),
                 multiply_stage(stage * number(stage_elements_), my_rows, parts, tile_k), call("wgmma_commit"),
                 call("wgmma_wait", {number(1)}), guarded(tile_k > number(0), arrive(step - number(1)))});
          });
          return sequence({multiply, call("wgmma_wait", {number(0)}), arrive(before + number(tiles_k_ - 1)),
                           store(thread, batch, row + my_rows, column, parts)});
        });
    return all_allocated({sums_}, tiles);
  }

  Stmt multiply_stage(const PrimExpr& start, const PrimExpr& my_rows, int64_t parts, const PrimExpr& tile_k) const {
    const int64_t step = kStep / bytes_, steps = line_ / step;
    const std::string form = "m64n" + std::to_string(plan_->tile_n) + "k" + std::to_string(step) +
                             (c_.sum.is_float() ? ".f32." : ".s32.") + ptx_type(c_.a.dtype) + "." +
                             ptx_type(c_.b.dtype);
    const int64_t leading = line_ * line_ * bytes_;  // between lines that lie along rows
    std::vector<Stmt> out;
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t along_k = i * step, along_rows = i * step * line_;  // where the step begins
      const PrimExpr adds = i > 0 ? PrimExpr(number(1)) : cast(DataType::Int(32), tile_k > number(0));
      for (int64_t part = 0; part < parts; ++part) {
        // lines of 64 elements: a part's rows begin after as many lines, whichever way they lie
        const PrimExpr a = start + (my_rows + number(part * kPartRows)) * number(line_) +
                           number(wgmma_.a.along_k ? along_k : along_rows);
        const PrimExpr b = start + number(a_elements_) + number(wgmma_.b.along_k ? along_k : along_rows);
        out.push_back(
            call("wgmma", {string_imm(form), sums_->data, number(part * plan_->tile_n / 2), memory_->data, a, b,
                           number(wgmma_.a.along_k ? 0 : leading), number(wgmma_.b.along_k ? 0 : leading), adds}));
      }
    }
    return sequence(out);
  }

  /// A lane has two neighbours of a row, and of the row eight further on, of each eight columns. Four lanes exchange them, so that
  /// each stores eight neighbours.
  Stmt store(const PrimExpr& thread, const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column,
             int64_t parts) const {
    const PrimExpr lane = floormod(thread, number(32)), warp = floormod(floordiv(thread, number(32)), number(4));
    const Buffer eight = memory_of("eight", c_.sum, 8, "local");
    const bool is_wide = wide_store_lanes(c_) > 1 && c_.n.known % 8 == 0;
    Stmt body = unrolled_loop("rows", 2 * parts, [&](const PrimExpr& half) {
      const PrimExpr part = floordiv(half, number(2)), odd = floormod(half, number(2));
      const PrimExpr my_row =
          row + part * number(kPartRows) + warp * number(16) + odd * number(8) + floordiv(lane, number(4));
      return unrolled_loop("columns", plan_->tile_n / 32, [&](const PrimExpr& columns) {
        const PrimExpr from = part * number(plan_->tile_n / 2) + columns * number(16) + odd * number(2);
        const PrimExpr my_column = column + columns * number(32) + floormod(lane, number(4)) * number(8);
        auto element = [&](const PrimExpr& i) { return c_.store(batch, my_row, my_column + i, make_load(eight, {i})); };
        PrimExpr inside = bool_imm(true);
        if (c_.m.known % plan_->tile_m != 0 || (c_.m.known / plan_->tile_m) % plan_->cluster != 0)
          inside = my_row < number(c_.m.known);
        const bool is_even = c_.n.known % plan_->tile_n == 0;
        Stmt stores;
        if (is_wide) {
          if (!is_even) inside = logical_and(inside, my_column < number(c_.n.known));
          stores = each_lane(8, element);
        } else {
          stores = unrolled_loop("i", 8, [&](const PrimExpr& i) {
            return guarded(is_even ? PrimExpr(bool_imm(true)) : my_column + i < number(c_.n.known), element(i));
          });
        }
        return sequence({call("exchange_pairs", {sums_->data, from, eight->data, number(0)}), guarded(inside, stores)});
      });
    });
    return all_allocated({eight}, body);
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

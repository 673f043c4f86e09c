// Contractions by matrix units: mma.sync of warps, whose fragments ldmatrix reads from tiles that cp.async copies.

#include <algorithm>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "topi/gpu/gemm_tiles.h"
#include "topi/gpu/matrix_unit.h"
#include "topi/gpu/nest.h"

namespace tessera::topi {
namespace {

const DataType kUnitIndex = DataType::Int(32);

PrimExpr text(const std::string& value) { return string_imm(value); }

std::string type_name(DataType dtype) {
  return dtype.is_bfloat() ? "bf16" : dtype.is_float() ? "fp16" : dtype.is_uint() ? "uint8" : "int8";
}

class MatrixUnitGemm {
 public:
  MatrixUnitGemm(const GpuContraction& contraction, const GemmPlan& plan)
      : contraction_(contraction),
        plan_(plan),
        stages_(contraction, plan),
        chunk_(kChunkBytes / contraction.a.dtype.bytes()),
        step_(2 * chunk_),
        steps_(plan->tile_k / step_),
        down_(plan->part_m / kMatrixRows),
        across_(plan->part_n / kMatrixColumns) {}

  Stmt operator()() {
    return each_gemm_tile(contraction_, plan_, [&](const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column) {
      return thread_loop("threadIdx.x", number(plan_->threads()), [&](const PrimExpr& thread) {
        return with_min_blocks(plan_->blocks,
                               with_own_barriers(keep_unrolled_loops(of_thread(thread, batch, row, column))));
      });
    });
  }

 private:
  Stmt of_thread(const PrimExpr& thread, const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column) {
    const PrimExpr warp = floordiv(thread, number(32)), warps_across = number(plan_->tile_n / plan_->part_n);
    lane_ = floormod(thread, number(32));
    warp_row_ = floordiv(warp, warps_across) * number(plan_->part_m);
    warp_column_ = floormod(warp, warps_across) * number(plan_->part_n);
    const int64_t in_lane = kMatrixRows * step_ / 32;  // elements of A's fragment; of two of B's
    sums_ = memory_of("sums", contraction_.sum, down_ * across_ * 4, "local");
    a_ = memory_of("a", contraction_.a.dtype, 2 * down_ * in_lane, "local");
    b_ = memory_of("b", contraction_.b.dtype, 2 * across_ / 2 * in_lane, "local");
    in_lane_ = in_lane;
    Stmt clear = unrolled_loop("i", down_ * across_ * 4,
                               [&](const PrimExpr& i) { return store_to(sums_, i, make_zero(contraction_.sum)); });
    std::vector<Buffer> memory = stages_.buffers();
    memory.insert(memory.end(), {sums_, a_, b_});
    Stmt stores = plan_->stores_wide ? store_wide(warp, batch, row, column, &memory) : store(batch, row, column);
    return all_allocated(
        memory, sequence({clear, stages_.prepare(thread, row, column), multiply(thread, batch, row, column), stores}));
  }

  /// Fragments are read one step of k ahead, copies run `stages` - 1 tiles ahead.
  Stmt multiply(const PrimExpr& thread, const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column) const {
    const PrimExpr tiles = stages_.tiles_along_k(), stages = number(plan_->stages);
    auto copy = [&](const PrimExpr& tile) {
      return guarded(tile < tiles, stages_.copy({thread, batch, row, column}, tile,
                                                floormod(tile, stages) * number(stages_.stage_elements())));
    };
    std::vector<Stmt> parts;
    for (int i = 0; i + 1 < plan_->stages; ++i) parts.insert(parts.end(), {copy(number(i)), commit_copies()});
    const std::vector<Stmt> wait{wait_for_copies(plan_->stages - 2), shared_barrier()};
    parts.insert(parts.end(), wait.begin(), wait.end());
    parts.push_back(read(number(0), 0, 0));
    parts.push_back(loop_over("tile_k", tiles, [&](const PrimExpr& tile) {
      std::vector<Stmt> body;
      for (int64_t step = 0; step < steps_; ++step) {
        const bool is_last = step + 1 == steps_;
        if (is_last) body.insert(body.end(), wait.begin(), wait.end());
        body.push_back(read(floormod(is_last ? tile + 1 : tile, stages), is_last ? 0 : step + 1, (step + 1) % 2));
        if (step == 0) body.insert(body.end(), {copy(tile + (plan_->stages - 1)), commit_copies()});
        body.push_back(matrix_products(step % 2));
      }
      return sequence(body);
    }));
    return sequence(parts);
  }

  /// All fragments of a step of k, into one half of the registers.
  Stmt read(const PrimExpr& stage, int64_t step, int64_t half) const {
    const PrimExpr start = stage * number(stages_.stage_elements());
    const PrimExpr in_eight = floormod(lane_, number(8)), low = floormod(floordiv(lane_, number(8)), number(2)),
                   high = floordiv(lane_, number(16));
    // four matrices of 8x8 words: of A two along the rows, then along k; of B two along k, then along the columns
    auto fragments = [&](const SharedTile& tile, const Buffer& registers, int64_t count, const PrimExpr& first,
                         const PrimExpr& along_rows, const PrimExpr& along_k) {
      return unrolled_loop("fragment", count, [&](const PrimExpr& i) {
        PrimExpr row = first + i * number(16), k = number(step * step_);
        if (tile.along_k) row = row + along_rows * 8 + in_eight, k = k + along_k * number(chunk_);
        else row = row + along_rows * 8, k = k + along_k * 8 + in_eight;
        Array<PrimExpr> args{bool_imm(!tile.along_k),
                             number(4),
                             text(".b16"),
                             registers->data,
                             number(half * count * in_lane_) + i * number(in_lane_),
                             stages_.memory->data,
                             start + tile.element(row, k)};
        return evaluate(make_call(tile.dtype, "tir.ptx_ldmatrix", args));
      });
    };
    return sequence({fragments(stages_.a, a_, down_, warp_row_, low, high),
                     fragments(stages_.b, b_, across_ / 2, warp_column_, high, low)});
  }

  Stmt matrix_products(int64_t half) const {
    const std::string shape = "m16n8k" + std::to_string(step_);
    return unrolled_loop("i", down_, [&](const PrimExpr& i) {
      return unrolled_loop("j", across_, [&](const PrimExpr& j) {
        const PrimExpr a = number(half * down_ * in_lane_) + i * number(in_lane_),
                       b = number(half * across_ / 2 * in_lane_) + j * number(in_lane_ / 2),
                       sum = (i * number(across_) + j) * 4;
        return evaluate(
            make_call(contraction_.sum, "tir.ptx_mma",
                      {text(shape), text("row"), text("col"), text(type_name(contraction_.a.dtype)),
                       text(type_name(contraction_.b.dtype)), text(contraction_.sum.is_float() ? "fp32" : "int32"),
                       a_->data, a, b_->data, b, sums_->data, sum, bool_imm(false)}));
      });
    });
  }

  /// Rows of an instruction's results at a time pass through shared memory of the warp, so that lanes store 16 bytes each.
  Stmt store_wide(const PrimExpr& warp, const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column,
                  std::vector<Buffer>* memory) const {
    const int64_t pitch = result_pitch(plan_), warps = plan_->threads() / 32, of_warp = kMatrixRows * pitch;
    const int64_t width = std::min<int64_t>(wide_store_lanes(contraction_), plan_->part_n);
    const int64_t in_row = plan_->part_n / width, at_once = std::min<int64_t>(32 / in_row, kMatrixRows);
    Buffer results = memory_of("results", contraction_.sum, warps * of_warp, "shared");
    memory->push_back(results);
    const PrimExpr mine = warp * number(of_warp);
    const Stmt barrier = evaluate(make_call(kUnitIndex, builtin::tvm_storage_sync(), {string_imm("warp")}));
    return unrolled_loop("i", down_, [&](const PrimExpr& i) {
      Stmt writes = unrolled_loop("j", across_, [&](const PrimExpr& j) {
        return unrolled_loop("half", 2, [&](const PrimExpr& half) {
          const PrimExpr to = mine + (half * 8 + floordiv(lane_, number(4))) * number(pitch) + j * 8 +
                              floormod(lane_, number(4)) * 2,
                         from = (i * number(across_) + j) * 4 + half * 2;
          return each_lane(
              2, [&](const PrimExpr& lane) { return store_to(results, to + lane, make_load(sums_, {from + lane})); });
        });
      });
      Stmt stores = unrolled_loop("rows", kMatrixRows / at_once, [&](const PrimExpr& rows) {
        const PrimExpr my_row = rows * number(at_once) + floordiv(lane_, number(in_row)),
                       my_column = floormod(lane_, number(in_row)) * number(width);
        const PrimExpr at_row = row + warp_row_ + i * number(kMatrixRows) + my_row,
                       at_column = column + warp_column_ + my_column;
        Stmt lanes = each_lane(width, [&](const PrimExpr& lane) {
          const PrimExpr sum = make_load(results, {mine + my_row * number(pitch) + my_column + lane});
          return contraction_.store(batch, at_row, at_column + lane, sum);
        });
        return guarded(is_inside(at_row, at_column), lanes);
      });
      return sequence({writes, barrier, stores, barrier});
    });
  }

  PrimExpr is_inside(const PrimExpr& row, const PrimExpr& column) const {
    const GemmAxes &m = contraction_.m, &n = contraction_.n;
    PrimExpr out = bool_imm(true);
    if (last_tile(contraction_, plan_, false).is_guarded) out = row < m.extent();
    if (last_tile(contraction_, plan_, true).is_guarded) out = logical_and(out, column < n.extent());
    return out;
  }

  /// A lane has two neighbours of a row, and of the row eight further on.
  Stmt store(const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column) const {
    const GemmAxes &m = contraction_.m, &n = contraction_.n;
    const int64_t width = n.vars.size() == 1 && n.known > 0 && n.known % 2 == 0 ? 2 : 1;
    return unrolled_loop("i", down_ * 2, [&](const PrimExpr& i) {
      const PrimExpr my_row = row + warp_row_ + i * 8 + floordiv(lane_, number(4));
      Stmt stores = unrolled_loop("j", across_, [&](const PrimExpr& j) {
        return unrolled_loop("pair", 2 / width, [&](const PrimExpr& pair) {
          const PrimExpr my_column = column + warp_column_ + j * 8 + floormod(lane_, number(4)) * 2 + pair;
          Stmt lanes = each_lane(width, [&](const PrimExpr& lane) {
            const PrimExpr at =
                (floordiv(i, number(2)) * number(across_) + j) * 4 + floormod(i, number(2)) * 2 + pair + lane;
            return contraction_.store(batch, my_row, my_column + lane, make_load(sums_, {at}));
          });
          const bool is_guarded = last_tile(contraction_, plan_, true).is_guarded;
          return guarded(is_guarded ? my_column < n.extent() : PrimExpr(bool_imm(true)), lanes);
        });
      });
      const bool is_guarded = last_tile(contraction_, plan_, false).is_guarded;
      return guarded(is_guarded ? my_row < m.extent() : PrimExpr(bool_imm(true)), stores);
    });
  }

  const GpuContraction& contraction_;
  const GemmPlan& plan_;
  SharedStages stages_;
  int64_t chunk_, step_, steps_;  // elements of 16 bytes; along k of an instruction; instructions along k of a tile
  int64_t down_, across_;         // matrices of sums of a warp
  int64_t in_lane_ = 0;
  PrimExpr lane_, warp_row_, warp_column_;
  Buffer sums_, a_, b_;
};

}  // namespace

Stmt matrix_unit_gemm_nest(const GpuContraction& contraction, const GemmPlan& plan) {
  return MatrixUnitGemm(contraction, plan)();
}

}  // namespace tessera::topi

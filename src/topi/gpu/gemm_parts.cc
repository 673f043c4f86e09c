// Contractions whose k is divided among blocks of threads: what becomes of the partial sums.

#include "ir/prim/ops.h"
#include "topi/gpu/gemm_tiles.h"
#include "topi/gpu/nest.h"

namespace tessera::topi {

Stmt gemm_parts_nest(const GpuContraction& contraction, const GemmPlan& plan, const Buffer& partials) {
  constexpr int64_t kThreads = 256;
  const int64_t rows = contraction.m.known, columns = contraction.n.known, matrix = rows * columns,
                elements = contraction.batch.known * matrix, lanes = wide_store_lanes(contraction);
  const Buffer sums = memory_of("sums", contraction.sum, lanes, "local");
  return thread_loop("blockIdx.x", number(ceil_div(elements, kThreads * lanes)), [&](const PrimExpr& block) {
    return thread_loop("threadIdx.x", number(kThreads), [&](const PrimExpr& thread) {
      const PrimExpr at = (block * number(kThreads) + thread) * number(lanes);
      auto each = [&](const NestBody& body) { return each_lane(lanes, body); };
      Stmt clear = each([&](const PrimExpr& lane) { return store_to(sums, lane, make_zero(contraction.sum)); });
      Stmt add = unrolled_loop("part", plan->parts, [&](const PrimExpr& part) {
        return each([&](const PrimExpr& lane) {
          return store_to(sums, lane,
                          make_load(sums, {lane}) + make_load(partials, {part * number(elements) + at + lane}));
        });
      });
      Stmt store = each([&](const PrimExpr& lane) {
        const PrimExpr in_matrix = floormod(at, number(matrix));
        return contraction.store(floordiv(at, number(matrix)), floordiv(in_matrix, number(columns)),
                                 floormod(in_matrix, number(columns)) + lane, make_load(sums, {lane}));
      });
      const bool is_even = elements % (kThreads * lanes) == 0;
      return guarded(is_even ? PrimExpr(bool_imm(true)) : at < number(elements),
                     keep_unrolled_loops(all_allocated({sums}, sequence({clear, add, store}))));
    });
  });
}

}  // namespace tessera::topi

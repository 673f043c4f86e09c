// Matmuls by tiles whose vectors lie along k.

#include "ir/prim/ops.h"
#include "topi/cpu/contraction/matmul_nest.h"
#include "topi/cpu/number.h"

namespace tessera::topi {
namespace {

constexpr int64_t kShortRow = 256;

/// Prefetches the rows of the next tile where they are short and lie one after the other: too short for the CPU to see them coming.
Stmt prefetch_rows(const Matmul& matmul, const Machine& machine, const PrimExpr& base, const PrimExpr& i0,
                   int64_t height) {
  const int64_t line = machine->cache_line_bytes / matmul.dtype.bytes();
  if (matmul.a.row != matmul.k || matmul.k > kShortRow) return make_nop();
  std::vector<Stmt> lines;
  PrimExpr first = matmul.a.at(base, i0 + number(height), PrimExpr(0));
  for (int64_t at = 0; at < height * matmul.k; at += line)
    lines.push_back(prefetch(matmul.a.flat, {first + number(at)}, false));
  return sequence(lines);
}

/// The tile of `height` x `width` elements from (i0, j0) on.
Stmt tile_at(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine, const PrimExpr& batch,
             int64_t height, int64_t width, const PrimExpr& i0, const PrimExpr& j0) {
  DotTile out;
  out.dtype = matmul.dtype;
  out.rows = height;
  out.columns = width;
  out.lanes = plan->lanes;
  out.depth = number(matmul.k);
  PrimExpr base_a = matmul.base(matmul.a, batch), base_b = matmul.base(matmul.b, batch);
  out.a = [&](int64_t i, const PrimExpr& k, const PrimExpr& used) {
    return load_vector(matmul.a.flat, matmul.a.at(base_a, i0 + number(i), k), plan->lanes, used);
  };
  out.b = [&](int64_t j, const PrimExpr& k, const PrimExpr& used) {
    return load_vector(matmul.b.flat, matmul.b.at(base_b, k, j0 + number(j)), plan->lanes, used);
  };
  Buffer sums;
  if (matmul.stores_by_functions()) sums = decl_buffer({number(height * width)}, matmul.dtype, "tile", "local");
  out.use = [&](const std::function<PrimExpr(int64_t, int64_t)>& sum) {
    std::vector<Stmt> parts;
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j) {
        if (sums)
          parts.push_back(make(BufferStore{.buffer = sums, .value = sum(i, j), .indices = {number(i * width + j)}}));
        else parts.push_back(matmul.store(batch, i0 + number(i), j0 + number(j), sum(i, j)));
      }
    if (sums)
      parts.push_back(loop_over("i", number(height), [&](const PrimExpr& i) {
        return loop_over("j", number(width), [&](const PrimExpr& j) {
          return matmul.store(batch, i0 + i, j0 + j, make_load(sums, {i * number(width) + j}));
        });
      }));
    return sequence(parts);
  };
  Stmt tile = sums ? allocated(sums, dot_tile(out)) : dot_tile(out);
  return plan->rows_outside ? sequence({prefetch_rows(matmul, machine, base_a, i0, height), tile}) : tile;
}

}  // namespace

Stmt dot_nest(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine) {
  const EvenTiles rows(matmul.m, plan->rows), columns(matmul.n, plan->columns);
  return for_tasks(matmul, plan, rows.tiles, columns.tiles, [&](const Task& task) {
    auto one = [&](const PrimExpr& row, const PrimExpr& column) {
      PrimExpr tile_row = task.rows.first + row, tile_column = task.columns.first + column;
      return by_size(rows, tile_row, [&](int64_t height) {
        return by_size(columns, tile_column, [&](int64_t width) {
          return tile_at(matmul, plan, machine, task.batch, height, width, start_of(rows, tile_row),
                         start_of(columns, tile_column));
        });
      });
    };
    if (plan->rows_outside)
      return loop_over("row", task.rows.count, [&](const PrimExpr& row) {
        return loop_over("column", task.columns.count, [&](const PrimExpr& column) { return one(row, column); });
      });
    return loop_over("column", task.columns.count, [&](const PrimExpr& column) {
      return loop_over("row", task.rows.count, [&](const PrimExpr& row) { return one(row, column); });
    });
  });
}

}  // namespace tessera::topi

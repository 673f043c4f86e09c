// Matmuls by tiles whose vectors lie along k.

#include "ir/prim/ops.h"
#include "topi/cpu/contraction/product_nest.h"

namespace tessera::topi {
namespace {

constexpr int64_t kLineBytes = 64, kShortRow = 256;

PrimExpr number(int64_t value) { return PrimExpr(static_cast<int>(value)); }

/// Asks for the rows of the next tile where they are short and lie one after the other: too short to be foreseen.
Stmt next_rows_near(const Product& product, const PrimExpr& base, const PrimExpr& i0, int64_t height) {
  const int64_t line = kLineBytes / product.dtype.bytes();
  if (product.a.row != product.k || product.k > kShortRow) return make_nop();
  std::vector<Stmt> lines;
  PrimExpr first = product.a.at(base, i0 + number(height), PrimExpr(0));
  for (int64_t at = 0; at < height * product.k; at += line)
    lines.push_back(brought_near(product.a.flat, {first + number(at)}, false));
  return sequence(lines);
}

/// The tile of `height` x `width` elements from (i0, j0) on.
Stmt tile_at(const Product& product, const ProductPlan& plan, const PrimExpr& batch, int64_t height, int64_t width,
             const PrimExpr& i0, const PrimExpr& j0) {
  DotTile out;
  out.dtype = product.dtype;
  out.rows = height;
  out.columns = width;
  out.lanes = plan.lanes;
  out.depth = product.k;
  PrimExpr base_a = product.base(product.a, batch), base_b = product.base(product.b, batch);
  out.a = [&](int64_t i, const PrimExpr& k, int64_t used) {
    return load_vector(product.a.flat, product.a.at(base_a, i0 + number(i), k), plan.lanes, used);
  };
  out.b = [&](int64_t j, const PrimExpr& k, int64_t used) {
    return load_vector(product.b.flat, product.b.at(base_b, k, j0 + number(j)), plan.lanes, used);
  };
  Buffer sums;
  if (product.stores_by_functions()) sums = decl_buffer({number(height * width)}, product.dtype, "tile", "local");
  out.use = [&](const std::function<PrimExpr(int64_t, int64_t)>& sum) {
    std::vector<Stmt> parts;
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j) {
        if (sums)
          parts.push_back(make(BufferStore{.buffer = sums, .value = sum(i, j), .indices = {number(i * width + j)}}));
        else parts.push_back(product.store(batch, i0 + number(i), j0 + number(j), sum(i, j)));
      }
    if (sums)
      parts.push_back(loop_over("i", number(height), [&](const PrimExpr& i) {
        return loop_over("j", number(width), [&](const PrimExpr& j) {
          return product.store(batch, i0 + i, j0 + j, make_load(sums, {i * number(width) + j}));
        });
      }));
    return sequence(parts);
  };
  Stmt tile = sums ? allocated(sums, dot_tile(out)) : dot_tile(out);
  return plan.rows_outside ? sequence({next_rows_near(product, base_a, i0, height), tile}) : tile;
}

}  // namespace

Stmt dot_nest(const Product& product, const ProductPlan& plan) {
  return for_tasks(product, plan, plan.columns.tiles, [&](const Task& task) {
    auto one = [&](const PrimExpr& row, const PrimExpr& column) {
      PrimExpr tile_row = task.rows.first + row, tile_column = task.columns.first + column;
      return by_size(plan.rows, tile_row, [&](int64_t height) {
        return by_size(plan.columns, tile_column, [&](int64_t width) {
          return tile_at(product, plan, task.batch, height, width, start_of(plan.rows, tile_row),
                         start_of(plan.columns, tile_column));
        });
      });
    };
    if (plan.rows_outside)
      return loop_over("row", task.rows.count, [&](const PrimExpr& row) {
        return loop_over("column", task.columns.count, [&](const PrimExpr& column) { return one(row, column); });
      });
    return loop_over("column", task.columns.count, [&](const PrimExpr& column) {
      return loop_over("row", task.rows.count, [&](const PrimExpr& row) { return one(row, column); });
    });
  });
}

}  // namespace tessera::topi

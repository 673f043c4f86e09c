#include "topi/cpu/contraction/matmul_panels.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "topi/cpu/number.h"

namespace tessera::topi {
namespace {

constexpr int64_t kRowsAhead = 16;  // that are prefetched while one is copied

Stmt copied(const Matmul& matmul, const TileSize& size, const PrimExpr& base, const PrimExpr& j0, const Buffer& panels,
            const PrimExpr& to) {
  return loop_over("k", number(matmul.k), [&](const PrimExpr& k) {
    std::vector<Stmt> parts;
    for (int64_t v = 0; v < size.vectors; ++v) {
      PrimExpr later = matmul.b.at(base, k + number(kRowsAhead), j0 + number(v * size.lanes));
      parts.push_back(prefetch(matmul.b.flat, {later}, false));
      PrimExpr from = matmul.b.at(base, k, j0 + number(v * size.lanes));
      PrimExpr value = load_vector(matmul.b.flat, from, size.lanes, v + 1 < size.vectors ? size.lanes : size.rest);
      parts.push_back(store_vector(panels, to + k * number(size.vectors * size.lanes) + number(v * size.lanes), value));
    }
    return sequence(parts);
  });
}

/// Squares of lanes x lanes at a time. The last of them along k overlaps the one before where k is not a multiple.
Stmt transposed_copy(const Matmul& matmul, bool interleaves, const TileSize& size, const PrimExpr& base,
                     const PrimExpr& j0, const Buffer& panels, const PrimExpr& to) {
  const int64_t lanes = size.lanes, depth = std::min(matmul.k, lanes), squares = ceil_div(matmul.k, lanes);
  auto square = [&](const PrimExpr& v, const PrimExpr& k0, int64_t rows) {
    std::vector<PrimExpr> vectors;
    for (int64_t r = 0; r < lanes; ++r) {
      PrimExpr from = matmul.b.at(base, k0, j0 + v * number(lanes) + number(r));
      vectors.push_back(load_vector(matmul.b.flat, from, lanes, r < rows ? depth : 0));
    }
    return transposed(vectors, interleaves, [&](const std::vector<PrimExpr>& columns) {
      std::vector<Stmt> stores;
      for (int64_t k = 0; k < depth; ++k) {
        PrimExpr index = to + (k0 + number(k)) * number(size.vectors * lanes) + v * number(lanes);
        stores.push_back(store_vector(panels, index, columns[static_cast<size_t>(k)]));
      }
      return sequence(stores);
    });
  };
  auto column = [&](const PrimExpr& v, int64_t rows) {
    return loop_over("k", number(squares), [&](const PrimExpr& k) {
      PrimExpr k0 = k * number(lanes);
      if (squares * lanes > matmul.k) k0 = min(k0, number(matmul.k - depth));
      return square(v, k0, rows);
    });
  };
  const int64_t whole = size.vectors - (size.rest < lanes ? 1 : 0);
  std::vector<Stmt> parts;
  if (whole > 0)
    parts.push_back(loop_over("vector", number(whole), [&](const PrimExpr& v) { return column(v, lanes); }));
  if (whole < size.vectors) parts.push_back(column(number(whole), size.rest));
  return sequence(parts);
}

}  // namespace

Stmt copy_panel_b(const Matmul& matmul, const Machine& machine, const TileSize& size, const PrimExpr& base,
                  const PrimExpr& j0, const Buffer& panels, const PrimExpr& to) {
  return matmul.b.column == 1 ? copied(matmul, size, base, j0, panels, to)
                              : transposed_copy(matmul, interleaves_vectors(machine), size, base, j0, panels, to);
}

PanelA panel_a(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine) {
  PanelA out;
  const int64_t depth = plan->step * matmul.group;
  if (matmul.a.column == 1) {
    const int64_t line = machine->cache_line_bytes / matmul.a_dtype.bytes();
    out.row = (ceil_div(depth, line) | 1) * line;  // rows begin in different sets of the cache
    out.elements = plan->rows * out.row;
  } else {
    out.column = ceil_div(plan->rows, plan->lanes) * plan->lanes;
    out.elements = depth * out.column;
  }
  return out;
}

Stmt copy_panel_a(const Matmul& matmul, const MatmulPlan& plan, const PanelA& shape, int64_t height,
                  const std::function<PrimExpr(const PrimExpr& i, const PrimExpr& k)>& element, const PrimExpr& depth,
                  const Buffer& panels, const PrimExpr& to) {
  const int64_t lanes = plan->lanes;
  if (matmul.a.column != 1)
    return loop_over("k", depth, [&](const PrimExpr& k) {
      std::vector<Stmt> parts;
      for (int64_t i = 0; i < height; i += lanes) {
        PrimExpr value = load_vector(matmul.a.flat, element(number(i), k), lanes, height - i);
        parts.push_back(store_vector(panels, to + k * number(shape.column) + number(i), value));
      }
      return sequence(parts);
    });
  const int64_t* known = as_int(depth);
  const bool is_whole = known && *known % lanes == 0, has_rest = matmul.k % matmul.group != 0;
  return loop_over("i", number(height), [&](const PrimExpr& i) {
    PrimExpr row = to + i * number(shape.row);
    return loop_over("vector", floordiv(depth + number(lanes - 1), number(lanes)), [&](const PrimExpr& vector) {
      return loop_over(
          "lane", number(lanes),
          [&](const PrimExpr& lane) {
            PrimExpr at = vector * number(lanes) + lane;
            PrimExpr value = make_load(matmul.a.flat, {element(i, at)});
            if (!is_whole && has_rest) value = if_then_else(at < depth, value, make_zero(value.dtype()));
            Stmt store = make(BufferStore{.buffer = panels, .value = value, .indices = {row + at}});
            if (is_whole || has_rest) return store;
            return Stmt(make(IfThenElse{.condition = likely(at < depth), .then_case = store}));
          },
          LoopKind::Vectorized);
    });
  });
}

}  // namespace tessera::topi

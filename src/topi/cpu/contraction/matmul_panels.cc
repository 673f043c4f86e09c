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

PrimExpr depth_of(const Matmul& matmul) { return matmul.dynamic_k ? matmul.dynamic_k : number(matmul.k); }

/// Neighbours along k of columns that lie together: elements of so many rows, each shifted to its part of a lane of 32 bits.
PrimExpr interleaved(const std::vector<PrimExpr>& rows) {
  const DataType dtype = rows[0].dtype(), lane = DataType::UInt(32).with_lanes(dtype.lanes);
  PrimExpr out;
  for (size_t r = 0; r < rows.size(); ++r) {
    PrimExpr bits = cast(lane, reinterpret(DataType::UInt(dtype.bits).with_lanes(dtype.lanes), rows[r]));
    if (r > 0) bits = bits << make_broadcast(make_const(DataType::UInt(32), int64_t(r) * dtype.bits), dtype.lanes);
    out = out ? out | bits : bits;
  }
  return out;
}

Stmt interleaved_groups(const Matmul& matmul, const GroupPanel& panel, const Buffer& panels, const PrimExpr& to) {
  const int64_t lanes = panel.lanes, group = matmul.group, row = panel.vectors * lanes * group;
  const PrimExpr depth = depth_of(matmul), whole = floordiv(depth, number(group)),
                 rest = floormod(depth, number(group));
  auto step = [&](const PrimExpr& at, const PrimExpr& there) {
    std::vector<Stmt> parts;
    for (int64_t v = 0; v < panel.vectors; ++v) {
      std::vector<PrimExpr> rows;
      for (int64_t r = 0; r < group; ++r) {
        const PrimExpr used = v + 1 < panel.vectors ? number(lanes) : panel.used;
        const PrimExpr first = matmul.b.at(panel.base, at * number(group) + number(r), panel.j0 + number(v * lanes));
        const int64_t* known = there ? as_int(there) : nullptr;
        const bool is_beyond = known && r >= *known;
        rows.push_back(load_vector(matmul.b.flat, first, lanes,
                                   is_beyond         ? number(0)
                                   : there && !known ? select(number(r) < there, used, number(0))
                                                     : used));
      }
      const PrimExpr bytes = reinterpret(matmul.b_dtype.with_lanes(static_cast<int>(lanes * group)), interleaved(rows));
      parts.push_back(store_vector(panels, to + at * number(row) + number(v * lanes * group), bytes));
    }
    return sequence(parts);
  };
  Stmt all = loop_over("k", whole, [&](const PrimExpr& k) { return step(k, PrimExpr()); });
  if (const int64_t* known = as_int(rest)) return *known == 0 ? all : sequence({all, step(whole, rest)});
  return sequence({all, make(IfThenElse{.condition = rest > 0, .then_case = step(whole, rest)})});
}

/// Groups are what is transposed, by squares.
Stmt transposed_groups(const Matmul& matmul, bool interleaves, const GroupPanel& panel, const Buffer& panels,
                       const PrimExpr& to) {
  const int64_t lanes = panel.lanes, group = matmul.group, elements = lanes * group, row = panel.vectors * elements;
  const PrimExpr depth = depth_of(matmul), last = (matmul.dynamic_n ? matmul.dynamic_n : number(matmul.n)) - 1;
  const DataType lane = DataType::Int(32).with_lanes(static_cast<int>(lanes));
  const int64_t* all_used = as_int(panel.used);
  const bool sticks_out = !all_used || *all_used < lanes;
  auto square = [&](const PrimExpr& v, const PrimExpr& k, const PrimExpr& there, int64_t stored) {
    std::vector<PrimExpr> vectors;
    for (int64_t r = 0; r < lanes; ++r) {
      PrimExpr j = panel.j0 + v * number(lanes) + number(r);
      if (sticks_out) j = min(j, last);
      const PrimExpr first = matmul.b.at(panel.base, k * number(elements), j);
      vectors.push_back(reinterpret(lane, load_vector(matmul.b.flat, first, elements, there)));
    }
    return transposed(vectors, interleaves, [&](const std::vector<PrimExpr>& columns) {
      std::vector<Stmt> stores;
      for (int64_t s = 0; s < stored; ++s) {
        const PrimExpr index = to + (k * number(lanes) + number(s)) * number(row) + v * number(elements);
        stores.push_back(store_vector(
            panels, index,
            reinterpret(matmul.b_dtype.with_lanes(static_cast<int>(elements)), columns[static_cast<size_t>(s)])));
      }
      return sequence(stores);
    });
  };
  return loop_over("vector", number(panel.vectors), [&](const PrimExpr& v) {
    const PrimExpr whole = floordiv(depth, number(elements)), rest = floormod(depth, number(elements));
    Stmt squares = loop_over("k", whole, [&](const PrimExpr& k) { return square(v, k, number(elements), lanes); });
    const int64_t* known = as_int(rest);
    if (known && *known == 0) return squares;
    Stmt tail = square(v, whole, rest, known ? ceil_div(*known, group) : lanes);
    if (!known) tail = make(IfThenElse{.condition = rest > 0, .then_case = tail});
    return sequence({squares, tail});
  });
}

}  // namespace

PrimExpr group_panel_elements(const Matmul& matmul, const GroupPanel& panel) {
  const int64_t row = panel.vectors * panel.lanes * matmul.group;
  if (!matmul.dynamic_k) return number(matmul.steps() * row);
  const int64_t square = panel.lanes * matmul.group;
  return (floordiv(matmul.dynamic_k, number(square)) + 1) * number(panel.lanes * row);
}

Stmt copy_group_panel(const Matmul& matmul, const Machine& machine, const GroupPanel& panel, const Buffer& panels,
                      const PrimExpr& to) {
  return matmul.b.column == 1 ? interleaved_groups(matmul, panel, panels, to)
                              : transposed_groups(matmul, interleaves_vectors(machine), panel, panels, to);
}

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

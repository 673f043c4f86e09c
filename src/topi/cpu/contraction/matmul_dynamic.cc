// Matmuls of two inputs whose extents are known only at run time; matmul_nest.h shows the loops.

#include <algorithm>

#include "ir/prim/ops.h"
#include "tir/parallel.h"
#include "topi/cpu/contraction/matmul_panels.h"
#include "topi/cpu/contraction/micro_kernel.h"
#include "topi/cpu/cost_model.h"
#include "topi/cpu/number.h"

namespace tessera::topi {
namespace {

const DataType kInt32 = DataType::Int(32), kInt64 = DataType::Int(64);

PrimExpr or_number(const PrimExpr& dynamic, int64_t value) { return dynamic ? dynamic : number(value); }
PrimExpr tiles_of(const PrimExpr& extent, int64_t size) { return floordiv(extent + number(size - 1), number(size)); }

/// `body` of a value that is computed once: simplification would write a variable out wherever it is used.
Stmt computed_once(const char* name, const PrimExpr& value, const std::function<Stmt(const PrimExpr&)>& body) {
  if (value.as<IntImm>()) return body(value);
  Buffer cell = decl_buffer({1}, value.dtype(), name, "local");
  Stmt store = make(BufferStore{.buffer = cell, .value = value, .indices = {0}});
  return allocated(cell, sequence({store, body(make_load(cell, {0}))}));
}

class DynamicNest {
 public:
  DynamicNest(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine)
      : matmul_(matmul),
        plan_(plan),
        machine_(machine),
        dot_(*dot_on(machine, matmul.a_dtype, matmul.b_dtype)),
        isa_(matmul_isa(machine, matmul.a_dtype)),
        batch_(or_number(matmul.dynamic_batch, matmul.batch)),
        rows_(or_number(matmul.dynamic_m, matmul.m)),
        columns_(or_number(matmul.dynamic_n, matmul.n)),
        depth_(or_number(matmul.dynamic_k, matmul.k)) {
    if (plan->packs_a)
      packed_a_ = decl_buffer({number(rows_of_block()) * row_of_a()}, matmul.a_dtype, "rows_a", "global");
  }

  Stmt run() {
    if (plan_->by_dots) return by_dots(plan_->rows);
    if (plan_->dot_rows < 1) return by_panels();
    return make(IfThenElse{.condition = rows_ <= number(plan_->dot_rows),
                           .then_case = by_dots(plan_->dot_rows),
                           .else_case = by_panels()});
  }

 private:
  /// The matrices of one element of the batch.
  struct Bases {
    PrimExpr a, b;
  };

  // ---- tasks -----------------------------------------------------------------------------------------------------------

  /// for batch x outer x inner, in parallel where there is enough to do: body(batch, outer, inner)
  Stmt for_each(const PrimExpr& outer, const PrimExpr& inner,
                const std::function<Stmt(const PrimExpr&, const PrimExpr&, const PrimExpr&)>& body) const {
    const PrimExpr count = batch_ * outer * inner;
    auto one = [&](const PrimExpr& index) {
      return computed_once("task", index, [&](const PrimExpr& task) {
        return computed_once("rest", floordiv(task, inner), [&](const PrimExpr& rest) {
          return computed_once("batch", floordiv(rest, outer), [&](const PrimExpr& batch) {
            return body(batch, floormod(rest, outer), floormod(task, inner));
          });
        });
      });
    };
    if (!plan_->is_parallel) return loop_over("task", count, one);
    PrimExpr steps = cast(kInt64, batch_) * cast(kInt64, rows_) * cast(kInt64, columns_) * cast(kInt64, depth_);
    const PrimExpr is_shared = steps >= make_const(kInt64, ParallelThreshold::matmul);
    Var share = make_var("share", kInt32);
    const PrimExpr each = select(is_shared, PrimExpr(1), count);
    Stmt tasks = loop_over("task", each, [&](const PrimExpr& task) { return one(share * each + task); });
    return make(For{.loop_var = share,
                    .min = 0,
                    .extent = select(is_shared, count, PrimExpr(1)),
                    .kind = LoopKind::Parallel,
                    .body = tasks,
                    .annotations = {{attr::kMinParallelExtent, int_imm(kInt32, 2)}}});
  }

  /// What a task begins with: rows, columns, and the matrices.
  Stmt task(const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column,
            const std::function<Stmt(const PrimExpr& i0, const PrimExpr& j0, const Bases& bases)>& body) const {
    return computed_once("row", row, [&](const PrimExpr& i0) {
      return computed_once("column", column, [&](const PrimExpr& j0) {
        return computed_once("base_a", matmul_.base(matmul_.a, batch), [&](const PrimExpr& a) {
          return computed_once("base_b", matmul_.base(matmul_.b, batch),
                               [&](const PrimExpr& b) { return body(i0, j0, {a, b}); });
        });
      });
    });
  }

  // ---- vectors along n ---------------------------------------------------------------------------------------------------

  Stmt by_panels() const {
    const int64_t width = int64_t{plan_->vectors} * plan_->lanes, height = rows_of_block();
    return for_each(tiles_of(columns_, width), tiles_of(rows_, height),
                    [&](const PrimExpr& batch, const PrimExpr& panel, const PrimExpr& block) {
                      return task(batch, block * number(height), panel * number(width),
                                  [&](const PrimExpr& i0, const PrimExpr& j0, const Bases& bases) {
                                    Stmt body = one_panel(batch, bases, i0, j0);
                                    if (!packed_a_) return body;
                                    return allocated(packed_a_, sequence({copy_a(bases, i0), body}));
                                  });
                    });
  }

  int64_t rows_of_block() const { return int64_t{plan_->block_rows} * plan_->rows; }

  /// Rows of A that are copied begin in whole cache lines, and have zeros behind the last element of k.
  int64_t line() const { return machine_->cache_line_bytes / matmul_.a_dtype.bytes(); }
  PrimExpr row_of_a() const { return (floordiv(depth_, number(line())) + 1) * number(line()); }
  Stmt copy_a(const Bases& bases, const PrimExpr& i0) const {
    return loop_over("i", min(rows_ - i0, number(rows_of_block())), [&](const PrimExpr& i) {
      auto copy = [&](const PrimExpr& at, const PrimExpr& used) {
        const PrimExpr k = at * number(line());
        PrimExpr value = load_vector(matmul_.a.flat, matmul_.a.at(bases.a, i0 + i, k), line(), used);
        return store_vector(packed_a_, i * row_of_a() + k, value);
      };
      const PrimExpr whole = floordiv(depth_, number(line()));
      Stmt lines = loop_over("line", whole, [&](const PrimExpr& at) { return copy(at, number(line())); });
      return sequence({lines, copy(whole, floormod(depth_, number(line())))});
    });
  }

  Stmt one_panel(const PrimExpr& batch, const Bases& bases, const PrimExpr& i0, const PrimExpr& j0) const {
    const int64_t lanes = plan_->lanes, width = plan_->vectors * lanes;
    const PrimExpr left = columns_ - j0;
    Stmt whole = columns(batch, bases, i0, j0, plan_->vectors, nullptr);
    if (!matmul_.dynamic_n && matmul_.n % width == 0) return whole;
    Stmt tail = loop_over("vector", tiles_of(left, lanes), [&](const PrimExpr& vector) {
      const PrimExpr j = j0 + vector * number(lanes);
      return columns(batch, bases, i0, j, 1, min(columns_ - j, number(lanes)));
    });
    return make(IfThenElse{.condition = left >= number(width), .then_case = whole, .else_case = tail});
  }

  /// A block of rows by so many vectors of columns from j0 on; of a single one `used` lanes are there, or all.
  Stmt columns(const PrimExpr& batch, const Bases& bases, const PrimExpr& i0, const PrimExpr& j0, int64_t vectors,
               const PrimExpr& used) const {
    const int64_t lanes = plan_->lanes;
    const GroupPanel groups{vectors, lanes, used ? used : number(lanes), bases.b, j0};
    Buffer packed;
    if (matmul_.copies_groups())
      packed = decl_buffer({group_panel_elements(matmul_, groups)}, matmul_.b_dtype, "panel_b", "global");
    else if (plan_->packs_b)
      packed = decl_buffer({max(tiles_of(depth_, lanes), PrimExpr(1)) * number(vectors * lanes * lanes)},
                           matmul_.b_dtype, "panel_b", "global");
    const PrimExpr last = min(i0 + number(rows_of_block()), rows_);
    Stmt tiles = loop_over("row", tiles_of(last - i0, plan_->rows), [&](const PrimExpr& row) {
      const PrimExpr i = i0 + row * number(plan_->rows);
      return by_height(rows_ - i, plan_->rows, [&](int64_t height, bool is_tail) {
        return tile(batch, bases, i0, i, j0, {height, vectors, lanes, lanes, lanes}, is_tail, used, packed);
      });
    });
    if (!packed) return tiles;
    Stmt copy = matmul_.copies_groups() ? copy_group_panel(matmul_, machine_, groups, packed, number(0))
                                        : copy_b(bases, j0, vectors, used, packed);
    return allocated(packed, sequence({copy, tiles}));
  }

  /// The code for tiles of each height. Of a tail, fewer rows may be there than it has.
  Stmt by_height(const PrimExpr& left, int64_t height,
                 const std::function<Stmt(int64_t height, bool is_tail)>& tile_of) const {
    if (!matmul_.dynamic_m && matmul_.m % height == 0) return tile_of(height, false);
    Stmt tail = tile_of(height, true);
    for (size_t i = std::size(kTailHeights); i-- > 0;)
      if (kTailHeights[i] < height)
        tail = make(IfThenElse{.condition = left <= number(kTailHeights[i]),
                               .then_case = tile_of(kTailHeights[i], true),
                               .else_case = tail});
    return make(
        IfThenElse{.condition = left >= number(height), .then_case = tile_of(height, false), .else_case = tail});
  }

  /// Columns that lie together become rows of vectors, by squares; beyond the last element of k there are zeros, beyond the last
  /// column the last one again.
  Stmt copy_b(const Bases& bases, const PrimExpr& j0, int64_t vectors, const PrimExpr& used, const Buffer& to) const {
    const int64_t lanes = plan_->lanes, width = vectors * lanes;
    if (matmul_.b.column == 1)
      return loop_over("k", depth_, [&](const PrimExpr& k) {
        std::vector<Stmt> parts;
        for (int64_t v = 0; v < vectors; ++v)
          parts.push_back(store_vector(to, k * number(width) + number(v * lanes),
                                       b_vector(bases, j0 + number(v * lanes), k, used)));
        return sequence(parts);
      });
    auto square = [&](const PrimExpr& v, const PrimExpr& k0, const PrimExpr& elements) {
      std::vector<PrimExpr> vectors_along_k;
      for (int64_t r = 0; r < lanes; ++r) {
        PrimExpr j = j0 + v * number(lanes) + number(r);
        if (used) j = min(j, columns_ - 1);
        vectors_along_k.push_back(load_vector(matmul_.b.flat, matmul_.b.at(bases.b, k0, j), lanes, elements));
      }
      return transposed(vectors_along_k, interleaves_vectors(machine_), [&](const std::vector<PrimExpr>& rows) {
        std::vector<Stmt> stores;
        for (int64_t k = 0; k < lanes; ++k)
          stores.push_back(
              store_vector(to, (k0 + number(k)) * number(width) + v * number(lanes), rows[static_cast<size_t>(k)]));
        return sequence(stores);
      });
    };
    return loop_over("vector", number(vectors), [&](const PrimExpr& v) {
      const PrimExpr whole = floordiv(depth_, number(lanes)), first = whole * number(lanes);
      Stmt squares =
          loop_over("k", whole, [&](const PrimExpr& k) { return square(v, k * number(lanes), number(lanes)); });
      if (!matmul_.dynamic_k && matmul_.k % lanes == 0) return squares;
      Stmt rest = square(v, first, depth_ - first);
      if (matmul_.dynamic_k) rest = make(IfThenElse{.condition = first < depth_, .then_case = rest});
      return sequence({squares, rest});
    });
  }

  PrimExpr b_vector(const Bases& bases, const PrimExpr& j, const PrimExpr& k, const PrimExpr& used) const {
    return load_vector(matmul_.b.flat, matmul_.b.at(bases.b, k, j), plan_->lanes, used ? used : number(plan_->lanes));
  }

  /// An element of A, or a group of them seen as int32; `first` is the first row of the block.
  PrimExpr a_element(const Bases& bases, const PrimExpr& first, const PrimExpr& row, const PrimExpr& k) const {
    const int64_t group = matmul_.group;
    const PrimExpr at =
        packed_a_ ? (row - first) * row_of_a() + k * number(group) : matmul_.a.at(bases.a, row, k * number(group));
    const Buffer& from = packed_a_ ? packed_a_ : matmul_.a.flat;
    if (group == 1) return make_load(from, {at});
    return reinterpret(kInt32, load_vector(from, at, group, group));
  }

  /// Of the block of rows that begins with `first`.
  Stmt tile(const PrimExpr& batch, const Bases& bases, const PrimExpr& first, const PrimExpr& i0, const PrimExpr& j0,
            const TileSize& size, bool is_tail, const PrimExpr& used, const Buffer& packed) const {
    OuterTile out;
    out.dtype = matmul_.dtype;
    out.size = size;
    out.depth = tiles_of(depth_, matmul_.group);
    out.a = [&](int64_t i, const PrimExpr& k) {
      return a_element(bases, first, is_tail ? min(i0 + number(i), rows_ - 1) : i0 + number(i), k);
    };
    out.b = [&](const PrimExpr& k, int64_t v) {
      if (!packed) return b_vector(bases, j0 + number(v * size.lanes), k, used);
      const int64_t lanes = size.lanes * matmul_.group;
      PrimExpr vector = load_vector(packed, k * number(size.vectors * lanes) + number(v * lanes), lanes, lanes);
      return matmul_.group == 1 ? vector : reinterpret(kInt32.with_lanes(static_cast<int>(size.lanes)), vector);
    };
    out.multiply_add = [&](const PrimExpr& sum, const PrimExpr& a, const PrimExpr& b) {
      return multiply_add(dot_, isa_, sum, a, b);
    };
    auto store_row = [&](const PrimExpr& i, const Buffer& sums, const PrimExpr& first) {
      std::vector<Stmt> parts;
      for (int64_t v = 0; v < size.vectors; ++v)
        parts.push_back(loop_over(
            "lane", number(size.lanes),
            [&](const PrimExpr& lane) {
              PrimExpr value = make_load(sums, {first + number(v * size.lanes) + lane});
              Stmt store = matmul_.store(batch, i, j0 + number(v * size.lanes) + lane, value);
              return used ? Stmt(make(IfThenElse{.condition = likely(lane < used), .then_case = store})) : store;
            },
            LoopKind::Vectorized));
      return sequence(parts);
    };
    const int64_t row = size.vectors * size.lanes;
    if (!is_tail && !matmul_.stores_by_functions()) {
      out.use = [&](const Buffer& sums) {
        std::vector<Stmt> rows;
        for (int64_t i = 0; i < size.rows; ++i) rows.push_back(store_row(i0 + number(i), sums, number(i * row)));
        return sequence(rows);
      };
      return outer_tile(out);
    }
    Buffer aside = decl_buffer({number(size.rows * row)}, matmul_.dtype, "tile", "local");
    out.use = [&](const Buffer& sums) {
      std::vector<Stmt> copies;
      for (int64_t at = 0; at < size.rows * row; at += size.lanes)
        copies.push_back(store_vector(aside, number(at), load_vector(sums, number(at), size.lanes, size.lanes)));
      copies.push_back(loop_over("i", is_tail ? rows_ - i0 : number(size.rows),
                                 [&](const PrimExpr& i) { return store_row(i0 + i, aside, i * number(row)); }));
      return sequence(copies);
    };
    return allocated(aside, outer_tile(out));
  }

  // ---- vectors along k -------------------------------------------------------------------------------------------------

  /// Tiles of `most` rows; where a single one is there, of that.
  Stmt by_dots(int64_t most) const {
    const int64_t width = int64_t{plan_->block_columns} * plan_->columns;
    auto tiles = [&](const PrimExpr& batch, const Bases& bases, const PrimExpr& i0, const PrimExpr& first) {
      const PrimExpr count = tiles_of(min(number(width), columns_ - first), plan_->columns);
      return loop_over("column", count, [&](const PrimExpr& column) {
        const PrimExpr j0 = first + column * number(plan_->columns);
        Stmt several = dots(batch, bases, i0, j0, most);
        if (most == 1) return several;
        Stmt single = dots(batch, bases, i0, j0, 1);
        return Stmt(make(IfThenElse{.condition = rows_ - i0 <= 1, .then_case = single, .else_case = several}));
      });
    };
    return for_each(tiles_of(columns_, width), tiles_of(rows_, most),
                    [&](const PrimExpr& batch, const PrimExpr& block, const PrimExpr& row) {
                      return task(batch, row * number(most), block * number(width),
                                  [&](const PrimExpr& i0, const PrimExpr& first, const Bases& bases) {
                                    return tiles(batch, bases, i0, first);
                                  });
                    });
  }

  /// Rows and columns beyond the last are computed from it, and not stored.
  Stmt dots(const PrimExpr& batch, const Bases& bases, const PrimExpr& i0, const PrimExpr& j0, int64_t height) const {
    const int64_t lanes = plan_->lanes, width = plan_->columns;
    DotTile out;
    out.dtype = matmul_.dtype;
    out.rows = height;
    out.columns = width;
    out.lanes = lanes;
    out.depth = depth_;
    out.a = [&](int64_t i, const PrimExpr& k, const PrimExpr& used) {
      const PrimExpr row = height == 1 ? i0 : min(i0 + number(i), rows_ - 1);
      return load_vector(matmul_.a.flat, matmul_.a.at(bases.a, row, k), lanes, used);
    };
    out.b = [&](int64_t j, const PrimExpr& k, const PrimExpr& used) {
      return load_vector(matmul_.b.flat, matmul_.b.at(bases.b, k, min(j0 + number(j), columns_ - 1)), lanes, used);
    };
    Buffer aside = decl_buffer({number(height * width)}, matmul_.dtype, "tile", "local");
    out.use = [&](const std::function<PrimExpr(int64_t, int64_t)>& sum) {
      std::vector<Stmt> parts;
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j)
          parts.push_back(make(BufferStore{.buffer = aside, .value = sum(i, j), .indices = {number(i * width + j)}}));
      parts.push_back(loop_over("i", min(number(height), rows_ - i0), [&](const PrimExpr& i) {
        return loop_over("j", min(number(width), columns_ - j0), [&](const PrimExpr& j) {
          return matmul_.store(batch, i0 + i, j0 + j, make_load(aside, {i * number(width) + j}));
        });
      }));
      return sequence(parts);
    };
    return allocated(aside, dot_tile(out));
  }

  const Matmul& matmul_;
  const MatmulPlan& plan_;
  const Machine& machine_;
  const Dot& dot_;
  const Isa& isa_;
  PrimExpr batch_, rows_, columns_, depth_;
  Buffer packed_a_;
};

}  // namespace

Stmt dynamic_nest(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine) {
  return DynamicNest(matmul, plan, machine).run();
}

}  // namespace tessera::topi

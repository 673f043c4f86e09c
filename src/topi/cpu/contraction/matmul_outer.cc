// Matmuls by tiles whose vectors lie along n; matmul_nest.h shows the loops.

#include <algorithm>

#include "ir/prim/ops.h"
#include "topi/cpu/contraction/matmul_panels.h"

namespace tessera::topi {
namespace {

PrimExpr number(int64_t value) { return PrimExpr(static_cast<int>(value)); }

class OuterNest {
 public:
  OuterNest(const Matmul& matmul, const MatmulPlan& plan)
      : matmul_(matmul), plan_(plan), panel_a_(panel_a(matmul, plan)) {
    width_ = plan.vectors * plan.lanes;
    panels_ = ceil_div(matmul.n, width_);
    full_ = matmul.n / width_;
    whole_ = {1, plan.vectors, plan.lanes, plan.lanes};
    if (const int64_t left = matmul.n - full_ * width_; left > 0) {
      const int64_t vectors = ceil_div(left, plan.lanes);
      tail_ = {1, vectors, plan.lanes, left - (vectors - 1) * plan.lanes};
    }
    const auto& strides = matmul.b.batch;
    const bool is_one = std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 0; });
    is_shared_ = plan.packs_b && is_one && (plan.parts_m > 1 || matmul.batch > 1);
    block_rows_ = std::min(plan.block_rows, ceil_div(plan.rows.tiles, plan.parts_m));
    block_panels_ = std::min(plan.block_columns, ceil_div(panels_, plan.parts_n));
  }

  Stmt run() {
    if (plan_.packs_b) {
      const int64_t kept = is_shared_ ? panels_ : block_panels_;
      packed_b_ = decl_buffer({number(kept * matmul_.k * width_)}, matmul_.dtype, "panels_b", "global");
    }
    Stmt tasks = for_tasks(matmul_, plan_, panels_, [&](const Task& task) { return part(task); });
    if (!is_shared_) return tasks;
    Stmt copies = loop_over(
        "panel", number(panels_), [&](const PrimExpr& panel) { return copy_b(panel, panel, PrimExpr(0)); },
        plan_.is_parallel ? LoopKind::Parallel : LoopKind::Serial);
    return allocated(packed_b_, sequence({copies, tasks}));
  }

 private:
  /// A tile of the result and what it is made of: numbers of the tile in all and in its block.
  struct Place {
    PrimExpr batch, row, row_in_block, panel, panel_in_block, k0, depth;
  };

  bool waits() const { return plan_.step < matmul_.k; }
  int64_t tile_elements() const { return plan_.rows.size * width_; }
  PrimExpr waiting_at(const PrimExpr& row, const PrimExpr& panel) const {
    return (panel * number(block_rows_) + row) * number(tile_elements());
  }

  /// The code for whole panels and for the last one.
  Stmt by_panel(const PrimExpr& panel, const std::function<Stmt(const TileSize&)>& tile_of) const {
    if (full_ == panels_) return tile_of(whole_);
    if (full_ == 0) return tile_of(tail_);
    return make(
        IfThenElse{.condition = panel < number(full_), .then_case = tile_of(whole_), .else_case = tile_of(tail_)});
  }

  Stmt copy_b(const PrimExpr& panel, const PrimExpr& to, const PrimExpr& base) const {
    return by_panel(panel, [&](const TileSize& size) {
      return copy_panel_b(matmul_, plan_, size, base, panel * number(width_), packed_b_,
                          to * number(matmul_.k * width_));
    });
  }

  Stmt part(const Task& task) {
    const int64_t rows = ceil_div(plan_.rows.tiles, plan_.parts_m), panels = ceil_div(panels_, plan_.parts_n);
    Stmt out = by_blocks("columns", task.columns, panels, plan_.block_columns, [&](const Span& block) {
      Stmt body = by_blocks("rows", task.rows, rows, plan_.block_rows,
                            [&](const Span& inner) { return all_of_k(task.batch, inner, block); });
      if (!plan_.packs_b || is_shared_) return body;
      PrimExpr base = matmul_.base(matmul_.b, task.batch);
      Stmt copies = loop_over("panel", block.count,
                              [&](const PrimExpr& panel) { return copy_b(block.first + panel, panel, base); });
      return sequence({copies, body});
    });
    return plan_.packs_b && !is_shared_ ? allocated(packed_b_, out) : out;
  }

  /// Some rows and panels.
  Stmt all_of_k(const PrimExpr& batch, const Span& rows, const Span& panels) {
    const int64_t sums = block_rows_ * block_panels_ * tile_elements();
    waiting_ = waits() ? decl_buffer({number(sums)}, matmul_.dtype, "waiting", "global") : Buffer();
    packed_a_ = Buffer();
    if (plan_.packs_a)
      packed_a_ = decl_buffer({number(block_rows_ * panel_a_.elements)}, matmul_.dtype, "panels_a", "global");
    Stmt out = loop_over("step", number(ceil_div(matmul_.k, plan_.step)),
                         [&](const PrimExpr& step) { return one_step(batch, rows, panels, step); });
    if (packed_a_) out = allocated(packed_a_, out);
    if (!waiting_) return out;
    Stmt clear = loop_over("sum", number(sums / plan_.lanes), [&](const PrimExpr& at) {
      PrimExpr zeros = make_broadcast(make_zero(matmul_.dtype), static_cast<int>(plan_.lanes));
      return store_vector(waiting_, at * number(plan_.lanes), zeros);
    });
    return allocated(waiting_, sequence({clear, out, store_waiting(batch, rows, panels)}));
  }

  Stmt one_step(const PrimExpr& batch, const Span& rows, const Span& panels, const PrimExpr& step) {
    PrimExpr k0 = step * number(plan_.step), depth = number(plan_.step);
    if (matmul_.k % plan_.step) depth = min(depth, number(matmul_.k) - k0);
    Stmt tiles = loop_over("panel", panels.count, [&](const PrimExpr& panel) {
      return loop_over("row", rows.count, [&](const PrimExpr& row) {
        Place at{batch, rows.first + row, row, panels.first + panel, panel, k0, depth};
        return by_panel(at.panel, [&](TileSize size) {
          return by_size(plan_.rows, at.row, [&](int64_t height) {
            size.rows = height;
            return tile(size, at);
          });
        });
      });
    });
    if (!packed_a_) return tiles;
    PrimExpr base = matmul_.base(matmul_.a, batch);
    Stmt copies = loop_over("row", rows.count, [&](const PrimExpr& row) {
      PrimExpr tile_row = rows.first + row;
      return by_size(plan_.rows, tile_row, [&](int64_t height) {
        return copy_panel_a(matmul_, plan_, base, height, start_of(plan_.rows, tile_row), k0, depth, packed_a_,
                            row * number(panel_a_.elements));
      });
    });
    return sequence({copies, tiles});
  }

  Stmt tile(const TileSize& size, const Place& at) const {
    OuterTile out;
    out.dtype = matmul_.dtype;
    out.size = size;
    out.depth = at.depth;
    const PrimExpr i0 = start_of(plan_.rows, at.row), j0 = at.panel * number(width_);
    const PrimExpr base_a = matmul_.base(matmul_.a, at.batch), base_b = matmul_.base(matmul_.b, at.batch);
    out.a = [&](int64_t i, const PrimExpr& k) {
      if (!packed_a_) return make_load(matmul_.a.flat, {matmul_.a.at(base_a, i0 + number(i), at.k0 + k)});
      PrimExpr panel = at.row_in_block * number(panel_a_.elements);
      return make_load(packed_a_, {panel + number(i * panel_a_.row) + k * number(panel_a_.column)});
    };
    out.b = [&](const PrimExpr& k, int64_t v) {
      const int64_t lanes = size.lanes_of(v), used = v + 1 < size.vectors ? lanes : size.rest;
      if (!packed_b_)
        return load_vector(matmul_.b.flat, matmul_.b.at(base_b, at.k0 + k, j0 + number(v * size.lanes)), lanes, used);
      PrimExpr panel = (is_shared_ ? at.panel : at.panel_in_block) * number(matmul_.k * width_);
      PrimExpr row = (at.k0 + k) * number(size.vectors * size.lanes);
      return load_vector(packed_b_, panel + row + number(v * size.lanes), lanes, lanes);
    };
    if (plan_.b_is_far) out.beside = [&](const PrimExpr& k) { return bring_next_panel_near(at, k); };
    if (waiting_) {
      PrimExpr place = waiting_at(at.row_in_block, at.panel_in_block);
      out.first = [&, place](int64_t i, int64_t v) {
        const int64_t lanes = size.lanes_of(v);
        return load_vector(waiting_, place + number((i * size.vectors + v) * size.lanes), lanes, lanes);
      };
      out.use = [&, place](const Buffer& sums) { return copy_sums(size, sums, waiting_, place); };
      return outer_tile(out);
    }
    out.before = bring_result_near(at.batch, size, i0, j0);
    if (!matmul_.stores_by_functions()) {
      out.use = [&](const Buffer& sums) {
        std::vector<Stmt> rows;
        for (int64_t i = 0; i < size.rows; ++i)
          rows.push_back(store_row(at.batch, size, i0 + number(i), j0, sums, number(i * size.vectors * size.lanes)));
        return sequence(rows);
      };
      return outer_tile(out);
    }
    Buffer aside = decl_buffer({number(tile_elements())}, matmul_.dtype, "tile", "local");
    out.use = [&](const Buffer& sums) {
      Stmt rows = loop_over("i", number(size.rows), [&](const PrimExpr& i) {
        return store_row(at.batch, size, i0 + i, j0, aside, i * number(size.vectors * size.lanes));
      });
      return sequence({copy_sums(size, sums, aside, PrimExpr(0)), rows});
    };
    return allocated(aside, outer_tile(out));
  }

  /// Tiles of rows that use the same panel of B each ask for a part of the next one.
  Stmt bring_next_panel_near(const Place& at, const PrimExpr& k) const {
    const int64_t each = ceil_div(width_, block_rows_), panel = matmul_.k * width_;
    const int64_t kept = is_shared_ ? panels_ : block_panels_;
    PrimExpr next = (is_shared_ ? at.panel : at.panel_in_block) + 1;
    PrimExpr first = min(next, number(kept - 1)) * number(panel) + at.k0 * number(width_);
    PrimExpr step = at.row_in_block * number(plan_.step) + k;
    return brought_near(packed_b_, {first + step * number(each)}, false, Near::SecondLevel);
  }

  /// The result of a tile is on its way while sums are made.
  Stmt bring_result_near(const PrimExpr& batch, const TileSize& size, const PrimExpr& i0, const PrimExpr& j0) const {
    if (!plan_.result_is_far) return nullptr;
    std::vector<Stmt> lines;
    for (int64_t i = 0; i < size.rows; ++i)
      for (int64_t v = 0; v < size.vectors; ++v) {
        Stmt store = matmul_.store(batch, i0 + number(i), j0 + number(v * size.lanes), make_zero(matmul_.dtype));
        lines.push_back(brought_near(store.as<BufferStore>()->buffer, store.as<BufferStore>()->indices, true));
      }
    return sequence(lines);
  }

  static Stmt copy_sums(const TileSize& size, const Buffer& sums, const Buffer& to, const PrimExpr& first) {
    std::vector<Stmt> parts;
    for (int64_t i = 0; i < size.rows; ++i)
      for (int64_t v = 0; v < size.vectors; ++v) {
        const int64_t at = (i * size.vectors + v) * size.lanes, lanes = size.lanes_of(v);
        parts.push_back(store_vector(to, first + number(at), load_vector(sums, number(at), lanes, lanes)));
      }
    return sequence(parts);
  }

  Stmt store_waiting(const PrimExpr& batch, const Span& rows, const Span& panels) const {
    return loop_over("panel", panels.count, [&](const PrimExpr& panel) {
      return loop_over("row", rows.count, [&](const PrimExpr& row) {
        PrimExpr tile_row = rows.first + row, tile_panel = panels.first + panel, from = waiting_at(row, panel);
        PrimExpr height = number(plan_.rows.size);
        if (!plan_.rows.is_even()) height = select(tile_row < number(plan_.rows.longer), height, height - 1);
        return by_panel(tile_panel, [&](const TileSize& size) {
          return loop_over("i", height, [&](const PrimExpr& i) {
            return store_row(batch, size, start_of(plan_.rows, tile_row) + i, tile_panel * number(width_), waiting_,
                             from + i * number(size.vectors * size.lanes));
          });
        });
      });
    });
  }

  /// What is done with row `i` of a tile from column `j0` on, whose sums lie in `sums` from `first` on.
  Stmt store_row(const PrimExpr& batch, const TileSize& size, const PrimExpr& i, const PrimExpr& j0, const Buffer& sums,
                 const PrimExpr& first) const {
    std::vector<Stmt> parts;
    for (int64_t v = 0; v < size.vectors; ++v) {
      const int64_t lanes = size.lanes_of(v), used = v + 1 < size.vectors ? lanes : size.rest;
      parts.push_back(loop_over(
          "lane", number(lanes),
          [&](const PrimExpr& lane) {
            PrimExpr value = make_load(sums, {first + number(v * size.lanes) + lane});
            Stmt store = matmul_.store(batch, i, j0 + number(v * size.lanes) + lane, value);
            if (used >= lanes) return store;
            return Stmt(make(IfThenElse{.condition = likely(lane < number(used)), .then_case = store}));
          },
          LoopKind::Vectorized));
    }
    return sequence(parts);
  }

  const Matmul& matmul_;
  const MatmulPlan& plan_;
  PanelA panel_a_;
  int64_t width_ = 1, panels_ = 1, full_ = 1;  // columns of a panel; panels in all, and whole ones
  int64_t block_rows_ = 1, block_panels_ = 1;  // of one task
  TileSize whole_, tail_;
  bool is_shared_ = false;  // all tasks read the same copy of B
  Buffer packed_a_, packed_b_, waiting_;
};

}  // namespace

Stmt outer_nest(const Matmul& matmul, const MatmulPlan& plan) { return OuterNest(matmul, plan).run(); }

}  // namespace tessera::topi

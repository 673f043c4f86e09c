// Matmuls by tiles whose vectors lie along n; matmul_nest.h shows the loops.

#include <algorithm>

#include "ir/prim/ops.h"
#include "tir/parallel.h"
#include "topi/cpu/contraction/matmul_panels.h"
#include "topi/cpu/contraction/matrix_tile.h"
#include "topi/cpu/contraction/micro_kernel.h"
#include "topi/cpu/cost_model.h"
#include "topi/cpu/number.h"

namespace tessera::topi {
namespace {

/// How far ahead B is prefetched where too few tiles share a panel to prefetch the next one.
constexpr int64_t kAheadBytes = 4096;

const DataType kInt32 = DataType::Int(32), kInt64 = DataType::Int(64);

class OuterNest {
 public:
  OuterNest(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine)
      : matmul_(matmul),
        plan_(plan),
        machine_(machine),
        dot_(*dot_on(machine, matmul.a_dtype, matmul.b_dtype)),
        isa_(matmul_isa(machine, matmul.a_dtype)),
        panel_a_(panel_a(matmul, plan, machine)),
        rows_(matmul.m, plan->rows),
        matrix_rows_(matmul.is_dynamic() ? plan->rows : rows_.size) {
    width_ = plan->vectors * plan->lanes;
    panels_ = ceil_div(matmul.n, width_);
    full_ = matmul.n / width_;
    const int64_t min_lanes = has_panels() || matmul.copies_groups() ? plan->lanes : TileSize().min_lanes;
    whole_ = {1, plan->vectors, plan->lanes, plan->lanes, min_lanes};
    if (const int64_t left = matmul.n - full_ * width_; left > 0) {
      const int64_t vectors = ceil_div(left, plan->lanes);
      tail_ = {1, vectors, plan->lanes, left - (vectors - 1) * plan->lanes, min_lanes};
    }
    const auto& strides = matmul.b.batch;
    const bool is_one = std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 0; });
    is_shared_ = plan->packs_b && is_one && (plan->parts_m > 1 || matmul.batch > 1);
    block_rows_ = std::min<int64_t>(plan->block_rows, ceil_div(rows_.tiles, plan->parts_m));
    block_panels_ = std::min<int64_t>(plan->block_columns, ceil_div(panels_, plan->parts_n));
  }

  Stmt run() {
    if (matmul_.is_dynamic()) return dynamic_tasks();
    if (plan_->packs_b) {
      const int64_t count = is_shared_ ? panels_ : block_panels_;
      packed_b_ = decl_buffer({number(count * packed_elements())}, matmul_.b_dtype, "panels_b", "global");
    }
    Stmt tasks = for_tasks(matmul_, plan_, rows_.tiles, panels_, [&](const Task& task) { return part(task); });
    if (!is_shared_) return tasks;
    Stmt copies = loop_over(
        "panel", number(panels_), [&](const PrimExpr& panel) { return copy_b(panel, panel, PrimExpr(0)); },
        plan_->is_parallel ? LoopKind::Parallel : LoopKind::Serial);
    return allocated(packed_b_, sequence({copies, tasks}));
  }

 private:
  /// A tile of the result and what it is made of: numbers of the tile in all and in its block.
  struct Position {
    PrimExpr batch, row, row_in_block, panel, panel_in_block, k0, depth;
  };

  bool has_panels() const { return matmul_.b.panel > 0; }
  bool is_split() const { return plan_->step < matmul_.steps(); }
  int64_t packed_elements() const { return matmul_.steps() * matmul_.group * width_; }
  int64_t tile_elements() const { return plan_->rows * width_; }
  PrimExpr partial_at(const PrimExpr& row, const PrimExpr& panel) const {
    return (panel * number(block_rows_) + row) * number(tile_elements());
  }

  // ---- tiles of rows ---------------------------------------------------------------------------------------------------

  PrimExpr first_row(const PrimExpr& tile) const {
    return matmul_.is_dynamic() ? tile * number(plan_->rows) : start_of(rows_, tile);
  }
  /// The rows of a tile that are there.
  PrimExpr height_of(const PrimExpr& tile) const {
    const PrimExpr height = number(plan_->rows);
    if (matmul_.is_dynamic()) return min(height, matmul_.dynamic_m - first_row(tile));
    return rows_.is_even() ? number(rows_.size)
                           : select(tile < number(rows_.longer), number(rows_.size), number(rows_.size - 1));
  }
  /// The code for tiles of each height. Of a tail, fewer rows may be there than it has.
  Stmt by_height(const PrimExpr& tile, const std::function<Stmt(int64_t height, bool is_tail)>& tile_of) const {
    if (!matmul_.is_dynamic()) return by_size(rows_, tile, [&](int64_t height) { return tile_of(height, false); });
    const PrimExpr left = matmul_.dynamic_m - first_row(tile);
    Stmt tail = tile_of(plan_->rows, true);
    for (size_t i = std::size(kTailHeights); i-- > 0;)
      if (const int64_t height = kTailHeights[i]; height < plan_->rows)
        tail = make(
            IfThenElse{.condition = left <= number(height), .then_case = tile_of(height, true), .else_case = tail});
    return make(IfThenElse{
        .condition = left >= number(plan_->rows), .then_case = tile_of(plan_->rows, false), .else_case = tail});
  }
  /// The index of an element of A; beyond the last row that one is meant.
  PrimExpr a_index(const PrimExpr& batch, const PrimExpr& i, const PrimExpr& k, bool may_be_beyond) const {
    if (!matmul_.is_dynamic()) return matmul_.a.at(matmul_.base(matmul_.a, batch), i, k);
    const PrimExpr row = may_be_beyond ? min(i, matmul_.dynamic_m - 1) : i;
    return matmul_.a.at(make_const(kInt64, 0), cast(kInt64, row), cast(kInt64, k));
  }

  // ---- panels ----------------------------------------------------------------------------------------------------------

  /// The code for whole panels and for the last one.
  Stmt by_panel(const PrimExpr& panel, const std::function<Stmt(const TileSize&)>& tile_of) const {
    if (full_ == panels_) return tile_of(whole_);
    if (full_ == 0) return tile_of(tail_);
    return make(
        IfThenElse{.condition = panel < number(full_), .then_case = tile_of(whole_), .else_case = tile_of(tail_)});
  }

  Stmt copy_b(const PrimExpr& panel, const PrimExpr& to, const PrimExpr& base) const {
    const PrimExpr j0 = panel * number(width_), first = to * number(packed_elements());
    return by_panel(panel, [&](const TileSize& size) {
      if (!matmul_.copies_groups()) return copy_panel_b(matmul_, machine_, size, base, j0, packed_b_, first);
      return copy_group_panel(matmul_, machine_, {size.vectors, size.lanes, number(size.rest), base, j0}, packed_b_,
                              first);
    });
  }

  // ---- loops -----------------------------------------------------------------------------------------------------------

  /// for parts of columns: for tiles of rows, in parallel
  Stmt dynamic_tasks() {
    const PrimExpr tiles = floordiv(matmul_.dynamic_m + number(plan_->rows - 1), number(plan_->rows));
    Var task = make_var("task", kInt32);
    const Span columns = part_of(panels_, plan_->parts_n, floordiv(task, tiles));
    Stmt body = part({PrimExpr(0), {floormod(task, tiles), PrimExpr(1)}, columns});
    const int64_t each = plan_->rows * ceil_div(matmul_.n, plan_->parts_n) * matmul_.k;
    const int64_t least = std::max<int64_t>(2, ceil_div(ParallelThreshold::matmul, each));
    return make(For{.loop_var = task,
                    .min = 0,
                    .extent = tiles * number(plan_->parts_n),
                    .kind = LoopKind::Parallel,
                    .body = body,
                    .annotations = {{attr::kMinParallelExtent, int_imm(kInt32, least)}}});
  }

  Stmt part(const Task& task) {
    const int64_t rows = matmul_.is_dynamic() ? 1 : ceil_div(rows_.tiles, plan_->parts_m);
    const int64_t panels = ceil_div(panels_, plan_->parts_n);
    Stmt out = by_blocks("columns", task.columns, panels, plan_->block_columns, [&](const Span& block) {
      Stmt body = by_blocks("rows", task.rows, rows, plan_->block_rows,
                            [&](const Span& inner) { return all_of_k(task.batch, inner, block); });
      if (!plan_->packs_b || is_shared_) return body;
      PrimExpr base = matmul_.base(matmul_.b, task.batch);
      Stmt copies = loop_over("panel", block.count,
                              [&](const PrimExpr& panel) { return copy_b(block.first + panel, panel, base); });
      return sequence({copies, body});
    });
    if (plan_->by_matrix_tiles) out = with_matrix_registers(matrix_rows_, plan_->vectors, all_rows(), out);
    return plan_->packs_b && !is_shared_ ? allocated(packed_b_, out) : out;
  }

  /// Some rows and panels.
  Stmt all_of_k(const PrimExpr& batch, const Span& rows, const Span& panels) {
    const int64_t sums = block_rows_ * block_panels_ * tile_elements();
    partial_ = is_split() ? decl_buffer({number(sums)}, matmul_.dtype, "partial_sums", "global") : Buffer();
    packed_a_ = Buffer();
    if (plan_->packs_a)
      packed_a_ = decl_buffer({number(block_rows_ * panel_a_.elements)}, matmul_.a_dtype, "panels_a", "global");
    Stmt out = loop_over("step", number(ceil_div(matmul_.steps(), plan_->step)),
                         [&](const PrimExpr& step) { return one_step(batch, rows, panels, step); });
    if (packed_a_) out = allocated(packed_a_, out);
    if (!partial_) return out;
    Stmt clear = loop_over("sum", number(sums / plan_->lanes), [&](const PrimExpr& at) {
      PrimExpr zeros = make_broadcast(make_zero(matmul_.dtype), plan_->lanes);
      return store_vector(partial_, at * number(plan_->lanes), zeros);
    });
    return allocated(partial_, sequence({clear, out, store_partial(batch, rows, panels)}));
  }

  Stmt one_step(const PrimExpr& batch, const Span& rows, const Span& panels, const PrimExpr& step) {
    PrimExpr k0 = step * number(plan_->step), depth = number(plan_->step);
    if (matmul_.steps() % plan_->step) depth = min(depth, number(matmul_.steps()) - k0);
    Stmt tiles = loop_over("panel", panels.count, [&](const PrimExpr& panel) {
      return loop_over("row", rows.count, [&](const PrimExpr& row) {
        Position at{batch, rows.first + row, row, panels.first + panel, panel, k0, depth};
        return by_panel(at.panel, [&](TileSize size) {
          if (plan_->by_matrix_tiles) return by_matrix(size, at);
          return by_height(at.row, [&](int64_t height, bool is_tail) {
            size.rows = height;
            return tile(size, at, is_tail);
          });
        });
      });
    });
    return packed_a_ ? sequence({copy_a(batch, rows, k0, depth), tiles}) : tiles;
  }

  Stmt copy_a(const PrimExpr& batch, const Span& rows, const PrimExpr& k0, const PrimExpr& depth) const {
    const PrimExpr first = k0 * number(matmul_.group);
    PrimExpr elements = depth * number(matmul_.group);
    if (matmul_.k % matmul_.group) elements = min(elements, number(matmul_.k) - first);
    return loop_over("row", rows.count, [&](const PrimExpr& row) {
      const PrimExpr tile_row = rows.first + row, i0 = first_row(tile_row);
      auto element = [&](const PrimExpr& i, const PrimExpr& k) { return a_index(batch, i0 + i, first + k, true); };
      auto copy = [&](int64_t height) {
        return copy_panel_a(matmul_, plan_, panel_a_, height, element, elements, packed_a_,
                            row * number(panel_a_.elements));
      };
      return matmul_.is_dynamic() ? copy(plan_->rows) : by_size(rows_, tile_row, copy);
    });
  }

  // ---- one tile --------------------------------------------------------------------------------------------------------

  /// An element of A, or a group of them seen as int32.
  PrimExpr a_element(const Position& at, const PrimExpr& i0, int64_t i, const PrimExpr& k, bool is_tail) const {
    PrimExpr first;
    if (packed_a_) {
      PrimExpr panel = at.row_in_block * number(panel_a_.elements);
      first = panel + number(i * panel_a_.row) + k * number(panel_a_.column * matmul_.group);
    } else {
      first = a_index(at.batch, i0 + number(i), (at.k0 + k) * number(matmul_.group), is_tail);
    }
    const Buffer& from = packed_a_ ? packed_a_ : matmul_.a.flat;
    if (matmul_.group == 1) return make_load(from, {first});
    return reinterpret(kInt32, load_vector(from, first, matmul_.group, matmul_.group));
  }

  /// Where panels of B lie, packed beforehand or copied here, and the panel of a tile among them.
  const Buffer& panels_of_b() const { return has_panels() ? matmul_.b.flat : packed_b_; }
  bool has_all_panels() const { return has_panels() || is_shared_; }
  PrimExpr panel_at(const Position& at) const {
    return (has_all_panels() ? at.panel : at.panel_in_block) * number(packed_elements());
  }
  /// The panel after it; of the last one that itself.
  PrimExpr next_panel_at(const Position& at) const {
    const int64_t last = (has_all_panels() ? panels_ : block_panels_) - 1;
    return min((has_all_panels() ? at.panel : at.panel_in_block) + 1, number(last)) * number(packed_elements());
  }

  /// The elements of a step of k in a panel; the last one that is copied here may be narrower than the others.
  int64_t panel_row(const TileSize& size) const {
    return (has_panels() ? width_ : size.vectors * size.lanes) * matmul_.group;
  }

  /// A vector of B: of elements, widened where they are narrower than the sums, or of groups seen as int32.
  PrimExpr b_vector(const Position& at, const TileSize& size, const PrimExpr& k, int64_t v) const {
    const int64_t lanes = size.lanes_of(v), used = v + 1 < size.vectors ? lanes : size.rest;
    if (has_panels() || matmul_.copies_groups()) {
      const int64_t group = matmul_.group;
      PrimExpr first = panel_at(at) + (at.k0 + k) * number(panel_row(size)) + number(v * size.lanes * group);
      PrimExpr vector = load_vector(panels_of_b(), first, lanes * group, lanes * group);
      if (group > 1) return reinterpret(kInt32.with_lanes(static_cast<int>(lanes)), vector);
      return cast(matmul_.dtype.with_lanes(static_cast<int>(lanes)), vector);
    }
    if (packed_b_) {
      PrimExpr panel = panel_at(at);
      PrimExpr row = (at.k0 + k) * number(size.vectors * size.lanes);
      return load_vector(packed_b_, panel + row + number(v * size.lanes), lanes, lanes);
    }
    const PrimExpr base = matmul_.base(matmul_.b, at.batch), j = at.panel * number(width_) + number(v * size.lanes);
    return load_vector(matmul_.b.flat, matmul_.b.at(base, at.k0 + k, j), lanes, used);
  }

  Stmt tile(const TileSize& size, const Position& at, bool is_tail) const {
    OuterTile out;
    out.dtype = matmul_.dtype;
    out.size = size;
    out.depth = at.depth;
    const PrimExpr i0 = first_row(at.row), j0 = at.panel * number(width_);
    out.a = [&](int64_t i, const PrimExpr& k) { return a_element(at, i0, i, k, is_tail); };
    out.b = [&](const PrimExpr& k, int64_t v) { return b_vector(at, size, k, v); };
    out.multiply_add = [&](const PrimExpr& sum, const PrimExpr& a, const PrimExpr& b) {
      return multiply_add(dot_, isa_, sum, a, b);
    };
    if (static_cast<Prefetch>(plan_->prefetch_b) != Prefetch::None)
      out.beside = [&](const PrimExpr& k) { return prefetch_b(at, size, k); };
    if (partial_) {
      PrimExpr first = partial_at(at.row_in_block, at.panel_in_block);
      out.first = [&, first](int64_t i, int64_t v) {
        const int64_t lanes = size.lanes_of(v);
        return load_vector(partial_, first + number((i * size.vectors + v) * size.lanes), lanes, lanes);
      };
      out.use = [&, first](const Buffer& sums) { return copy_sums(size, sums, partial_, first); };
      return outer_tile(out);
    }
    if (plan_->prefetch_result) out.before = prefetch_result(at.batch, size, i0, j0);
    if (!is_tail && !matmul_.stores_by_functions()) {
      out.use = [&](const Buffer& sums) {
        std::vector<Stmt> rows;
        for (int64_t i = 0; i < size.rows; ++i)
          rows.push_back(store_row(at.batch, size, i0 + number(i), j0, sums, number(i * size.vectors * size.lanes)));
        return sequence(rows);
      };
      return outer_tile(out);
    }
    Buffer aside = decl_buffer({number(tile_elements())}, matmul_.dtype, "tile", "local");
    const PrimExpr height = is_tail ? matmul_.dynamic_m - i0 : number(size.rows);
    out.use = [&](const Buffer& sums) {
      Stmt rows = loop_over("i", height, [&](const PrimExpr& i) {
        return store_row(at.batch, size, i0 + i, j0, aside, i * number(size.vectors * size.lanes));
      });
      return sequence({copy_sums(size, sums, aside, PrimExpr(0)), rows});
    };
    return allocated(aside, outer_tile(out));
  }

  // ---- one tile in matrix registers ------------------------------------------------------------------------------------

  PrimExpr all_rows() const { return matmul_.is_dynamic() ? matmul_.dynamic_m : number(matmul_.m); }

  /// All tiles have the height that the registers are set up for: a lower one begins earlier, and does not store the rows that the
  /// tile before has stored.
  Stmt by_matrix(const TileSize& size, const Position& at) const {
    const int64_t row = size.vectors * size.lanes, group = matmul_.group, whole = matmul_.steps() / kMatrixGroups;
    const PrimExpr i0 = first_row(at.row), rows = number(matrix_rows_.rows);
    PrimExpr first = i0;
    if (matmul_.is_dynamic()) first = max(min(i0, all_rows() - rows), number(0));
    else if (!rows_.is_even()) first = min(i0, all_rows() - rows);
    Buffer sums = decl_buffer({number(matrix_rows_.rows * row)}, matmul_.dtype, "tile", "local");
    MatrixTile tile{.dot = &dot_, .rows = matrix_rows_, .vectors = size.vectors, .depth = number(whole)};
    tile.a = matmul_.a.flat, tile.b = panels_of_b(), tile.sums = sums;
    tile.a_stride = matmul_.a.row, tile.b_stride = panel_row(size), tile.sums_stride = row;
    tile.a_at = [&](int64_t index, const PrimExpr& k) {
      return a_index(at.batch, first + number(index * matrix_rows_.height), k * number(kMatrixGroups * group),
                     index > 0);
    };
    tile.b_at = [&](const PrimExpr& k, int64_t v) {
      return panel_at(at) + k * number(kMatrixGroups * panel_row(size)) + number(v * size.lanes * group);
    };
    if (static_cast<Prefetch>(plan_->prefetch_b) != Prefetch::None)
      tile.beside = [&](const PrimExpr& k) { return prefetch_next_panel(at, k); };
    std::vector<Stmt> parts{matrix_tile(tile, plan_->vectors)};
    if (matmul_.steps() % kMatrixGroups) parts.push_back(rest_of_matrix(size, at, first, sums));
    parts.push_back(loop_over("i", height_of(at.row), [&](const PrimExpr& i) {
      return store_row(at.batch, size, i0 + i, at.panel * number(width_), sums, (i0 - first + i) * number(row));
    }));
    return allocated(sums, sequence(parts));
  }

  /// Each tile of rows prefetches its share of the next panel, a few cache lines with each step of matrix registers.
  Stmt prefetch_next_panel(const Position& at, const PrimExpr& k) const {
    const int64_t row = width_ * matmul_.group, line = machine_->cache_line_bytes / matmul_.b_dtype.bytes();
    const int64_t lines = ceil_div(kMatrixGroups * row, line * block_rows_), whole = matmul_.steps() / kMatrixGroups;
    PrimExpr first = next_panel_at(at) + (at.row_in_block * number(whole) + k) * number(lines * line);
    std::vector<Stmt> out;
    for (int64_t i = 0; i < lines; ++i)
      out.push_back(prefetch(panels_of_b(), {first + number(i * line)}, false, Cache::L2));
    return sequence(out);
  }

  /// The last steps of k, which fill no register, are added row by row.
  Stmt rest_of_matrix(const TileSize& size, Position at, const PrimExpr& first, const Buffer& to) const {
    const int64_t row = size.vectors * size.lanes, whole = matmul_.steps() / kMatrixGroups * kMatrixGroups;
    at.k0 = number(whole);
    return loop_over("i", min(number(matrix_rows_.rows), all_rows()), [&](const PrimExpr& i) {
      OuterTile tile;
      tile.dtype = matmul_.dtype;
      tile.size = size;
      tile.size.rows = 1;
      tile.depth = number(matmul_.steps() - whole);
      tile.a = [&](int64_t, const PrimExpr& k) { return a_element(at, first + i, 0, k, false); };
      tile.b = [&](const PrimExpr& k, int64_t v) { return b_vector(at, size, k, v); };
      tile.multiply_add = [&](const PrimExpr& sum, const PrimExpr& a, const PrimExpr& b) {
        return multiply_add(dot_, isa_, sum, a, b);
      };
      tile.first = [&](int64_t, int64_t v) {
        return load_vector(to, i * number(row) + number(v * size.lanes), size.lanes_of(v), size.lanes_of(v));
      };
      tile.use = [&](const Buffer& sums) { return copy_sums(tile.size, sums, to, i * number(row)); };
      return outer_tile(tile);
    });
  }

  /// Tiles of rows that use the same panel of B each prefetch a part of the next one; where they are too few, what comes soon.
  Stmt prefetch_b(const Position& at, const TileSize& size, const PrimExpr& k) const {
    const Buffer& from = panels_of_b();
    const int64_t row = width_ * matmul_.group;
    if (static_cast<Prefetch>(plan_->prefetch_b) == Prefetch::NextPanel) {
      const int64_t each = ceil_div(row, block_rows_);
      PrimExpr first = next_panel_at(at) + at.k0 * number(row);
      PrimExpr step = at.row_in_block * number(plan_->step) + k;
      return prefetch(from, {first + step * number(each)}, false, Cache::L2);
    }
    std::vector<Stmt> lines;
    const int64_t bytes = matmul_.b_dtype.bytes(), line = machine_->cache_line_bytes / bytes;
    PrimExpr later = panel_at(at) + (at.k0 + k) * number(row) + number(kAheadBytes / bytes);
    for (int64_t j = 0; j < size.vectors * size.lanes * matmul_.group; j += line)
      lines.push_back(prefetch(from, {later + number(j)}, false, Cache::L2));
    return sequence(lines);
  }

  /// The result of a tile is on its way while sums are made.
  Stmt prefetch_result(const PrimExpr& batch, const TileSize& size, const PrimExpr& i0, const PrimExpr& j0) const {
    std::vector<Stmt> lines;
    for (int64_t i = 0; i < size.rows; ++i)
      for (int64_t v = 0; v < size.vectors; ++v) {
        Stmt store = matmul_.store(batch, i0 + number(i), j0 + number(v * size.lanes), make_zero(matmul_.dtype));
        lines.push_back(prefetch(store.as<BufferStore>()->buffer, store.as<BufferStore>()->indices, true));
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

  Stmt store_partial(const PrimExpr& batch, const Span& rows, const Span& panels) const {
    return loop_over("panel", panels.count, [&](const PrimExpr& panel) {
      return loop_over("row", rows.count, [&](const PrimExpr& row) {
        PrimExpr tile_row = rows.first + row, tile_panel = panels.first + panel, from = partial_at(row, panel);
        return by_panel(tile_panel, [&](const TileSize& size) {
          return loop_over("i", height_of(tile_row), [&](const PrimExpr& i) {
            return store_row(batch, size, first_row(tile_row) + i, tile_panel * number(width_), partial_,
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
  const Machine& machine_;
  const Dot& dot_;
  const Isa& isa_;
  PanelA panel_a_;
  EvenTiles rows_;                             // where they are no dynamic ones
  MatrixRows matrix_rows_;                     // of a tile in matrix registers
  int64_t width_ = 1, panels_ = 1, full_ = 1;  // columns of a panel; panels in all, and whole ones
  int64_t block_rows_ = 1, block_panels_ = 1;  // of one task
  TileSize whole_, tail_;
  bool is_shared_ = false;  // all tasks read the same copy of B
  Buffer packed_a_, packed_b_, partial_;
};

}  // namespace

Stmt outer_nest(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine) {
  return OuterNest(matmul, plan, machine).run();
}

}  // namespace tessera::topi

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "topi/cpu/borders.h"
#include "topi/cpu/contraction/register_tile.h"
#include "topi/cpu/number.h"
#include "topi/cpu/windows.h"

namespace tessera::topi {
namespace {

/// Window elements of a column that are unrolled.
constexpr int64_t kMaxUnrolledColumn = 27;

class Nest {
 public:
  explicit Nest(const Windows& windows)
      : windows_(windows),
        reduction_(windows.reduction),
        rows_(windows.knobs->rows),
        columns_(windows.columns()),
        row_(row_buffer(windows, columns_)) {}

  Stmt build() {
    const size_t along = windows_.along;
    std::vector<PrimExpr> extents;  // of axes that threads share
    for (size_t i = 0; i + 1 < along; ++i) extents.push_back(windows_.extent(i));
    const bool shares_rows = windows_.knobs->shares_rows;
    const PrimExpr height = windows_.height();
    const PrimExpr chunks = simplified(floordiv(height + number(rows_ - 1), number(rows_)));
    const size_t outer = extents.size();
    if (shares_rows) extents.push_back(chunks);
    int64_t elements = rows_ * likely_extent(windows_.extent(along)) * windows_.block();
    if (!shares_rows) elements *= likely_extent(chunks);
    Stmt out = shared_rows(extents, extents.size(), elements, [&](const std::vector<PrimExpr>& at) {
      indices_.assign(at.begin(), at.begin() + static_cast<long>(outer));
      auto chunk = [&](const PrimExpr& index) { return rows_at(index * number(rows_), height); };
      Stmt body = shares_rows ? chunk(at.back()) : loop_over("rows", chunks, chunk);
      return allocated(row_, sequence({borders(), body}));
    });
    auto* loop = out.as<For>();
    const bool is_parallel = windows_.knobs->is_parallel;
    if (!loop || windows_.is_dynamic()) return out;
    return with(loop, &For::kind, is_parallel ? LoopKind::Parallel : LoopKind::Serial);
  }

 private:
  static PrimExpr simplified(const PrimExpr& e) { return arith::Analyzer().simplify(e); }

  static Buffer row_buffer(const Windows& windows, const PrimExpr& columns) {
    const PrimExpr each = as_int(columns) ? columns : max(columns, number(1));
    const PrimExpr size = simplified(each * number(windows.knobs->rows * windows.block()));
    return decl_buffer({size}, windows.data.element.dtype(), "row", as_int(size) ? "local" : "global");
  }

  /// The columns beside the data, which stay as they are.
  Stmt borders() {
    if (!windows_.data.border) return make_nop();
    auto fill = [&](const PrimExpr& first, const PrimExpr& given) {
      const PrimExpr count = simplified(given);
      return is_zero(count) ? make_nop() : loop_over("row", number(rows_), [&](const PrimExpr& row) {
        return loop_over("beside", count * number(windows_.block()), [&](const PrimExpr& i) {
          return put(row_index(row, first, PrimExpr()) + i, windows_.data.border);
        });
      });
    };
    return sequence({fill(number(0), windows_.data.first), fill(windows_.data.end, columns_ - windows_.data.end)});
  }

  /// Rows of results from `first` on, as many as there are.
  Stmt rows_at(const PrimExpr& first, const PrimExpr& height) {
    if (windows_.along == 0) return sequence({columns_of(number(0)), results_of(number(0))});
    const PrimExpr count = as_int(height) ? number(rows_) : min(number(rows_), height - first);
    auto each = [&](Stmt (Nest::*part)(const PrimExpr&)) {
      return loop_over("row", count, [&](const PrimExpr& row) {
        indices_.push_back(first + row);
        Stmt out = (this->*part)(row);
        indices_.pop_back();
        return out;
      });
    };
    return sequence({each(&Nest::columns_of), each(&Nest::results_of)});
  }

  /// All columns of a row.
  Stmt columns_of(const PrimExpr& row) {
    if (windows_.window_column() > kMaxUnrolledColumn) return columns_in_memory(row);
    const std::vector<std::vector<PrimExpr>> offsets = column_offsets();
    auto columns = [&](const std::vector<PrimExpr>& conditions) {
      return for_columns([&](const PrimExpr& column, const PrimExpr& lane) {
        PrimExpr value;
        for (size_t i = 0; i < offsets.size(); ++i) {
          PrimExpr next = element(offsets[i], column, lane);
          if (!conditions.empty() && !is_one(conditions[i]))
            next = if_then_else(conditions[i], next, windows_.data.border);
          value = value ? combined(value, next) : next;
        }
        return put(row_index(row, column, lane), value);
      });
    };
    PrimExpr inside = bool_imm(true);
    std::vector<PrimExpr> each;
    for (const std::vector<PrimExpr>& offset : offsets) {
      each.push_back(is_inside(offset));
      inside = logical_and(inside, each.back());
    }
    if (is_one(inside)) return columns({});
    return make(IfThenElse{.condition = inside, .then_case = columns({}), .else_case = columns(each)});
  }

  /// The same, one row of the data after the other: row[column] = combined(row[column], data).
  Stmt columns_in_memory(const PrimExpr& row) {
    const PrimExpr& identity = reduction_.block->init.as<BufferStore>()->value;
    Stmt start = for_columns(
        [&](const PrimExpr& column, const PrimExpr& lane) { return put(row_index(row, column, lane), identity); });
    std::vector<PrimExpr> offset;
    auto add = [&](bool is_data) {
      return for_columns([&](const PrimExpr& column, const PrimExpr& lane) {
        const PrimExpr index = row_index(row, column, lane);
        const PrimExpr next = is_data ? element(offset, column, lane) : windows_.data.border;
        return put(index, combined(make_load(row_, {index}), next));
      });
    };
    std::function<Stmt(size_t)> over = [&](size_t axis) -> Stmt {
      if (axis + 1 < reduction_.reduce_axes)
        return loop_over("offset", number(reduction_.reduce_extents[axis]), [&](const PrimExpr& at) {
          offset.push_back(at);
          Stmt out = over(axis + 1);
          offset.pop_back();
          return out;
        });
      const PrimExpr inside = is_inside(offset);
      if (is_one(inside)) return add(true);
      return make(IfThenElse{.condition = inside, .then_case = add(true), .else_case = add(false)});
    };
    return sequence({start, over(0)});
  }

  /// True where a row of the window is data.
  PrimExpr is_inside(const std::vector<PrimExpr>& offset) const {
    PrimExpr out = bool_imm(true);
    for (const PrimExpr& condition : windows_.data.rows) out = logical_and(out, at_row(condition, offset));
    return out;
  }

  /// The offsets of window elements along all axes but the last, in order.
  std::vector<std::vector<PrimExpr>> column_offsets() const {
    std::vector<std::vector<PrimExpr>> out{{}};
    for (size_t i = 0; i + 1 < reduction_.reduce_axes; ++i) {
      std::vector<std::vector<PrimExpr>> longer;
      for (const std::vector<PrimExpr>& offset : out)
        for (int64_t value = 0; value < reduction_.reduce_extents[i]; ++value) {
          longer.push_back(offset);
          longer.back().push_back(number(value));
        }
      out = std::move(longer);
    }
    return out;
  }

  Stmt for_columns(const std::function<Stmt(const PrimExpr& column, const PrimExpr& lane)>& body) {
    const PrimExpr &first = windows_.data.first, count = simplified(windows_.data.end - first);
    if (windows_.block() == 1)
      return by_vectors(count, windows_.knobs->column_lanes, !is_accumulated(),
                        [&](const PrimExpr& i) { return body(first + i, PrimExpr()); });
    return loop_over("column", count, [&](const PrimExpr& i) {
      return by_vectors(number(windows_.block()), windows_.knobs->column_lanes, !is_accumulated(),
                        [&](const PrimExpr& lane) { return body(first + i, lane); });
    });
  }

  /// True where columns are added up in memory, and none may be done twice.
  bool is_accumulated() const { return windows_.window_column() > kMaxUnrolledColumn; }

  Stmt results_of(const PrimExpr& row) {
    const bool may_repeat = !reads_more();
    auto stored = [&](const PrimExpr& at, const PrimExpr& lane) {
      PrimExpr value;
      for (int64_t offset = 0; offset < reduction_.reduce_extents.back(); ++offset) {
        const PrimExpr column = at * number(windows_.step) + number(offset * windows_.dilation);
        PrimExpr next = make_load(row_, {row_index(row, column, lane)});
        value = value ? combined(value, next) : next;
      }
      return store(at, lane, value);
    };
    const PrimExpr& count = windows_.extent(windows_.along);
    if (windows_.block() == 1)
      return by_vectors(count, windows_.knobs->lanes, may_repeat,
                        [&](const PrimExpr& at) { return stored(at, PrimExpr()); });
    return loop_over("window", count, [&](const PrimExpr& at) {
      return by_vectors(number(windows_.block()), windows_.knobs->lanes, may_repeat,
                        [&](const PrimExpr& lane) { return stored(at, lane); });
    });
  }

  /// True where storing reads other tensors: results may overwrite them, and must be computed once.
  bool reads_more() const {
    bool found = false;
    const Buffer& sums = reduction_.block->writes[0]->buffer;
    if (windows_.epilogue)
      walk(windows_.epilogue->body, [&](const BufferLoad* load) { found = found || !load->buffer.same_as(sums); });
    return found;
  }

  Stmt store(const PrimExpr& at, const PrimExpr& lane, const PrimExpr& value) const {
    Array<PrimExpr> indices;
    for (const PrimExpr& outer : indices_) indices.push_back(outer);
    indices.push_back(at);
    if (lane) indices.push_back(lane);
    const Buffer& sums = reduction_.block->writes[0]->buffer;
    if (!windows_.epilogue) return make(BufferStore{.buffer = sums, .value = value, .indices = indices});
    Map<Var, PrimExpr> values;
    for (size_t i = 0; i < indices.size(); ++i) values.set(windows_.epilogue->iter_vars[i]->var, indices[i]);
    Stmt body = rewrite(windows_.epilogue->body, [&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
      return load->buffer.same_as(sums) ? value : PrimExpr(self.children(load));
    });
    return substitute(body, values);
  }

  /// An expression over axes of results and of the window, at the row that is being computed.
  PrimExpr at_row(const PrimExpr& e, const std::vector<PrimExpr>& offset) const {
    Map<Var, PrimExpr> values;
    for (size_t i = 0; i < indices_.size(); ++i) values.set(reduction_.axes[i], indices_[i]);
    for (size_t i = 0; i < offset.size(); ++i)
      values.set(reduction_.block->iter_vars[reduction_.axes.size() + i]->var, offset[i]);
    return substitute(e, values);
  }
  PrimExpr element(const std::vector<PrimExpr>& offset, const PrimExpr& column, const PrimExpr& lane) const {
    Map<Var, PrimExpr> values{{windows_.column, column}};
    if (lane) values.set(reduction_.axes.back(), lane);
    return substitute(at_row(windows_.data.element, offset), values);
  }

  PrimExpr combined(const PrimExpr& a, const PrimExpr& b) const {
    const PrimExpr& how = reduction_.block->body.as<BufferStore>()->value;
    return how.as<Max>() ? max(a, b) : how.as<Min>() ? min(a, b) : a + b;
  }
  /// The index in `row_` of an element.
  PrimExpr row_index(const PrimExpr& row, const PrimExpr& column, const PrimExpr& lane) const {
    PrimExpr out = (row * columns_ + column) * number(windows_.block());
    return lane ? out + lane : out;
  }
  Stmt put(const PrimExpr& at, const PrimExpr& value) const {
    return make(BufferStore{.buffer = row_, .value = value, .indices = {at}});
  }

  const Windows& windows_;
  const Reduction& reduction_;
  int64_t rows_;
  PrimExpr columns_;
  Buffer row_;
  std::vector<PrimExpr> indices_;  // of the axes before the columns
};

void check_knobs(const Windows& windows) {
  auto require = [](bool holds, const char* what) {
    if (!holds) throw Error(ScheduleError) << "the plan of a pool does not fit it: " << what;
  };
  const PoolKnobs& knobs = windows.knobs;
  require(std::min({knobs->lanes, knobs->column_lanes, knobs->rows}) >= 1, "all sizes are at least 1");
  require(knobs->lanes <= windows.result_elements(), "a vector has more lanes than there are results side by side");
  require(knobs->column_lanes <= windows.column_elements(), "a vector has more lanes than there are columns");
  const int64_t* height = as_int(windows.height());
  require(!height || *height % knobs->rows == 0, "rows are a divisor of those there are");
  require(!knobs->shares_rows || windows.along > 0, "there are no rows to share");
}

}  // namespace

Stmt window_nest(const Windows& windows) {
  check_knobs(windows);
  return Nest(windows).build();
}

}  // namespace tessera::topi

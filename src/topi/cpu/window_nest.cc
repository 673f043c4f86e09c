#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "topi/cpu/borders.h"
#include "topi/cpu/contraction/register_tile.h"
#include "topi/cpu/number.h"
#include "topi/cpu/windows.h"

namespace tessera::topi {
namespace {

class Nest {
 public:
  explicit Nest(const Windows& windows)
      : windows_(windows),
        reduction_(windows.reduction),
        rows_(windows.knobs->rows),
        row_(decl_buffer({number(rows_ * windows.columns() * windows.block())}, windows.data.element.dtype(), "row",
                         "local")) {}

  Stmt build() {
    int64_t tasks = 1;
    const size_t along = windows_.along;
    size_t shared = along > 0 ? along - 1 : 0;  // axes that threads share
    for (size_t i = 0; i < shared; ++i) tasks *= reduction_.extents[i];
    const bool shares_rows = windows_.knobs->shares_rows;
    const int64_t chunks = windows_.height() / rows_;
    return loop_over(
        "task", number(shares_rows ? tasks * chunks : tasks),
        [&](const PrimExpr& task) {
          PrimExpr outer = shares_rows ? floordiv(task, number(chunks)) : task;
          int64_t inner = tasks;
          for (size_t i = 0; i < shared; ++i) {
            inner /= reduction_.extents[i];
            PrimExpr digit = floordiv(outer, number(inner));
            indices_.push_back(i == 0 ? digit : floormod(digit, number(reduction_.extents[i])));
          }
          auto chunk = [&](const PrimExpr& index) { return rows_at(index * number(rows_)); };
          Stmt body = shares_rows ? chunk(floormod(task, number(chunks))) : loop_over("rows", number(chunks), chunk);
          return allocated(row_, sequence({borders(), body}));
        },
        windows_.knobs->is_parallel ? LoopKind::Parallel : LoopKind::Serial);
  }

 private:
  /// The columns beside the data, which stay as they are.
  Stmt borders() {
    if (!windows_.data.border) return make_nop();
    auto fill = [&](int64_t first, int64_t count) {
      return count == 0 ? make_nop() : loop_over("row", number(rows_), [&](const PrimExpr& row) {
        return loop_over("beside", number(count * windows_.block()), [&](const PrimExpr& i) {
          return put(row_index(row, number(first), PrimExpr()) + i, windows_.data.border);
        });
      });
    };
    return sequence({fill(0, windows_.data.first), fill(windows_.data.end, windows_.columns() - windows_.data.end)});
  }

  /// Rows of results from `first` on.
  Stmt rows_at(const PrimExpr& first) {
    if (windows_.along == 0) return sequence({columns_of(0), results_of(0)});
    auto each = [&](Stmt (Nest::*part)(const PrimExpr&)) {
      return loop_over("row", number(rows_), [&](const PrimExpr& row) {
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
    const std::vector<std::vector<int64_t>> offsets = column_offsets();
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
    for (const std::vector<int64_t>& offset : offsets) {
      PrimExpr all = bool_imm(true);
      for (const PrimExpr& condition : windows_.data.rows) all = logical_and(all, at_row(condition, offset));
      each.push_back(all);
      inside = logical_and(inside, all);
    }
    if (is_one(inside)) return columns({});
    return make(IfThenElse{.condition = inside, .then_case = columns({}), .else_case = columns(each)});
  }

  /// The offsets of window elements along all axes but the last, in order.
  std::vector<std::vector<int64_t>> column_offsets() const {
    std::vector<std::vector<int64_t>> out{{}};
    for (size_t i = 0; i + 1 < reduction_.reduce_axes; ++i) {
      std::vector<std::vector<int64_t>> longer;
      for (const std::vector<int64_t>& offset : out)
        for (int64_t value = 0; value < reduction_.reduce_extents[i]; ++value) {
          longer.push_back(offset);
          longer.back().push_back(value);
        }
      out = std::move(longer);
    }
    return out;
  }

  Stmt for_columns(const std::function<Stmt(const PrimExpr& column, const PrimExpr& lane)>& body) {
    const int64_t first = windows_.data.first, count = windows_.data.end - first;
    if (windows_.block() == 1)
      return by_vectors(count, windows_.knobs->column_lanes, true,
                        [&](const PrimExpr& i) { return body(number(first) + i, PrimExpr()); });
    return loop_over("column", number(count), [&](const PrimExpr& i) {
      return by_vectors(windows_.block(), windows_.knobs->column_lanes, true,
                        [&](const PrimExpr& lane) { return body(number(first) + i, lane); });
    });
  }

  Stmt results_of(const PrimExpr& row) {
    const bool may_repeat = !reads_more();
    auto stored = [&](const PrimExpr& at, const PrimExpr& lane) {
      PrimExpr value;
      for (int64_t offset = 0; offset < reduction_.reduce_extents.back(); ++offset) {
        PrimExpr next = make_load(row_, {row_index(row, at * number(windows_.step) + number(offset), lane)});
        value = value ? combined(value, next) : next;
      }
      return store(at, lane, value);
    };
    const int64_t count = reduction_.extents[windows_.along];
    if (windows_.block() == 1)
      return by_vectors(count, windows_.knobs->lanes, may_repeat,
                        [&](const PrimExpr& at) { return stored(at, PrimExpr()); });
    return loop_over("window", number(count), [&](const PrimExpr& at) {
      return by_vectors(windows_.block(), windows_.knobs->lanes, may_repeat,
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
  PrimExpr at_row(const PrimExpr& e, const std::vector<int64_t>& offset) const {
    Map<Var, PrimExpr> values;
    for (size_t i = 0; i < indices_.size(); ++i) values.set(reduction_.axes[i], indices_[i]);
    for (size_t i = 0; i < offset.size(); ++i)
      values.set(reduction_.block->iter_vars[reduction_.axes.size() + i]->var, number(offset[i]));
    return substitute(e, values);
  }
  PrimExpr element(const std::vector<int64_t>& offset, const PrimExpr& column, const PrimExpr& lane) const {
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
    PrimExpr out = (row * number(windows_.columns()) + column) * number(windows_.block());
    return lane ? out + lane : out;
  }
  Stmt put(const PrimExpr& at, const PrimExpr& value) const {
    return make(BufferStore{.buffer = row_, .value = value, .indices = {at}});
  }

  const Windows& windows_;
  const Reduction& reduction_;
  int64_t rows_;
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
  require(windows.height() % knobs->rows == 0, "rows are a divisor of those there are");
  require(!knobs->shares_rows || windows.along > 0, "there are no rows to share");
}

}  // namespace

Stmt window_nest(const Windows& windows) {
  check_knobs(windows);
  return Nest(windows).build();
}

}  // namespace tessera::topi

#pragma once
// Elements that are data inside of bounds and one number outside: what padding makes of a tensor.

#include <functional>
#include <optional>

#include "schedule/primitives.h"

namespace tessera::topi {

/// `if_then_else(condition, element, border)`, seen along one axis, the columns.
struct Bordered {
  PrimExpr element;            // where it is data
  PrimExpr border;             // a number; empty where everything is data
  int64_t first = 0, end = 0;  // columns that are data where `rows` hold
  std::vector<PrimExpr> rows;  // conditions without the column
};

/// Splits a value of `columns` columns into data and border; nothing where its conditions are of another form.
std::optional<Bordered> part_border(const PrimExpr& value, const Var& column, int64_t columns);

/// The greatest power of two that is at most both.
int64_t lanes_within(int64_t most, int64_t extent);

/// for i in range(extent), by vectors: body(i). The last vector begins earlier where they do not come out even and elements
/// may be done twice; else it has conditions. There are `lanes` elements at least.
Stmt by_vectors(int64_t extent, int64_t lanes, bool may_repeat, const std::function<Stmt(const PrimExpr&)>& body);

/// The nest of a stage that pads a tensor: rows, in parallel, of border, data by vectors, and border. Empty where the
/// stage is none. `vector_bytes`: of a register.
Stmt padding_nest(const schedule::Cursor& cursor, int64_t vector_bytes);

}  // namespace tessera::topi

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
  PrimExpr first, end;         // columns that are data where `rows` hold; numbers where the bounds are
  std::vector<PrimExpr> rows;  // conditions without the column
};

/// Splits a value of `columns` columns, over axes of the block, into data and border; nothing where its conditions are of another
/// form, or bounds differ from row to row.
std::optional<Bordered> part_border(const PrimExpr& value, const Var& column, const PrimExpr& columns,
                                    const BlockNode* block);

/// The greatest power of two that is at most both.
int64_t lanes_within(int64_t most, int64_t extent);

/// for i in range(extent), by vectors: body(i). The last vector begins earlier where they do not come out even and elements
/// may be done twice; else it has conditions. There are `lanes` elements at least, or that is asked at run time.
Stmt by_vectors(const PrimExpr& extent, int64_t lanes, bool may_repeat,
                const std::function<Stmt(const PrimExpr&)>& body);

/// A number of iterations to plan for where the extent is known only at run time.
int64_t likely_extent(const PrimExpr& extent);

/// for axes of these extents, the first `shared` of them as one loop that threads share if that is worth it: body(indices).
/// `elements`: of one iteration of it, as many as are known or likely.
Stmt shared_rows(const std::vector<PrimExpr>& extents, size_t shared, int64_t elements,
                 const std::function<Stmt(const std::vector<PrimExpr>&)>& body);

/// The nest of a stage that pads a tensor: rows, in parallel, of border, data by vectors, and border. Empty where the
/// stage is none. `vector_bytes`: of a register. Extents may be dynamic.
Stmt padding_nest(const schedule::Cursor& cursor, int64_t vector_bytes);

}  // namespace tessera::topi

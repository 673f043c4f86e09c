#include "topi/cpu/borders.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "arith/linear.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/loops/conditions.h"
#include "tir/parallel.h"
#include "topi/block_rule.h"
#include "topi/cpu/contraction/register_tile.h"
#include "topi/cpu/cost_model.h"
#include "topi/cpu/number.h"

namespace tessera::topi {
namespace {

constexpr int64_t kMaxUnrolled = 8;    // vectors
constexpr int64_t kMinLanes = 4;       // of vectors for what is shorter than a whole one
constexpr int64_t kLikelyExtent = 32;  // of an axis whose extent is known only at run time

bool names(const PrimExpr& e, const Var& var) {
  return uses_var(e, [&](const VarNode* v) { return v == var.get(); });
}

/// The extents of a stage that stores one element at its axes; empty where it is another.
std::vector<PrimExpr> extents_of(const schedule::Cursor& cursor) {
  const std::vector<PrimExpr> out = plain_axes(cursor);
  auto* store = cursor.block()->body.as<BufferStore>();
  if (out.empty() || store->indices.size() != out.size()) return {};
  for (size_t i = 0; i < out.size(); ++i)
    if (!store->indices[i].same_as(cursor.block()->iter_vars[i]->var)) return {};
  return out;
}

/// True where an element may be stored twice: nothing that is read could lie in the same memory (find_in_place asks for extents
/// that are proven to be equal).
bool may_repeat(const BufferStore* store) {
  bool out = true;
  arith::Analyzer analyzer;
  auto count = [](const Buffer& buffer) {
    PrimExpr elements = PrimExpr(1);
    for (const PrimExpr& extent : buffer->shape) elements = elements * extent;
    return elements;
  };
  walk(store->value, [&](const BufferLoad* load) {
    out = out && !analyzer.can_prove_equal(count(load->buffer), count(store->buffer));
  });
  return out;
}

}  // namespace

std::optional<Bordered> part_border(const PrimExpr& value, const Var& column, const PrimExpr& columns,
                                    const BlockNode* block) {
  Bordered out{.element = value, .first = number(0), .end = columns};
  auto* choice = value.as<Call>();
  if (!choice || !builtin::is(choice, builtin::if_then_else())) return out;
  std::vector<PrimExpr> conditions = loops::conjuncts(choice->args[0]);
  out.element = choice->args[1];
  out.border = arith::Analyzer().simplify(choice->args[2]);
  if (!out.border.as<FloatImm>() && !as_int(out.border)) return {};
  for (const PrimExpr& condition : conditions) {
    if (!names(condition, column)) {
      out.rows.push_back(condition);
      continue;
    }
    Array<PrimExpr> bounds = arith::detect_clip_bound(condition, {column});
    if (bounds.size() != 2) return {};
    if (bounds[0]) out.first = max(out.first, bounds[0]);
    if (bounds[1]) out.end = min(out.end, bounds[1] + 1);
  }
  arith::Analyzer analyzer;
  auto varies = [&](const PrimExpr& e) {
    return uses_var(e, [&](const VarNode* v) {
      return v == column.get() || std::any_of(block->iter_vars.begin(), block->iter_vars.end(),
                                              [&](const IterVar& axis) { return axis->var.get() == v; });
    });
  };
  if (varies(out.first) || varies(out.end)) return {};
  out.first = analyzer.simplify(out.first), out.end = analyzer.simplify(out.end);
  const int64_t *first = as_int(out.first), *end = as_int(out.end);
  if (first && end) return *first < *end ? std::optional(out) : std::nullopt;
  // What is read beyond the columns is nobody's.
  out.first = analyzer.simplify(min(out.first, columns));
  out.end = analyzer.simplify(max(out.end, out.first));
  return out;
}

int64_t lanes_within(int64_t most, int64_t extent) {
  int64_t out = 1;
  while (out * 2 <= std::min(most, extent)) out *= 2;
  return out;
}

Stmt by_vectors(const PrimExpr& extent, int64_t lanes, bool may_repeat,
                const std::function<Stmt(const PrimExpr&)>& body) {
  auto vector = [&](const PrimExpr& first, bool is_guarded) {
    return loop_over(
        "lane", number(lanes),
        [&](const PrimExpr& lane) {
          Stmt one = body(first + lane);
          if (is_guarded) one = make(IfThenElse{.condition = first + lane < extent, .then_case = one});
          return one;
        },
        LoopKind::Vectorized);
  };
  const int64_t* known = as_int(extent);
  if (!known) {
    const PrimExpr rest = floormod(extent, number(lanes));
    Stmt whole = loop_over("vector", floordiv(extent, number(lanes)),
                           [&](const PrimExpr& index) { return vector(index * number(lanes), false); });
    if (lanes == 1) return whole;
    const Stmt last = vector(extent - rest, true);
    if (!may_repeat) return sequence({whole, make(IfThenElse{.condition = rest > 0, .then_case = last})});
    const Stmt again = make(IfThenElse{.condition = rest > 0, .then_case = vector(extent - number(lanes), false)});
    const Stmt shorter = lanes / 2 >= kMinLanes ? by_vectors(extent, lanes / 2, true, body) : last;
    return make(
        IfThenElse{.condition = extent >= number(lanes), .then_case = sequence({whole, again}), .else_case = shorter});
  }
  const int64_t whole = *known / lanes, rest = *known % lanes, count = whole + (may_repeat && rest > 0 ? 1 : 0);
  Stmt out = loop_over(
      "vector", number(count),
      [&](const PrimExpr& index) {
        PrimExpr first = index * number(lanes);
        return vector(count > whole ? min(first, number(*known - lanes)) : first, false);
      },
      count <= kMaxUnrolled ? LoopKind::Unrolled : LoopKind::Serial);
  if (rest == 0 || may_repeat) return out;
  Stmt last = vector(number(whole * lanes), true);
  return whole == 0 ? last : sequence({out, last});
}

int64_t likely_extent(const PrimExpr& extent) { return as_int(extent) ? *as_int(extent) : kLikelyExtent; }

Stmt shared_rows(const std::vector<PrimExpr>& extents, size_t shared, int64_t elements,
                 const std::function<Stmt(const std::vector<PrimExpr>&)>& body) {
  std::vector<PrimExpr> position(extents.size(), number(0));
  std::function<Stmt(size_t)> inside = [&](size_t axis) -> Stmt {
    if (axis == extents.size()) return body(position);
    return loop_over("row", extents[axis], [&](const PrimExpr& at) {
      position[axis] = at;
      return inside(axis + 1);
    });
  };
  PrimExpr rows = number(1);
  for (size_t i = 0; i < shared; ++i) rows = rows * extents[i];
  rows = arith::Analyzer().simplify(rows);
  const int64_t* known = as_int(rows);
  const bool is_shared = !known || *known * elements >= ParallelThreshold::elements;
  Stmt out = loop_over(
      "row", rows,
      [&](const PrimExpr& at) {
        PrimExpr rest = at;
        for (size_t i = shared; i-- > 0;) {
          position[i] = i == 0 ? rest : floormod(rest, extents[i]);
          if (i > 0) rest = floordiv(rest, extents[i]);
        }
        return inside(shared);
      },
      is_shared ? LoopKind::Parallel : LoopKind::Serial);
  auto* loop = out.as<For>();
  if (known || !loop) return out;
  const int64_t least = std::max<int64_t>(2, ParallelThreshold::elements / std::max<int64_t>(1, elements));
  return with(loop, &For::annotations,
              Map<String, ObjectRef>{{String(attr::kMinParallelExtent), int_imm(DataType::Int(32), least)}});
}

Stmt padding_nest(const schedule::Cursor& cursor, int64_t vector_bytes) {
  const std::vector<PrimExpr> extents = extents_of(cursor);
  if (extents.empty()) return nullptr;
  const BlockNode* block = cursor.block();
  auto* store = block->body.as<BufferStore>();
  auto* choice = store->value.as<Call>();
  if (!choice || !builtin::is(choice, builtin::if_then_else())) return nullptr;
  const size_t rank = extents.size();
  size_t last = rank - 1;  // the axis of the vectors
  while (last > 0 && is_one(extents[last])) --last;
  size_t along = rank;  // the last axis that has a condition
  for (size_t i = 0; i < rank; ++i)
    if (names(choice->args[0], block->iter_vars[i]->var)) along = i;
  if (along == rank || along > last) return nullptr;
  const Var& column = block->iter_vars[along]->var;
  std::optional<Bordered> parts = part_border(store->value, column, extents[along], block);
  if (!parts) return nullptr;
  const int64_t native = std::max<int64_t>(1, vector_bytes / std::max(store->buffer->dtype.bytes(), 1));
  const bool repeats = may_repeat(store);

  std::vector<PrimExpr> position(rank, PrimExpr(0));
  auto put = [&](const PrimExpr& value) {
    Array<PrimExpr> indices;
    Map<Var, PrimExpr> values;
    for (size_t i = 0; i < rank; ++i) indices.push_back(position[i]), values.set(block->iter_vars[i]->var, position[i]);
    return Stmt(make(BufferStore{.buffer = store->buffer, .value = substitute(value, values), .indices = indices}));
  };
  auto lanes_for = [&](const PrimExpr& extent) {
    return lanes_within(native, as_int(extent) ? *as_int(extent) : native);
  };
  // axes from `axis` on, those after the columns; the last one by vectors
  std::function<Stmt(size_t, const PrimExpr&)> inside = [&](size_t axis, const PrimExpr& value) -> Stmt {
    if (axis > last) return put(value);
    auto body = [&](const PrimExpr& at) {
      position[axis] = at;
      return inside(axis + 1, value);
    };
    if (axis < last) return loop_over("i", extents[axis], body);
    return by_vectors(extents[axis], lanes_for(extents[axis]), repeats, body);
  };
  auto columns = [&](const PrimExpr& first, const PrimExpr& end, const PrimExpr& value) -> Stmt {
    const PrimExpr count = arith::Analyzer().simplify(end - first);
    if (as_int(count) && *as_int(count) < 1) return make_nop();
    auto body = [&](const PrimExpr& at) {
      position[along] = is_zero(first) ? at : first + at;
      return inside(along + 1, value);
    };
    if (along < last) return loop_over("column", count, body);
    return by_vectors(count, lanes_for(count), repeats, body);
  };
  auto row = [&](const std::vector<PrimExpr>& at) -> Stmt {
    std::copy(at.begin(), at.end(), position.begin());
    Stmt data =
        sequence({columns(number(0), parts->first, parts->border), columns(parts->first, parts->end, parts->element),
                  columns(parts->end, extents[along], parts->border)});
    PrimExpr holds = bool_imm(true);
    Map<Var, PrimExpr> values;
    for (size_t i = 0; i < along; ++i) values.set(block->iter_vars[i]->var, position[i]);
    for (const PrimExpr& condition : parts->rows) holds = logical_and(holds, substitute(condition, values));
    if (is_one(holds)) return data;
    return make(IfThenElse{
        .condition = holds, .then_case = data, .else_case = columns(number(0), extents[along], parts->border)});
  };
  const std::vector<PrimExpr> rows(extents.begin(), extents.begin() + static_cast<long>(along));
  // Rows of dynamic numbers are told apart without divisions, where there are others beside them.
  size_t shared = along;
  const bool is_fixed = std::all_of(rows.begin(), rows.end(), [](const PrimExpr& extent) { return as_int(extent); });
  if (!is_fixed && along > 1 && !std::all_of(rows.begin(), rows.end() - 1, [](const PrimExpr& e) { return is_one(e); }))
    --shared;
  int64_t elements = 1;
  for (size_t i = shared; i < rank; ++i) elements *= likely_extent(extents[i]);
  return shared_rows(rows, shared, elements, row);
}

}  // namespace tessera::topi

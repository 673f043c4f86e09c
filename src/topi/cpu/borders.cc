#include "topi/cpu/borders.h"

#include <algorithm>

#include "arith/linear.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/loops/conditions.h"
#include "topi/block_rule.h"
#include "topi/cpu/contraction/register_tile.h"
#include "topi/cpu/cost_model.h"
#include "topi/cpu/number.h"

namespace tessera::topi {
namespace {

constexpr int64_t kMaxUnrolled = 8;  // vectors

bool names(const PrimExpr& e, const Var& var) {
  return uses_var(e, [&](const VarNode* v) { return v == var.get(); });
}

/// The extents of a stage that stores one element at its axes; empty where it is another.
std::vector<int64_t> extents_of(const schedule::Cursor& cursor) {
  const std::vector<int64_t> out = plain_extents(cursor);
  auto* store = cursor.block()->body.as<BufferStore>();
  if (out.empty() || store->indices.size() != out.size()) return {};
  for (size_t i = 0; i < out.size(); ++i)
    if (!store->indices[i].same_as(cursor.block()->iter_vars[i]->var)) return {};
  return out;
}

/// True where an element may be stored twice: nothing that is read could lie in the same memory.
bool may_repeat(const BufferStore* store) {
  int64_t elements = 1;
  auto count = [](const Buffer& buffer) {
    int64_t out = 1;
    for (const PrimExpr& extent : buffer->shape) out *= as_int(extent) ? *as_int(extent) : -1;
    return out;
  };
  elements = count(store->buffer);
  bool out = true;
  walk(store->value, [&](const BufferLoad* load) { out = out && count(load->buffer) != elements; });
  return out;
}

}  // namespace

std::optional<Bordered> part_border(const PrimExpr& value, const Var& column, int64_t columns) {
  Bordered out{.element = value, .end = columns};
  auto* choice = value.as<Call>();
  if (!choice || !builtin::is(choice, builtin::if_then_else())) return out;
  std::vector<PrimExpr> conditions = loops::conjuncts(choice->args[0]);
  out.element = choice->args[1];
  out.border = choice->args[2];
  if (!out.border.as<FloatImm>() && !as_int(out.border)) return {};
  for (const PrimExpr& condition : conditions) {
    if (!names(condition, column)) {
      out.rows.push_back(condition);
      continue;
    }
    Array<PrimExpr> bounds = arith::detect_clip_bound(condition, {column});
    if (bounds.size() != 2) return {};
    for (size_t i = 0; i < 2; ++i)
      if (bounds[i] && !as_int(bounds[i])) return {};
    if (bounds[0]) out.first = std::max(out.first, *as_int(bounds[0]));
    if (bounds[1]) out.end = std::min(out.end, *as_int(bounds[1]) + 1);
  }
  return out.first < out.end ? std::optional(out) : std::nullopt;
}

int64_t lanes_within(int64_t most, int64_t extent) {
  int64_t out = 1;
  while (out * 2 <= std::min(most, extent)) out *= 2;
  return out;
}

Stmt by_vectors(int64_t extent, int64_t lanes, bool may_repeat, const std::function<Stmt(const PrimExpr&)>& body) {
  auto vector = [&](const PrimExpr& first, bool is_guarded) {
    return loop_over(
        "lane", number(lanes),
        [&](const PrimExpr& lane) {
          Stmt one = body(first + lane);
          if (is_guarded) one = make(IfThenElse{.condition = first + lane < number(extent), .then_case = one});
          return one;
        },
        LoopKind::Vectorized);
  };
  const int64_t whole = extent / lanes, rest = extent % lanes, count = whole + (may_repeat && rest > 0 ? 1 : 0);
  Stmt out = loop_over(
      "vector", number(count),
      [&](const PrimExpr& index) {
        PrimExpr first = index * number(lanes);
        return vector(count > whole ? min(first, number(extent - lanes)) : first, false);
      },
      count <= kMaxUnrolled ? LoopKind::Unrolled : LoopKind::Serial);
  if (rest == 0 || may_repeat) return out;
  Stmt last = vector(number(whole * lanes), true);
  return whole == 0 ? last : sequence({out, last});
}

Stmt padding_nest(const schedule::Cursor& cursor, int64_t vector_bytes) {
  const std::vector<int64_t> extents = extents_of(cursor);
  if (extents.empty()) return nullptr;
  const BlockNode* block = cursor.block();
  auto* store = block->body.as<BufferStore>();
  auto* choice = store->value.as<Call>();
  if (!choice || !builtin::is(choice, builtin::if_then_else())) return nullptr;
  const size_t rank = extents.size();
  size_t last = rank - 1;  // the axis of the vectors
  while (last > 0 && extents[last] == 1) --last;
  size_t along = rank;  // the last axis that has a condition
  for (size_t i = 0; i < rank; ++i)
    if (names(choice->args[0], block->iter_vars[i]->var)) along = i;
  if (along == rank || along > last) return nullptr;
  const Var& column = block->iter_vars[along]->var;
  std::optional<Bordered> parts = part_border(store->value, column, extents[along]);
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
  // axes from `axis` on, those after the columns; the last one by vectors
  std::function<Stmt(size_t, const PrimExpr&)> inside = [&](size_t axis, const PrimExpr& value) -> Stmt {
    if (axis > last) return put(value);
    auto body = [&](const PrimExpr& at) {
      position[axis] = at;
      return inside(axis + 1, value);
    };
    if (axis < last) return loop_over("i", number(extents[axis]), body);
    return by_vectors(extents[axis], lanes_within(native, extents[axis]), repeats, body);
  };
  auto columns = [&](int64_t first, int64_t end, const PrimExpr& value) -> Stmt {
    if (first >= end) return make_nop();
    auto body = [&](const PrimExpr& at) {
      position[along] = first == 0 ? at : number(first) + at;
      return inside(along + 1, value);
    };
    if (along < last) return loop_over("column", number(end - first), body);
    return by_vectors(end - first, lanes_within(native, end - first), repeats, body);
  };
  auto row = [&]() -> Stmt {
    Stmt data = sequence({columns(0, parts->first, parts->border), columns(parts->first, parts->end, parts->element),
                          columns(parts->end, extents[along], parts->border)});
    PrimExpr holds = bool_imm(true);
    Map<Var, PrimExpr> values;
    for (size_t i = 0; i < along; ++i) values.set(block->iter_vars[i]->var, position[i]);
    for (const PrimExpr& condition : parts->rows) holds = logical_and(holds, substitute(condition, values));
    if (is_one(holds)) return data;
    return make(
        IfThenElse{.condition = holds, .then_case = data, .else_case = columns(0, extents[along], parts->border)});
  };
  int64_t rows = 1, elements = 1;
  for (size_t i = 0; i < rank; ++i) (i < along ? rows : elements) *= extents[i];
  return loop_over(
      "row", number(rows),
      [&](const PrimExpr& at) {
        int64_t inner = rows;
        for (size_t i = 0; i < along; ++i) {
          const bool is_first = inner == rows;
          inner /= extents[i];
          PrimExpr digit = floordiv(at, number(inner));
          position[i] = is_first ? digit : floormod(digit, number(extents[i]));
        }
        return row();
      },
      rows * elements >= ParallelThreshold::elements ? LoopKind::Parallel : LoopKind::Serial);
}

}  // namespace tessera::topi

#include "topi/cpu/transpose_dynamic.h"

#include <algorithm>
#include <functional>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/parallel.h"
#include "topi/cpu/contraction/register_tile.h"
#include "topi/cpu/number.h"
#include "topi/cpu/reduction_block.h"
#include "topi/transform.h"

namespace tessera::topi {
namespace {

/// A stage `out[...] = in[...]` in plain loops of its own, at least one of them of a dynamic extent.
struct Move {
  const BlockNode* block = nullptr;
  const BufferStore* store = nullptr;
  const BufferLoad* load = nullptr;
  std::vector<PrimExpr> extents;
};

std::optional<Move> as_move(const schedule::Cursor& cursor) {
  const BlockRealize* realize = cursor.realize();
  std::vector<const For*> loops = cursor.loops();
  Move out{.block = cursor.block()};
  out.store = out.block->body.as<BufferStore>();
  out.load = out.store ? out.store->value.as<BufferLoad>() : nullptr;
  if (!out.load || !is_spatial(cursor) || is_scheduled(cursor) || !is_one(realize->predicate) ||
      loops.size() != realize->iter_values.size() || out.store->buffer.same_as(out.load->buffer) ||
      !out.store->buffer->strides.empty() || !out.load->buffer->strides.empty())
    return std::nullopt;
  bool is_dynamic = false;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (!is_zero(loops[i]->min) || !realize->iter_values[i].same_as(loops[i]->loop_var)) return std::nullopt;
    out.extents.push_back(loops[i]->extent);
    is_dynamic |= !as_int(loops[i]->extent);
  }
  return is_dynamic ? std::optional(out) : std::nullopt;
}

/// The last axis of several elements along which an access goes from neighbour to neighbour.
std::optional<size_t> together(const Move& move, const Buffer& buffer, const Array<PrimExpr>& indices) {
  for (size_t i = move.extents.size(); i-- > 0;)
    if (!is_one(move.extents[i]) && is_one(stride_of(buffer, indices, move.block->iter_vars[i]->var))) return i;
  return std::nullopt;
}

/// How far apart neighbours of an axis are, where that is the same everywhere.
PrimExpr constant_stride(const Move& move, const Buffer& buffer, const Array<PrimExpr>& indices, size_t axis) {
  PrimExpr step = stride_of(buffer, indices, move.block->iter_vars[axis]->var);
  const bool varies = uses_var(step, [&](const VarNode* var) {
    return std::any_of(move.block->iter_vars.begin(), move.block->iter_vars.end(),
                       [&](const IterVar& iter) { return iter->var.get() == var; });
  });
  return varies ? PrimExpr() : step;
}

Buffer in_one_dimension(const Buffer& buffer) {
  BufferNode node = *buffer.get();
  PrimExpr elements = PrimExpr(1);
  for (const PrimExpr& extent : buffer->shape) elements = elements * extent;
  node.shape = {elements};
  return make(std::move(node));
}

/// The first element of tile `i` along an axis; the last tile ends where the axis does.
PrimExpr start_of(const PrimExpr& i, int64_t size, const PrimExpr& extent) {
  const int64_t* known = as_int(extent);
  PrimExpr first = i * number(size);
  return known && *known % size == 0 ? first : min(first, extent - number(size));
}

PrimExpr tiles_of(const PrimExpr& extent, int64_t size) { return floordiv(extent + number(size - 1), number(size)); }

}  // namespace

Stmt dynamic_transposing_nest(const schedule::State& state, const schedule::BlockRef& block, const Machine& machine) {
  const std::optional<Move> move = as_move(state.find(block));
  if (!move) return nullptr;
  const auto written = together(*move, move->store->buffer, move->store->indices),
             read = together(*move, move->load->buffer, move->load->indices);
  if (!written || !read || *written == *read) return nullptr;
  const PrimExpr from_step = constant_stride(*move, move->load->buffer, move->load->indices, *written),
                 to_step = constant_stride(*move, move->store->buffer, move->store->indices, *read);
  const std::optional<TransposeTile> tile =
      dynamic_tile(move->extents[*written], move->extents[*read], move->load->dtype, machine);
  if (!from_step || !to_step || !tile) return nullptr;

  Map<Var, PrimExpr> at;
  auto first = [&](const Buffer& buffer, const Array<PrimExpr>& indices) {
    Array<PrimExpr> there;
    for (const PrimExpr& i : indices) there.push_back(substitute(i, at));
    return arith::Analyzer().simplify(flat_index(there, buffer->shape));
  };
  auto set = [&](size_t axis, const PrimExpr& value) {
    const Var& var = move->block->iter_vars[axis]->var;
    at.set(var, cast(var->dtype, value));
  };
  const PrimExpr &rows = move->extents[*written], &columns = move->extents[*read];
  const Buffer source = in_one_dimension(move->load->buffer), target = in_one_dimension(move->store->buffer);
  auto moved = [&]() -> Stmt {
    set(*written, PrimExpr(0)), set(*read, PrimExpr(0));
    const PrimExpr from = first(move->load->buffer, move->load->indices),
                   to = first(move->store->buffer, move->store->indices);
    Stmt tiles = loop_over("across", tiles_of(columns, tile->columns), [&](const PrimExpr& across) {
      return loop_over("down", tiles_of(rows, tile->rows), [&](const PrimExpr& down) {
        const PrimExpr row = start_of(down, tile->rows, rows), column = start_of(across, tile->columns, columns);
        return move_tile({source, from + row * from_step + column, from_step},
                         {target, to + column * to_step + row, to_step}, *tile, machine);
      });
    });
    Stmt elements = loop_over("column", columns, [&](const PrimExpr& column) {
      return loop_over("row", rows, [&](const PrimExpr& row) -> Stmt {
        return make(BufferStore{.buffer = target,
                                .value = make_load(source, {from + row * from_step + column}),
                                .indices = {to + column * to_step + row}});
      });
    });
    PrimExpr fits = logical_and(rows >= number(tile->rows), columns >= number(tile->columns));
    fits = arith::Analyzer().simplify(fits);
    if (is_one(fits)) return tiles;
    return make(IfThenElse{.condition = fits, .then_case = tiles, .else_case = elements});
  };
  std::vector<size_t> outer;
  for (size_t i = 0; i < move->extents.size(); ++i) {
    if (i == *written || i == *read) continue;
    if (is_one(move->extents[i])) set(i, PrimExpr(0));
    else outer.push_back(i);
  }
  std::function<Stmt(size_t)> nest = [&](size_t depth) -> Stmt {
    if (depth == outer.size()) return moved();
    auto body = [&](const PrimExpr& i) {
      set(outer[depth], i);
      return nest(depth + 1);
    };
    Stmt loop =
        loop_over("outer", move->extents[outer[depth]], body, depth == 0 ? LoopKind::Parallel : LoopKind::Serial);
    auto* made = loop.as<For>();
    if (depth > 0 || !made) return loop;
    return with(made, &For::annotations,
                Map<String, ObjectRef>{{String(attr::kMinParallelExtent), int_imm(DataType::Int(32), 2)}});
  };
  return nest(0);
}

}  // namespace tessera::topi

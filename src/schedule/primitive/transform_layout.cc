#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/insert.h"
#include "schedule/layout.h"
#include "schedule/primitives.h"
#include "schedule/rebuffer.h"
#include "tir/remap.h"

namespace tessera::schedule {
namespace {

/// A buffer after its layout changed, which elements of it are padding, and what these shall hold.
struct Padded {
  Buffer buffer;
  IndexMap back;     // from an element to the element of the old buffer
  PrimExpr padding;  // over the same indices
  IndexMap value;

  PrimExpr is_padding(const Array<PrimExpr>& indices) const { return at(padding, back->initial_indices, indices); }
  PrimExpr pad_value(const Array<PrimExpr>& indices) const {
    PrimExpr out = at(value->final_indices[0], value->initial_indices, indices);
    return cast(buffer->dtype, out);
  }
  Array<Range> domains() const {
    Array<Range> out;
    for (const PrimExpr& length : buffer->shape) out.push_back(make_range(make_zero(length.dtype()), length));
    return out;
  }

 private:
  static PrimExpr at(const PrimExpr& e, const Array<Var>& vars, const Array<PrimExpr>& indices) {
    Map<Var, PrimExpr> values;
    for (size_t i = 0; i < vars.size(); ++i) values.set(vars[i], indices[i]);
    return substitute(e, values);
  }
};

/// True for a store to the element of `buffer` that the first axes of the block name.
bool stores_element(const Stmt& stmt, const BlockNode* block, const Buffer& buffer) {
  auto* store = stmt.as<BufferStore>();
  if (!store || !store->buffer.same_as(buffer)) return false;
  for (size_t i = 0; i < store->indices.size(); ++i)
    if (!store->indices[i].same_as(block->iter_vars[i]->var)) return false;
  return true;
}

/// The producer when it computes every element of the old buffer once, indexed by its axes, alone in the loops of its
/// axes: then it may as well run over the elements of the new one. Axes that it reduces come last.
bool runs_over_elements(const Cursor& cursor, const Buffer& buffer) {
  const BlockNode* block = cursor.block();
  std::vector<const For*> loops = cursor.loops();
  size_t rank = buffer->shape.size();
  if (block->iter_vars.size() < rank || loops.size() != block->iter_vars.size() || !is_one(cursor.realize()->predicate))
    return false;
  bool reduces = block->iter_vars.size() > rank;
  if (!stores_element(block->body, block, buffer) || block->init.defined() != reduces) return false;
  if (reduces ? !stores_element(block->init, block, buffer) || !is_reduction(cursor) : !is_complete(cursor))
    return false;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (i + 1 < loops.size() && loops[i]->body.get() != loops[i + 1]) return false;
    if (!cursor.realize()->iter_values[i].same_as(loops[i]->loop_var) || loops[i]->kind != LoopKind::Serial ||
        !loops[i]->annotations.empty() || (block->iter_vars[i]->iter_type == IterType::DataPar) != (i < rank) ||
        (i < rank && !arith::Analyzer().can_prove_equal(block->iter_vars[i]->dom->extent, buffer->shape[i])))
      return false;
  }
  return loops.empty() || loops.back()->body.get() == cursor.realize();
}

/// for i: B[i // 4, i % 4] = f(i)   =>   for v0, v1: B[v0, v1] = if_then_else(padding, value, f(v0 * 4 + v1))
/// A reduction does the same where it begins and in each step.
void run_over_all_elements(State& state, const BlockRef& ref, const Padded& padded) {
  Cursor cursor = state.find(ref);
  const BlockNode* block = cursor.block();
  size_t rank = padded.back->final_indices.size(), new_rank = padded.buffer->shape.size();
  Array<Range> domains = padded.domains();
  std::vector<IterType> types(new_rank, IterType::DataPar);
  for (size_t i = rank; i < block->iter_vars.size(); ++i) {
    domains.push_back(block->iter_vars[i]->dom);
    types.push_back(block->iter_vars[i]->iter_type);
  }
  auto build = [&](const Array<PrimExpr>& all_axes) {
    Array<PrimExpr> axes;
    for (size_t i = 0; i < new_rank; ++i) axes.push_back(all_axes[i]);
    Array<PrimExpr> element = map_indices(padded.back, axes);
    Map<Var, PrimExpr> values;
    for (size_t i = 0; i < block->iter_vars.size(); ++i) {
      const Var& var = block->iter_vars[i]->var;
      values.set(var, i < rank ? cast(var->dtype, element[i]) : all_axes[new_rank + i - rank]);
    }
    auto guarded = [&](const Stmt& stmt) -> Stmt {
      PrimExpr value = stmt.as<BufferStore>()->value;
      // what a step adds to is the very element that is written
      value = tessera::rewrite(value, [&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
        return load->buffer.same_as(padded.buffer) ? make_load(padded.buffer, axes) : PrimExpr(self.children(load));
      });
      value = substitute_all(value, values);
      return make(BufferStore{.buffer = padded.buffer,
                              .value = if_then_else(padded.is_padding(axes), padded.pad_value(axes), value),
                              .indices = axes});
    };
    BlockNode out(*block);
    out.body = guarded(block->body);
    if (block->init) out.init = guarded(block->init);
    out.writes = {point_region(padded.buffer, axes)};
    for (size_t i = 0; i < out.reads.size(); ++i) {
      bool is_itself = out.reads[i]->buffer.same_as(padded.buffer);
      out.reads.set(i, is_itself ? out.writes[0] : substitute_all(out.reads[i], values));
    }
    return out;
  };
  Stmt nest = make_nest(domains, build, nullptr, {}, types);
  state.rename(block, block_of(nest));
  state.replace(ref.function, cursor.path[cursor.path.size() - 1 - cursor.loops().size()], nest);
}

/// Writes the padding in a block of its own, behind the last statement that writes the buffer.
void write_padding(State& state, const BlockRef& ref, const Padded& padded) {
  Cursor cursor = state.find(ref);
  const BlockRealize* scope = require_scope_of(cursor);
  std::vector<Stmt> parts = statements_of(scope);
  size_t behind = 0;
  for (size_t i = 0; i < parts.size(); ++i)
    for_each_block(parts[i], [&](const BlockNode* block) {
      if (writes_buffer(block, padded.buffer)) behind = i + 1;
    });
  Stmt nest = make_nest(
      padded.domains(),
      [&](const Array<PrimExpr>& axes) {
        return BlockNode{
            .writes = {point_region(padded.buffer, axes)},
            .name_hint = cursor.block()->name_hint + "_pad_" + padded.buffer->name,
            .body = make(BufferStore{.buffer = padded.buffer, .value = padded.pad_value(axes), .indices = axes})};
      },
      [&](const Array<PrimExpr>& loops) { return padded.is_padding(loops); });
  parts.insert(parts.begin() + static_cast<long>(behind), nest);
  set_scope_body(state, ref.function, scope, parts, {});
}

/// The padding of a parameter that is only read holds the value already: passes may rely on it.
void assume_padding(State& state, const GlobalVar& function, const Padded& padded) {
  auto* root = state.function(function)->body.as<BlockRealize>();
  if (!root) throw Error(ScheduleError) << "the body of " << function->name_hint << " is not a root block";
  std::vector<Stmt> parts = statements_of(root);
  parts.insert(parts.begin(), make_nest(padded.domains(), [&](const Array<PrimExpr>& axes) {
                 PrimExpr holds = logical_or(logical_not(padded.is_padding(axes)),
                                             equal(make_load(padded.buffer, axes), padded.pad_value(axes)));
                 return BlockNode{.reads = {point_region(padded.buffer, axes)},
                                  .name_hint = "buffer_" + padded.buffer->name + "_assumption",
                                  .body = evaluate(make_call(DataType::Bool(), builtin::assume(), {holds}))};
               }));
  set_scope_body(state, function, root, parts, {});
}

/// The blocks that write the buffer in the scope it belongs to: where it is allocated, or the root of the function.
std::vector<Cursor> producers_of(const State& state, const Cursor& cursor, const Buffer& buffer) {
  const BlockRealize* owner = state.function(cursor.function)->body.as<BlockRealize>();
  for (const Stmt& stmt : cursor.path)
    if (auto* realize = stmt.as<BlockRealize>())
      for (const Buffer& allocated : realize->block->alloc_buffers)
        if (allocated.same_as(buffer)) owner = realize;
  std::vector<Cursor> out;
  if (!owner) return out;
  for_each_block(owner->block->body, [&](const BlockNode* block) {
    if (writes_buffer(block, buffer)) out.push_back(state.find(State::ref(cursor.function, block)));
  });
  return out;
}

InverseMap inverse_of(const IndexMap& map, const Buffer& buffer) {
  Array<Range> whole;
  for (const PrimExpr& length : buffer->shape) whole.push_back(make_range(make_zero(length.dtype()), length));
  try {
    return non_surjective_inverse_map(map, whole);
  } catch (const Error& error) {
    throw Error(ScheduleError) << "the new layout of " << buffer->name
                               << " must keep each element: " << error.message();
  }
}

/// Rejects a value for padding that the buffer cannot hold as it is, or that is found in another buffer.
void require_value_of(const Buffer& buffer, const PrimExpr& value) {
  // A whole number is a value of every type that holds it.
  const int64_t* number = as_int(value);
  arith::IntBound all = arith::IntBound::of(buffer->dtype);
  bool fits = number && *number >= all.min && *number <= all.max;
  if (value.dtype() != buffer->dtype && !fits)
    throw Error(ScheduleError) << "pad_value " << value << " is " << value.dtype() << ", but buffer " << buffer->name
                               << " holds " << buffer->dtype;
  walk(value, [&](const BufferLoad* load) {
    if (!load->buffer.same_as(buffer))
      throw Error(ScheduleError) << "pad_value reads " << load->buffer->name << "; it may read " << buffer->name
                                 << " only, whose layout changes";
  });
}

}  // namespace

/// transform_layout(C, B, map):   B[i, j]   =>   B[map(i, j)] wherever B is used; its shape is what the map covers
/// Elements of the new shape that no index is mapped to are padding: they hold `pad_value`, which must be given then.
/// Requires: the map keeps elements apart; B is a parameter or allocated around, and used by its elements only.
void transform_layout(State& state, const BlockRef& ref, int buffer_index, bool is_write, const IndexMap& given,
                      const IndexMap& pad_value) {
  Cursor cursor = state.find(ref);
  Buffer buffer = buffer_at(cursor.block(), buffer_index, is_write);
  if (given->initial_indices.size() != buffer->shape.size())
    throw Error(ScheduleError) << "buffer " << buffer->name << " has " << buffer->shape.size()
                               << " dimensions, the index map takes " << given->initial_indices.size();
  if (!buffer->strides.empty())
    throw Error(ScheduleError) << "buffer " << buffer->name << " has strides of its own, so its layout is given";
  if (pad_value && pad_value->final_indices.size() != 1)
    throw Error(ScheduleError) << "pad_value must give one value, not " << pad_value->final_indices.size();
  std::vector<DataType> dtypes;
  for (const PrimExpr& length : buffer->shape) dtypes.push_back(length.dtype());
  IndexMap map = with_index_dtypes(given, dtypes);
  InverseMap inverse = inverse_of(map, buffer);
  if (pad_value) require_value_of(buffer, pad_value->final_indices[0]);
  else if (!is_zero(inverse.padding))
    throw Error(ScheduleError) << "the new layout of " << buffer->name
                               << " has elements that no index is mapped to, where " << inverse.padding
                               << "; say by pad_value what they hold";
  BufferNode fresh(*buffer);
  fresh.shape = map_shape(map, buffer->shape);
  fresh.axis_separators = {};
  if (is_zero(fresh.elem_offset)) fresh.elem_offset = make_zero(fresh.index_dtype());
  Padded padded{make(std::move(fresh)), inverse.map, inverse.padding, pad_value};
  std::vector<Cursor> producers = producers_of(state, cursor, buffer);
  bool is_whole = producers.size() == 1 && runs_over_elements(producers[0], buffer);
  BlockRef producer = producers.empty() ? ref : State::ref(ref.function, producers[0].block());
  change_layout(state, cursor, buffer, padded.buffer, map);
  if (!pad_value || is_zero(inverse.padding)) return;
  if (producers.empty()) assume_padding(state, ref.function, padded);
  else if (is_whole) run_over_all_elements(state, producer, padded);
  else write_padding(state, producer, padded);
}

}  // namespace tessera::schedule

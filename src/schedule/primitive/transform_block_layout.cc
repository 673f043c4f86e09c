#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/insert.h"
#include "schedule/layout.h"
#include "schedule/primitives.h"
#include "tir/remap.h"

namespace tessera::schedule {
/// transform_block_layout(C, map):   for i, j: with block C: S(i, j)
///                               =>  for ax0: with block C: S(back(v0)),   where map(back(v)) = v
/// Requires: the loops run the block alone, one for each axis; the map is one to one and mixes no reduction axes with
/// spatial ones.
void transform_block_layout(State& state, const BlockRef& ref, const IndexMap& given) {
  Cursor cursor = state.find(ref);
  const BlockNode* block = cursor.block();
  require_own_loops(cursor);
  if (given->initial_indices.size() != block->iter_vars.size())
    throw Error(ScheduleError) << "block " << quoted(block->name_hint) << " has " << block->iter_vars.size()
                               << " axes, the index map takes " << given->initial_indices.size();
  Array<Range> ranges;
  std::vector<DataType> dtypes;
  for (const IterVar& iter : block->iter_vars) {
    ranges.push_back(iter->dom);
    dtypes.push_back(iter->var->dtype);
  }
  IndexMap map = with_index_dtypes(given, dtypes);

  Array<IterVar> iters;
  Array<PrimExpr> values, axes;
  std::vector<For> loops;
  Array<Range> covered = map_ranges(map, ranges);
  for (size_t i = 0; i < map->final_indices.size(); ++i) {
    DataType dtype = map->final_indices[i].dtype();
    bool is_spatial = false, is_reduced = false;
    for (size_t j = 0; j < block->iter_vars.size(); ++j)
      if (uses_var(map->final_indices[i], map->initial_indices[j]))
        (block->iter_vars[j]->iter_type == IterType::DataPar ? is_spatial : is_reduced) = true;
    if (is_spatial && is_reduced)
      throw Error(ScheduleError) << "the new axis " << map->final_indices[i]
                                 << " mixes spatial axes with others of block " << quoted(block->name_hint);
    IterType type = is_reduced ? IterType::CommReduce : IterType::DataPar;
    Var axis = make_var("v" + std::to_string(i), dtype), loop = make_var("ax" + std::to_string(i), dtype);
    iters.push_back(make_iter_var(covered[i], axis, type));
    axes.push_back(axis);
    values.push_back(loop);
    loops.push_back(For{.loop_var = loop, .min = covered[i]->min, .extent = covered[i]->extent});
  }
  Map<Var, PrimExpr> back;
  try {
    Array<PrimExpr> old = map_indices(inverse_map(map, ranges), axes);
    for (size_t i = 0; i < old.size(); ++i) back.set(block->iter_vars[i]->var, cast(dtypes[i], old[i]));
  } catch (const Error& error) {
    throw Error(ScheduleError) << "the index map must be one to one on the axes of block " << quoted(block->name_hint)
                               << ": " << error.message();
  }
  BlockNode bare(*block);
  bare.iter_vars = {};
  arith::Analyzer analyzer;
  for (const IterVar& iter : iters)
    if (!is_one(iter->dom->extent)) analyzer.bind(iter->var, iter->dom);
  BlockNode fresh(*with_simple_indices(substitute_all(make(std::move(bare)), back), analyzer));
  fresh.iter_vars = iters;
  Block fresh_block = make(std::move(fresh));
  Stmt nest = make(BlockRealize{.iter_values = values, .predicate = cursor.realize()->predicate, .block = fresh_block});
  for (size_t i = loops.size(); i-- > 0;) {
    loops[i].body = nest;
    nest = make(std::move(loops[i]));
  }
  state.rename(block, fresh_block.get());
  state.replace(ref.function, cursor.path[cursor.path.size() - 1 - cursor.loops().size()], nest);
}

}  // namespace tessera::schedule

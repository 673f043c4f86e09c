#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "schedule/tensorize/auto_tensorize.h"
#include "tir/tensor_intrin.h"
#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/rule/multi_level_tiling.h"

namespace tessera::meta_schedule {
namespace {

using schedule::AutoTensorizeMappingInfo;

/// A matmul in progress: copies that give its buffers the layout of the intrinsics.
struct TensorCoreState {
  TilingState tiling;
  IntrinGroup group;
  AutoTensorizeMappingInfo mapping;
  RV reindexed_a, reindexed_b, reindexed_result;
};

/// The part of the mapping that is about one buffer: from the axes that index it to the ones of the intrinsic, axes that the
/// intrinsic does not know (a batch) in front.
class BufferMaps {
 public:
  explicit BufferMaps(const AutoTensorizeMappingInfo& mapping) : mapping_(mapping) {
    const IndexMap& map = mapping->mappings[0];
    for (size_t i = 0; i < mapping->lhs_iters.size(); ++i)
      ours_.set(mapping->lhs_iters[i]->var, map->initial_indices[i]);
    size_t extra = map->final_indices.size() - mapping->rhs_iters.size();
    for (size_t i = 0; i < extra; ++i) kept_.push_back(map->final_indices[i]);
    for (size_t i = 0; i < mapping->rhs_iters.size(); ++i)
      theirs_.set(mapping->rhs_iters[i]->var, map->final_indices[extra + i]);
  }

  /// Of a buffer of the block as it was before, which it now touches at `region`; empty where that is no such mapping.
  IndexMap of(const Buffer& buffer, const Array<Range>& region) const {
    Buffer described = mapping_->lhs_buffer_map.get_or_null(buffer);
    if (!described) return {};
    Array<Var> from;
    Array<PrimExpr> to;
    for (const Range& range : region) {
      auto* axis = range->min.as<VarNode>();
      Var var = axis && is_one(range->extent) ? ours_.get_or_null(Var(axis)) : Var();
      if (!var) return {};
      from.push_back(var);
      for (const PrimExpr& kept : kept_)
        if (kept.same_as(var)) to.push_back(var);
    }
    for (const PrimExpr& index : mapping_->rhs_indices[described]) {
      auto* axis = index.as<VarNode>();
      PrimExpr mapped = axis ? theirs_.get_or_null(Var(axis)) : PrimExpr();
      if (!mapped) return {};
      to.push_back(mapped);
    }
    return make_index_map(from, to);
  }

 private:
  AutoTensorizeMappingInfo mapping_;
  Map<Var, Var> ours_;
  Map<Var, PrimExpr> theirs_;
  std::vector<PrimExpr> kept_;
};

/// Gives the matmul the layout of the intrinsic, tiles it, and makes a block of what the intrinsic does. False where that cannot be.
bool fit_intrinsic(TensorCoreState& state) {
  const Traced& sch = state.tiling.sch;
  RV block = state.tiling.block;
  Block before = sch.find(block).realize()->block;
  if (before->reads.size() != 2 || before->writes.size() != 1) return false;
  state.reindexed_result = sch.reindex(block, 0, true);
  state.reindexed_a = sch.reindex(block, 0, false);
  state.reindexed_b = sch.reindex(block, 1, false);
  BufferMaps maps(state.mapping);
  struct Change {
    Buffer buffer;
    bool is_write;
    int index;
  };
  for (const Change& change : {Change{before->reads[0]->buffer, false, 0}, Change{before->reads[1]->buffer, false, 1},
                               Change{before->writes[0]->buffer, true, 0}}) {
    Block now = sch.find(block).realize()->block;
    const Array<BufferRegion>& regions = change.is_write ? now->writes : now->reads;
    IndexMap map = maps.of(change.buffer, regions[static_cast<size_t>(change.index)]->region);
    if (!map) return false;
    sch.transform_layout(block, change.index, change.is_write, map);
  }
  for (const RV& each : {state.reindexed_result, state.reindexed_a, state.reindexed_b, block})
    sch.transform_block_layout(each, state.mapping->mappings[0]);
  RV tile = tile_for_intrin(sch, block, state.group.compute);
  if (!tile) return false;
  sch.annotate(tile, note::kAutoTensorizeInit, state.group.init);
  sch.annotate(tile, note::kWarpExecution, PrimExpr(1));
  state.tiling.block = tile;
  return true;
}

/// The result is accumulated in a fragment, which goes to the copy that the tiling made, or to the result.
void add_accumulator(const MultiLevelTilingNode& rule, const TensorCoreState& state, TilingState& tiling) {
  const Traced& sch = tiling.sch;
  RV fragment = sch.cache_write(tiling.block, 0, "wmma.accumulator");
  sch.reverse_compute_at(fragment, tiling.tiles[rule.reduction_levels.front() - 1].back());
  if (tiling.write_copy) {
    RVs loops = sch.get_loops(tiling.write_copy);
    sch.fuse(RVs(loops.end() - 2, loops.end()));
    rule.fetch_together(sch, tiling.write_copy);
  }
  sch.reverse_compute_inline(state.reindexed_result);
  tile_for_intrin(sch, fragment, state.group.store);
}

/// Both operands are read through fragments; rows of their copies are moved apart, so that they lie in different banks.
void add_operands(const MultiLevelTilingNode& rule, const TensorCoreState& state, TilingState& tiling) {
  const Traced& sch = tiling.sch;
  RV loop = tiling.tiles[rule.reduction_levels[rule.reduction_levels.size() - 2]].back();
  auto load = [&](int index, const char* scope, const String& intrin) {
    RV fragment = sch.cache_read(tiling.block, index, scope, {});
    sch.compute_at(fragment, loop);
    tile_for_intrin(sch, fragment, intrin);
  };
  load(0, "wmma.matrix_a", state.group.load_a);
  load(1, "wmma.matrix_b", state.group.load_b);
  sch.compute_inline(state.reindexed_a);
  sch.compute_inline(state.reindexed_b);
  for (const auto& [index, copy] : tiling.read_copies) {
    DataType dtype = sch.find(copy).block()->writes[0]->buffer->dtype;
    sch.storage_align(copy, 0, -2, 32, dtype.bits == 8 ? 16 : 8);
  }
}

}  // namespace

Array<Schedule> MultiLevelTilingTensorCoreNode::apply(const Schedule& sch, const RV& block) {
  if (is_root(sch->cursor(block)) || sch->cursor(block).block()->writes.size() != 1) return {sch};
  Array<Schedule> out;
  for (const IntrinGroup& group : groups) {
    TensorIntrin compute = find_tensor_intrin(group.compute);
    if (!compute) throw Error(ValueError) << "there is no tensor intrinsic " << quoted(group.compute);
    AutoTensorizeMappingInfo mapping = schedule::auto_tensorize_mapping_info(sch, block, compute->desc);
    if (!mapping) continue;
    TensorCoreState state{{.sch = Traced(schedule::copy_schedule(sch)), .block = block}, group, mapping, {}, {}, {}};
    try {
      state.tiling.sch.annotate(block, note::kTilingStructure, structure);
      if (!fit_intrinsic(state)) continue;
      for (TilingState& a : tiled(state.tiling))
        for (TilingState& b : with_write_copy(a)) {
          add_accumulator(*this, state, b);
          for (TilingState& c : with_read_copies(b)) {
            add_operands(*this, state, c);
            out.push_back(c.sch.sch());
          }
        }
    } catch (const Error& error) {
      if (error.kind() != ScheduleError) throw;  // a block that cannot be brought into the form of this group
    }
  }
  return out.empty() ? Array<Schedule>{sch} : out;
}

namespace {

Globals multi_level_tiling_tensor_core_globals{
    {"meta_schedule.ScheduleRuleMultiLevelTilingTensorCore",
     [](const Array<Map<String, String>>& groups, const String& structure, const Array<String>& binds,
        const Any& innermost, const Array<PrimExpr>& loads, const ObjectRef& read, const ObjectRef& write) {
       MultiLevelTilingTensorCoreNode rule;
       rule.set(structure, binds, innermost, loads, read, write);
       if (rule.reduction_levels.size() < 2 || rule.reduction_levels.front() == 0)
         throw Error(ValueError) << "tensor cores want a structure with two levels of R, the first behind an S, not "
                                 << quoted(structure);
       for (const Map<String, String>& group : groups)
         rule.groups.push_back({group["init"], group["load_a"], group["load_b"], group["compute"], group["store"]});
       return ScheduleRule(make(std::move(rule)));
     }},
};

}  // namespace
}  // namespace tessera::meta_schedule

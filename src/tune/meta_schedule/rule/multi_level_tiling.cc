#include "tune/meta_schedule/rule/multi_level_tiling.h"

#include "base/dtypes.h"
#include "tune/meta_schedule/analysis.h"

namespace tessera::meta_schedule {

TilingState TilingState::copied() const {
  TilingState out(*this);
  out.sch = Traced(schedule::copy_schedule(sch.sch()));
  return out;
}

void MultiLevelTilingNode::initialize(const TuneContextNode& context) {
  max_threads = context.target ? context.target.int_option("max_threads_per_block", -1) : -1;
  warp_size = max_threads > 0 ? context.target.int_option("thread_warp_size", -1) : -1;
}

Array<Schedule> MultiLevelTilingNode::apply(const Schedule& sch, const RV& block) {
  Cursor cursor = sch->cursor(block);
  if (is_root(cursor) || !needs_multi_level_tiling(cursor)) return {sch};
  return all_steps({.sch = Traced(sch), .block = block});
}

Array<Schedule> MultiLevelTilingNode::all_steps(const TilingState& state) const {
  state.sch.annotate(state.block, note::kTilingStructure, structure);
  Array<Schedule> out;
  for (const TilingState& a : tiled(state))
    for (const TilingState& b : with_write_copy(a))
      for (const TilingState& c : with_read_copies(b)) out.push_back(c.sch.sch());
  return out;
}

namespace {

/// The loop counts along the last dimension of what the block writes.
bool runs_along_result(const Cursor& block, const For* loop) {
  const Array<Range>& written = block.block()->writes[0]->region;
  if (written.empty()) return false;
  for (size_t i = 0; i < block.block()->iter_vars.size(); ++i)
    if (written.back()->min.same_as(block.block()->iter_vars[i]->var))
      return block.realize()->iter_values[i].same_as(loop->loop_var);
  return false;
}

}  // namespace

RVs MultiLevelTilingNode::split_loop(const TilingState& state, const RV& loop, int parts) const {
  const Traced& sch = state.sch;
  Cursor block = sch.find(state.block);
  const For* node = sch.find(loop).loop();
  if (!vector_bits || !runs_along_result(block, node))
    return sch.split(loop, sch.sample_perfect_tile(loop, parts, static_cast<int>(max_innermost_factor)));
  int lanes = static_cast<int>(vector_bits / block.block()->writes[0]->buffer->dtype.bits);
  auto extent = loop_extent(node);
  if (!extent || *extent <= lanes) {
    RVs factors(static_cast<size_t>(parts - 1), PrimExpr(1));
    factors.push_back(node->extent);
    return sch.split(loop, factors);
  }
  RVs inner = sch.split(loop, {ObjectRef(), PrimExpr(lanes)});
  RVs out = sch.split(inner[0], sch.sample_perfect_tile(inner[0], parts - 1, static_cast<int>(max_innermost_factor)));
  out.push_back(inner[1]);
  return out;
}

std::vector<TilingState> MultiLevelTilingNode::tiled(TilingState state) const {
  const Traced& sch = state.sch;
  RVs loops = sch.get_loops(state.block);
  Array<IterVar> axes = sch.find(state.block).block()->iter_vars;
  if (loops.size() != axes.size())
    throw Error(ScheduleError) << "a block to be tiled has a loop for each axis; this one has " << loops.size()
                               << " loops and " << axes.size() << " axes";
  std::vector<RVs> tiles(spatial_levels.size() + reduction_levels.size());
  int64_t spatial = 1;
  for (size_t i = 0; i < loops.size(); ++i) {
    bool is_spatial_axis = axes[i]->iter_type == IterType::DataPar;
    if (!is_spatial_axis && axes[i]->iter_type != IterType::CommReduce) continue;
    auto extent = loop_extent(sch.find(loops[i]).loop());
    if (is_spatial_axis && spatial != -1) spatial = extent ? spatial * *extent : -1;
    const std::vector<size_t>& levels = is_spatial_axis ? spatial_levels : reduction_levels;
    RVs parts = levels.size() == 1 ? RVs{loops[i]} : split_loop(state, loops[i], static_cast<int>(levels.size()));
    for (size_t level = 0; level < levels.size(); ++level) tiles[levels[level]].push_back(parts[level]);
  }
  RVs order;
  for (const RVs& level : tiles)
    for (const RV& loop : level) order.push_back(loop);
  sch.reorder(order);
  for (size_t i = 0; i < std::min(tile_binds.size(), tiles.size()); ++i) {
    RV fused = sch.fuse(tiles[i]);
    sch.bind(fused, tile_binds[i]);
    tiles[i] = {fused};
  }
  state.tiles = std::move(tiles);
  if (warp_size != -1) {
    int64_t low = spatial > 2 * warp_size ? warp_size : 1;
    sch.annotate(state.block, note::kThreadExtentLow, PrimExpr(static_cast<int>(low)));
    sch.annotate(state.block, note::kThreadExtentHigh, PrimExpr(static_cast<int>(max_threads)));
  }
  return {state};
}

std::vector<TilingState> MultiLevelTilingNode::with_write_copy(TilingState state) const {
  if (reuse_write.kind == Reuse::Kind::None) return {state};
  std::vector<int64_t> levels = reuse_write.levels;
  Reuse::Kind kind = reuse_write.kind;
  if (ObjectRef given = note_of(state.sch.find(state.block).block(), note::kWriteCacheLevel)) {
    kind = Reuse::Kind::Must;
    levels = ints_of(Any::of_object(given.get()).to<Array<PrimExpr>>());
  }
  auto moved = [&](const TilingState& from, const RV& copy, int64_t level) {
    TilingState out = from.copied();
    out.sch.reverse_compute_at(copy, out.tiles[static_cast<size_t>(level - 1)].back());
    return out;
  };
  std::vector<TilingState> out;
  if (kind == Reuse::Kind::May) {
    // An epilogue that only goes through the result element by element is such a copy already.
    RVs consumers = state.sch.get_consumers(state.block);
    if (consumers.size() == 1 && is_write_cache(state.sch.find(consumers[0]).block())) {
      state.write_copy = consumers[0];
      for (int64_t level : levels) out.push_back(moved(state, consumers[0], level));
      out.push_back(state);
      return out;
    }
    out.push_back(state.copied());
  }
  state.write_copy = state.sch.cache_write(state.block, 0, reuse_write.scope);
  for (int64_t level : levels) out.push_back(moved(state, state.write_copy, level));
  return out;
}

std::vector<TilingState> MultiLevelTilingNode::with_read_copies(TilingState state) const {
  if (reuse_read.kind == Reuse::Kind::None) return {state};
  std::vector<TilingState> out;
  for (int64_t level : reuse_read.levels) {
    TilingState fresh = state.copied();
    const Traced& sch = fresh.sch;
    RV loop = fresh.tiles[static_cast<size_t>(level - 1)].back();
    Block block = sch.find(state.block).realize()->block;
    for (size_t i = 0; i < block->reads.size(); ++i) {
      if (block->reads[i]->buffer.same_as(block->writes[0]->buffer)) continue;
      RV copy = sch.cache_read(state.block, static_cast<int>(i), reuse_read.scope, {state.block});
      sch.compute_at(copy, loop);
      RVs loops = sch.get_loops(copy);
      size_t dims = block->reads[i]->region.size();
      sch.fuse(RVs(loops.end() - static_cast<long>(dims), loops.end()));
      fetch_together(sch, copy);
      fresh.read_copies[static_cast<int>(i)] = copy;
    }
    out.push_back(std::move(fresh));
  }
  return out;
}

/// Lets the threads fetch a copy together, in vectors as wide as the element type allows.
void MultiLevelTilingNode::fetch_together(const Traced& sch, const RV& copy) const {
  DataType dtype = sch.find(copy).block()->writes[0]->buffer->dtype;
  auto fits = [&](int64_t lanes) {
    if (dtype == kFloat32) return lanes <= 4;
    if (dtype == DataType::Float(16)) return (lanes == 1 || lanes % 2 == 0) && lanes <= 8;
    if (dtype == kInt8) return lanes <= 16;
    return true;
  };
  std::vector<int64_t> lanes;
  for (int64_t each : vector_load_lens)
    if (fits(each)) lanes.push_back(each);
  if (!lanes.empty()) sch.annotate(copy, note::kCooperativeFetch, sch.sample_categorical(lanes));
}

}  // namespace tessera::meta_schedule

#include "schedule/tensorize/auto_tensorize.h"
#include "tir/tensor_intrin.h"
#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/rule/multi_level_tiling.h"

namespace tessera::meta_schedule {
namespace {

/// The element types of what the block accumulates into and of its operands, in order.
std::vector<DataType> element_types(const BlockNode* block) {
  const Buffer& result = block->writes[0]->buffer;
  std::vector<DataType> out{result->dtype};
  for (const BufferRegion& read : block->reads)
    if (!read->buffer.same_as(result)) out.push_back(read->buffer->dtype);
  return out;
}

}  // namespace

RV tile_for_intrin(const Traced& sch, const RV& block, const String& intrin) {
  TensorIntrin found = find_tensor_intrin(intrin);
  if (!found) throw Error(ValueError) << "there is no tensor intrinsic " << quoted(intrin);
  const BlockRealize* described = nullptr;
  schedule::loops_of(found->desc, &described);
  if (!described || described->block->writes.size() != 1 ||
      element_types(described->block.get()) != element_types(sch.find(block).block()))
    return {};
  ObjectRef mapping = schedule::tensorize_loop_mapping(sch.sch(), block, found->desc, false);
  if (!mapping) return {};
  auto pairs = Any::of_object(mapping.get()).to<Array<ObjectRef>>();
  Array<ObjectRef> ours(pairs[0].as<ArrayNode>()), theirs(pairs[1].as<ArrayNode>());
  // What stands for the description's loops, outermost first: they were found from the inside out.
  std::vector<std::pair<const For*, const For*>> wanted;
  for (size_t i = ours.size(); i-- > 0;) wanted.push_back({ours[i].as<For>(), theirs[i].as<For>()});
  if (wanted.empty()) return {};
  RVs order, loops = sch.get_loops(block);  // those to put in order: from the first tile on
  std::vector<Var> vars;
  for (const RV& loop : loops) vars.push_back(sch.find(loop).loop()->loop_var);
  RVs inner(wanted.size(), ObjectRef());
  bool is_behind_tile = false;
  auto add_outer = [&](const RV& loop) {
    if (is_behind_tile) order.push_back(loop);
  };
  for (size_t i = 0; i < loops.size(); ++i) {
    size_t at = 0;
    while (at < wanted.size() && !wanted[at].first->loop_var.same_as(vars[i])) ++at;
    if (at == wanted.size()) {
      add_outer(loops[i]);
      continue;
    }
    RVs parts = sch.split(loops[i], {ObjectRef(), wanted[at].second->extent});
    add_outer(parts[0]);
    inner.set(at, parts[1]);
    is_behind_tile = true;
  }
  for (const RV& loop : inner) order.push_back(loop);
  sch.reorder(order);
  RV tile = sch.blockize(inner[0]);
  sch.annotate(tile, note::kAutoTensorize, intrin);
  return tile;
}

Array<Schedule> MultiLevelTilingWithIntrinNode::apply(const Schedule& sch, const RV& block) {
  Cursor cursor = sch->cursor(block);
  if (is_root(cursor) || !needs_multi_level_tiling(cursor)) return {sch};
  TilingState state{.sch = Traced(schedule::copy_schedule(sch)), .block = block};
  state.sch.annotate(block, note::kTilingStructure, structure);
  RV tile;
  try {
    tile = tile_for_intrin(state.sch, block, intrin);
  } catch (const Error& error) {
    if (error.kind() != ScheduleError) throw;
  }
  if (!tile) return {sch};
  state.block = tile;
  Array<Schedule> out;
  for (const TilingState& a : tiled(state))
    for (const TilingState& b : with_write_copy(a))
      for (const TilingState& c : with_read_copies(b)) out.push_back(c.sch.sch());
  return out;
}

}  // namespace tessera::meta_schedule

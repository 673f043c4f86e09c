#include "topi/cpu/default_rule.h"

#include "codegen/parallel.h"
#include "schedule/primitives.h"

namespace tessera::topi {
namespace {

using schedule::BlockRef;
using schedule::LoopRef;
using schedule::State;

constexpr int64_t kVectorLanes = 16;         // of the widest registers there are, in floats
constexpr int64_t kParallelElements = 4096;  // below this a second thread costs more than it brings

/// Runs a primitive; one that refuses leaves the program as it was.
template <class F>
bool attempt(F primitive) {
  try {
    primitive();
    return true;
  } catch (const Error& error) {
    if (error.kind() != ScheduleError) throw;
    return false;
  }
}

bool is_spatial(const schedule::Place& place) {
  for (const IterVar& axis : place.block()->iter_vars)
    if (axis->iter_type != IterType::DataPar) return false;
  return true;
}

void inline_elementwise(State& state, const std::vector<BlockRef>& blocks) {
  for (const BlockRef& block : blocks) {
    if (!is_spatial(state.find(block)) || schedule::get_consumers(state, block).empty()) continue;
    attempt([&] { schedule::compute_inline(state, block); });
  }
}

/// The loops around a block that only carry spatial axes, from the outside.
std::vector<LoopRef> spatial_loops(const State& state, const BlockRef& block) {
  schedule::Place place = state.find(block);
  std::vector<LoopRef> out;
  std::vector<const For*> loops = place.loops();
  auto* realize = place.realize();
  for (const For* loop : loops) {
    bool is_one = false;
    for (size_t i = 0; i < realize->iter_values.size(); ++i) {
      auto* var = realize->iter_values[i].as<VarNode>();
      if (var == loop->loop_var.get() && place.block()->iter_vars[i]->iter_type == IterType::DataPar) is_one = true;
    }
    if (!is_one) break;
    out.push_back(State::ref(block.function, loop));
  }
  return out;
}

int64_t extent_of(const State& state, const LoopRef& loop) {
  const int64_t* extent = as_int(state.find(loop).loop()->extent);
  return extent ? *extent : -1;
}

void tile(State& state, const BlockRef& block) {
  std::vector<LoopRef> loops = spatial_loops(state, block);
  if (loops.empty()) return;
  bool all_spatial = is_spatial(state.find(block)) && loops.size() == state.find(block).loops().size();
  int64_t total = 1;  // of the extents that are known
  bool is_open = false;
  for (const LoopRef& loop : loops) {
    int64_t extent = extent_of(state, loop);
    if (extent < 0) is_open = true;
    else total *= extent;
  }
  int64_t inside = 1;  // known elements in one iteration of the loop that will be shared
  if (all_spatial) {
    LoopRef inner = loops.back();
    int64_t extent = extent_of(state, inner);
    if (extent > kVectorLanes || extent < 0) {
      std::vector<LoopRef> parts;
      attempt([&] { parts = schedule::split(state, inner, {PrimExpr(), PrimExpr(int(kVectorLanes))}, true); });
      if (parts.size() == 2) loops.back() = parts[0], inner = parts[1];
      // Of an open extent whole vectors and the rest are parted, which needs the loop over vectors as it is.
      if (extent < 0 && loops.size() > 1) loops.pop_back();
      else inside = kVectorLanes;
    } else {
      loops.pop_back();
      inside = extent;
    }
    if (extent > 1 || extent < 0) attempt([&] { schedule::vectorize(state, inner); });
  }
  if (loops.empty() || (!is_open && total < kParallelElements)) return;
  LoopRef outer = loops[0];
  if (loops.size() > 1) attempt([&] { outer = schedule::fuse(state, loops, true); });
  attempt([&] {
    schedule::parallel(state, outer);
    if (is_open)  // whether it is worth sharing is seen at run time
      schedule::annotate(state, state.find(outer), attr::kLeastParallelExtent,
                         int_imm(DataType::Int(32), std::max<int64_t>(2, kParallelElements / inside)));
  });
}

/// A reduction over an axis that may be empty still gives its identity: the init gets loops of its own.
void keep_init(State& state, const BlockRef& block) {
  schedule::Place place = state.find(block);
  if (!place.block()->init) return;
  bool may_be_empty = false;
  for (const IterVar& axis : place.block()->iter_vars) {
    const int64_t* extent = as_int(axis->dom->extent);
    if (axis->iter_type == IterType::CommReduce && (!extent || *extent < 1)) may_be_empty = true;
  }
  std::vector<const For*> loops = place.loops();
  size_t spatial = spatial_loops(state, block).size();
  if (!may_be_empty || spatial >= loops.size()) return;
  schedule::decompose_reduction(state, block, State::ref(block.function, loops[spatial]));
}

}  // namespace

PrimFunc schedule_default_cpu(const PrimFunc& function) {
  GlobalVarNode node;
  node.name_hint = "main";
  GlobalVar name = make(std::move(node));
  State state(IRModule(Map<GlobalVar, BaseFunc>{{name, function}}));
  schedule::Place root = schedule::all_blocks(function->body, name).front();
  BlockRef root_ref = State::ref(name, root.block());
  inline_elementwise(state, schedule::get_child_blocks(state, state.find(root_ref)));
  for (const BlockRef& block : schedule::get_child_blocks(state, state.find(root_ref))) keep_init(state, block);
  for (const BlockRef& block : schedule::get_child_blocks(state, state.find(root_ref))) tile(state, block);
  return state.function(name);
}

}  // namespace tessera::topi

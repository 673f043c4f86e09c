#include "topi/block_rule.h"

#include "arith/analyzer.h"
#include "ir/prim/ops.h"

namespace tessera::topi {

using schedule::BlockRef;
using schedule::LoopRef;
using schedule::State;

namespace {

GlobalVar only_function() {
  GlobalVarNode node;
  node.name_hint = "main";
  return make(std::move(node));
}

}  // namespace

BlockProgram::BlockProgram(const PrimFunc& function)
    : name_(only_function()),
      state(IRModule(Map<GlobalVar, BaseFunc>{{name_, function}})),
      root_(State::ref(name_, schedule::all_blocks(function->body, name_).front().block())) {}

std::vector<BlockRef> BlockProgram::stages() const { return schedule::get_child_blocks(state, state.find(root_)); }

bool is_spatial(const schedule::Cursor& cursor) {
  for (const IterVar& axis : cursor.block()->iter_vars)
    if (axis->iter_type != IterType::DataPar) return false;
  return true;
}

std::vector<PrimExpr> plain_axes(const schedule::Cursor& cursor) {
  const BlockNode* block = cursor.block();
  const BlockRealize* realize = cursor.realize();
  std::vector<const For*> loops = cursor.loops();
  if (!is_spatial(cursor) || is_scheduled(cursor) || !is_one(realize->predicate) || !block->body.as<BufferStore>() ||
      block->init || !block->alloc_buffers.empty() || !block->match_buffers.empty() ||
      loops.size() != realize->iter_values.size())
    return {};
  std::vector<PrimExpr> out;
  for (size_t i = 0; i < loops.size(); ++i) {
    const int64_t* extent = as_int(loops[i]->extent);
    const bool is_innermost = i + 1 == loops.size();
    const bool is_own =
        is_innermost ? loops[i]->body.as<BlockRealize>() == realize : loops[i]->body.as<For>() == loops[i + 1];
    const bool is_counted = extent ? *extent >= 1 : loops[i]->extent.dtype() == DataType::Int(32);
    if (!is_counted || !is_zero(loops[i]->min) || !is_own || !realize->iter_values[i].same_as(loops[i]->loop_var))
      return {};
    out.push_back(loops[i]->extent);
  }
  return out;
}

std::vector<int64_t> plain_extents(const schedule::Cursor& cursor) {
  std::vector<int64_t> out;
  for (const PrimExpr& extent : plain_axes(cursor)) {
    if (!as_int(extent)) return {};
    out.push_back(*as_int(extent));
  }
  return out;
}

std::vector<LoopRef> spatial_loops(const State& state, const BlockRef& block) {
  schedule::Cursor cursor = state.find(block);
  std::vector<LoopRef> out;
  auto* realize = cursor.realize();
  for (const For* loop : cursor.loops()) {
    bool is_one = false;
    for (size_t i = 0; i < realize->iter_values.size(); ++i) {
      auto* var = realize->iter_values[i].as<VarNode>();
      if (var == loop->loop_var.get() && cursor.block()->iter_vars[i]->iter_type == IterType::DataPar) is_one = true;
    }
    if (!is_one) break;
    out.push_back(State::ref(block.function, loop));
  }
  return out;
}

int64_t extent_of(const State& state, const LoopRef& loop) {
  PrimExpr extent = state.find(loop).loop()->extent;
  if (!as_int(extent)) extent = arith::Analyzer().simplify(extent);
  return as_int(extent) ? *as_int(extent) : -1;
}

int64_t known_extent(const State& state, const std::vector<LoopRef>& loops) {
  int64_t out = 1;
  for (const LoopRef& loop : loops)
    if (int64_t extent = extent_of(state, loop); extent >= 0) out *= extent;
  return out;
}

bool is_scheduled(const schedule::Cursor& cursor) {
  if (schedule::is_nest(cursor)) return true;
  for (const For* loop : cursor.loops())
    if (loop->kind != LoopKind::Serial) return true;
  return false;
}

void inline_elementwise(State& state, const std::vector<BlockRef>& blocks,
                        const std::function<bool(const BlockRef&)>& stays) {
  for (const BlockRef& block : blocks) {
    if (!is_spatial(state.find(block)) || schedule::get_consumers(state, block).empty()) continue;
    if (stays && stays(block)) continue;
    attempt([&] { schedule::compute_inline(state, block); });
  }
}

void keep_init(State& state, const BlockRef& block) {
  schedule::Cursor cursor = state.find(block);
  if (!cursor.block()->init) return;
  bool may_be_empty = false;
  for (const IterVar& axis : cursor.block()->iter_vars) {
    const int64_t* extent = as_int(axis->dom->extent);
    if (axis->iter_type == IterType::CommReduce && (!extent || *extent < 1)) may_be_empty = true;
  }
  std::vector<const For*> loops = cursor.loops();
  size_t spatial = spatial_loops(state, block).size();
  if (!may_be_empty || spatial >= loops.size()) return;
  schedule::decompose_reduction(state, block, State::ref(block.function, loops[spatial]));
}

}  // namespace tessera::topi

#include "topi/gpu/stage_threads.h"

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "topi/cpu/number.h"

namespace tessera::topi {
namespace {

using schedule::BlockRef;
using schedule::LoopRef;
using schedule::State;

constexpr int64_t kThreads = 256;             // of a block, where the device allows that many
constexpr int64_t kLanes = 4;                 // of the widest loads and stores of floats
constexpr int64_t kVectorElements = 1 << 16;  // below this threads are worth more than vectors
constexpr int64_t kFewResults = 1024;         // of a reduction: threads have to share them
constexpr int64_t kLongReduction = 64;
constexpr int64_t kFewThreads = 32;  // of a block: most of a multiprocessor would idle

int64_t most_threads(const Target& target) {
  int64_t all = target.int_option("max_num_threads", kThreads);
  return std::min(all, target.int_option("max_threads_per_block", all));
}

int64_t reduction_length(const State& state, const BlockRef& block) {
  int64_t out = 1;
  for (const IterVar& axis : state.find(block).block()->iter_vars)
    if (const int64_t* extent = as_int(axis->dom->extent); axis->iter_type == IterType::CommReduce)
      out = extent ? out * *extent : -1;
  return out;
}

bool carries(const schedule::Cursor& cursor, const For* loop, IterType type) {
  auto* realize = cursor.realize();
  for (size_t i = 0; i < realize->iter_values.size(); ++i)
    if (realize->block->iter_vars[i]->iter_type == type && uses_var(realize->iter_values[i], loop->loop_var))
      return true;
  return false;
}

}  // namespace

StageThreads::StageThreads(State& state, const Target& target)
    : state_(state), threads_(std::min(kThreads, most_threads(target))) {}

/// Few results, each of many elements, in one buffer.
bool StageThreads::is_long(const BlockRef& block) const {
  schedule::Cursor cursor = state_.find(block);
  if (is_spatial(cursor) || cursor.block()->writes.size() != 1) return false;
  auto loops = spatial_loops(state_, block);
  for (const LoopRef& loop : loops)
    if (extent_of(state_, loop) < 0) return false;
  return known_extent(state_, loops) <= kFewResults && reduction_length(state_, block) >= kLongReduction;
}

bool StageThreads::across_threads(const BlockRef& block) {
  if (!is_long(block)) return false;
  State::Snapshot before = state_.snapshot();
  bool fits = attempt([&] {
    std::vector<LoopRef> spatial = spatial_loops(state_, block), reduce;
    std::vector<const For*> all = state_.find(block).loops();
    for (size_t i = spatial.size(); i < all.size(); ++i) reduce.push_back(State::ref(block.function, all[i]));
    if (spatial.empty()) spatial.push_back(schedule::add_unit_loop(state_, outermost(block)));
    LoopRef inner = schedule::fuse(state_, reduce, true);
    LoopRef result = schedule::fuse(state_, spatial, true);
    int64_t threads = 32;
    while (threads * 2 <= threads_ && threads * 2 <= extent_of(state_, inner)) threads *= 2;
    std::vector<LoopRef> parts = schedule::split(state_, inner, {PrimExpr(), number(threads)}, true);
    schedule::bind(state_, result, "blockIdx.x");
    schedule::bind(state_, parts[1], "threadIdx.x");
  });
  if (!fits) state_.restore(before);
  return fits;
}

schedule::Cursor StageThreads::outermost(const BlockRef& block) const {
  schedule::Cursor cursor = state_.find(block);
  std::vector<const For*> loops = cursor.loops();
  return loops.empty() ? cursor : state_.find(State::ref(block.function, loops[0]));
}

/// The stage that alone reads a reduction, element by element; empty when there is none.
BlockRef StageThreads::only_consumer(const BlockRef& block) const {
  std::vector<BlockRef> consumers = schedule::get_consumers(state_, block);
  if (is_spatial(state_.find(block)) || consumers.size() != 1 || !is_spatial(state_.find(consumers[0]))) return {};
  auto mine = spatial_loops(state_, block), theirs = spatial_loops(state_, consumers[0]);
  for (const auto* loops : {&mine, &theirs})
    for (const LoopRef& loop : *loops)
      if (extent_of(state_, loop) < 0) return {};
  return known_extent(state_, mine) == known_extent(state_, theirs) ? consumers[0] : BlockRef();
}

bool StageThreads::in_consumer(const BlockRef& block) {
  BlockRef consumer = only_consumer(block);
  return consumer.key && in_threads_of(block, consumer);
}

bool StageThreads::in_registers(const BlockRef& block) {
  schedule::Cursor cursor = state_.find(block);
  if (is_spatial(cursor) || !cursor.block()->init || cursor.block()->writes.size() != 1) return false;
  State::Snapshot before = state_.snapshot();
  BlockRef store;
  if (attempt([&] { store = schedule::cache_write(state_, block, 0, "local"); }) && in_threads_of(block, store))
    return true;
  return state_.restore(before), false;
}

bool StageThreads::in_threads_of(const BlockRef& block, const BlockRef& consumer) {
  State::Snapshot before = state_.snapshot();
  bool fits = attempt([&] {
    LoopRef thread = bind(consumer, false);
    for (size_t i = 0; i < state_.find(block).block()->writes.size(); ++i)
      schedule::set_scope(state_, block, static_cast<int>(i), "local");
    schedule::compute_at(state_, block, thread, true, -1);
  });
  // one result per thread: more would be computed again and again
  if (!fits || elements(block) != 1) return state_.restore(before), false;
  start_before_loops(block);
  return true;
}

/// The initial value is set before the loops of the reduction, not in their first iteration.
void StageThreads::start_before_loops(const BlockRef& block) {
  schedule::Cursor cursor = state_.find(block);
  if (!cursor.block()->init) return;
  for (const For* loop : cursor.loops()) {
    if (!carries(cursor, loop, IterType::CommReduce)) continue;
    attempt([&] { schedule::decompose_reduction(state_, block, State::ref(block.function, loop)); });
    return;
  }
}

/// Results of the block in one thread, after it was moved there.
int64_t StageThreads::elements(const BlockRef& block) const {
  schedule::Cursor cursor = state_.find(block);
  int64_t out = 1;
  for (const For* loop : cursor.loops()) {
    const int64_t* extent = as_int(loop->extent);
    if (!loop->thread_binding && carries(cursor, loop, IterType::DataPar)) out *= extent ? *extent : 2;
  }
  return out;
}

void StageThreads::by_elements(const BlockRef& block) {
  // nothing to compute, and nothing to divide indices by
  if (known_extent(state_, spatial_loops(state_, block)) == 0) {
    schedule::replace_by_nest(state_, block, {}, make_nop());
    return;
  }
  bind(block, true);
}

/// A thread per element of the spatial loops, or per vector of elements; gives the loop of threads.
LoopRef StageThreads::bind(const BlockRef& block, bool may_vectorize) {
  if (!is_spatial(state_.find(block))) keep_init(state_, block);
  std::vector<LoopRef> loops = spatial_loops(state_, block);
  if (loops.empty()) {
    LoopRef one = schedule::add_unit_loop(state_, outermost(block));
    schedule::bind(state_, one, "threadIdx.x");
    return one;
  }
  const bool is_whole = is_spatial(state_.find(block)) && loops.size() == state_.find(block).loops().size();
  if (may_vectorize && is_whole && known_extent(state_, loops) >= kVectorElements &&
      extent_of(state_, loops.back()) % kLanes == 0) {
    auto parts = schedule::split(state_, loops.back(), {PrimExpr(), number(kLanes)}, true);
    loops.back() = parts[0];
    attempt([&] { schedule::vectorize(state_, parts[1]); });
  }
  std::vector<LoopRef> inner = take_threads(&loops);
  LoopRef thread = inner.size() == 1 ? inner[0] : schedule::fuse(state_, inner, true);
  schedule::bind(state_, thread, "threadIdx.x");
  if (loops.empty()) return thread;
  State::Snapshot before = state_.snapshot();
  bool fits = attempt([&] {
    LoopRef all = loops.size() == 1 ? loops[0] : schedule::fuse(state_, loops, true);
    schedule::bind(state_, all, "blockIdx.x");
  });
  if (fits) return thread;
  state_.restore(before);  // fused loops of dynamic extents are not always seen to be apart
  for (const char* axis : {"blockIdx.x", "blockIdx.y", "blockIdx.z"}) {
    if (loops.empty()) break;
    schedule::bind(state_, loops.back(), axis);
    loops.pop_back();
  }
  return thread;
}

/// Takes whole inner loops while they fit into one block of threads, and a part of the next one. Threads then stand for
/// digits of the loops, and indices need no division by what does not divide.
std::vector<LoopRef> StageThreads::take_threads(std::vector<LoopRef>* loops) {
  std::vector<LoopRef> out;
  int64_t count = 1;
  while (!loops->empty()) {
    LoopRef last = loops->back();
    int64_t extent = extent_of(state_, last);
    if (extent >= 0 && count * extent <= threads_) {
      count *= std::max<int64_t>(extent, 1);
      out.insert(out.begin(), last);
      loops->pop_back();
      continue;
    }
    int64_t most = threads_ / count, part = most;
    if (extent > 0) {
      while (extent % part != 0) --part;
      if (part * count < kFewThreads) part = most;  // better a guard
    }
    if (part == 1) break;
    auto parts = schedule::split(state_, last, {PrimExpr(), number(part)}, true);
    loops->back() = parts[0];
    out.insert(out.begin(), parts[1]);
    break;
  }
  return out;
}

}  // namespace tessera::topi

#include "runtime/registry.h"
#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/rule/rules.h"

namespace tessera::meta_schedule {

std::vector<int64_t> ints_of(const Array<PrimExpr>& values) {
  std::vector<int64_t> out;
  for (const PrimExpr& value : values) {
    auto number = as_int(value);
    if (!number) throw Error(TypeError) << "expected an int, got " << value;
    out.push_back(*number);
  }
  return out;
}

FactorOfThreads sampled_factor(const Traced& sch, const std::vector<int64_t>& extents) {
  return [sch, extents](int64_t most) -> RV {
    std::vector<int64_t> allowed;
    for (int64_t extent : extents)
      if (extent <= most) allowed.push_back(extent);
    if (allowed.size() > 1) return sch.sample_categorical(allowed);
    return PrimExpr(static_cast<int>(allowed.empty() ? most : allowed[0]));
  };
}

namespace {

/// How far the loops of a block may be fused for threads.
struct LoopsToBind {
  int block_index = -1, thread_index = -1;  // the first loop that is bound to one
  int same_for_all = 0;                     // loops before the first with several statements, or that is not serial
  int spatial = 0;                          // spatial loops at the beginning
};

LoopsToBind loops_to_bind(const Cursor& block) {
  LoopsToBind out;
  std::vector<const For*> loops = block.loops();
  int end = static_cast<int>(loops.size());
  out.same_for_all = end;
  for (int i = 0; i < static_cast<int>(loops.size()); ++i) {
    const For* loop = loops[static_cast<size_t>(i)];
    if (out.block_index == -1 && is_block_index(loop)) out.block_index = i;
    if (out.thread_index == -1 && is_thread_index(loop)) out.thread_index = i;
    if (loop->kind != LoopKind::Serial) end = std::min(end, i);
    if (loop->body.as<SeqStmt>()) end = std::min(end, i + 1);
    if (out.spatial == i && loop_type(loop, block.function) == IterType::DataPar) ++out.spatial;
  }
  out.same_for_all = end;
  return out;
}

RVs first_of(const RVs& loops, int count) { return RVs(loops.begin(), loops.begin() + count); }

}  // namespace

void bind_threads(const Traced& sch, const RV& block, int64_t max_threadblocks, int64_t max_threads,
                  const FactorOfThreads& factor) {
  Cursor cursor = sch.find(block);
  if (is_root(cursor) || is_tiled(cursor.block())) return;
  LoopsToBind found = loops_to_bind(cursor);
  if (found.block_index != -1 && found.thread_index != -1) return;
  if (found.block_index != -1)
    throw Error(ScheduleError) << "block " << quoted(cursor.block()->name_hint)
                               << " has a loop bound to blockIdx and none bound to threadIdx";
  RVs loops = sch.get_loops(block);
  if (found.spatial == 0) {
    RV unit = sch.add_unit_loop(loops.empty() ? block : loops[0]);
    loops.insert(0, unit);
    found.spatial = 1;
    ++found.same_for_all;
    if (found.thread_index != -1) ++found.thread_index;
  }
  int count = std::min(found.same_for_all, found.spatial);
  if (found.thread_index != -1) {
    sch.bind(sch.fuse(first_of(loops, std::min(count, found.thread_index))), "blockIdx.x");
    return;
  }
  RV fused = sch.fuse(first_of(loops, count));
  int64_t extent = loop_extent(sch.find(fused).loop()).value_or(std::numeric_limits<int>::max());
  if (extent <= max_threadblocks * max_threads) {
    RVs parts = sch.split(fused, {ObjectRef(), factor(std::min(extent, max_threads))});
    sch.bind(parts[0], "blockIdx.x");
    sch.bind(parts[1], "threadIdx.x");
    return;
  }
  RVs parts = sch.split(
      fused, {ObjectRef(), PrimExpr(static_cast<int>(max_threadblocks)), PrimExpr(static_cast<int>(max_threads))});
  sch.reorder({parts[1], parts[2], parts[0]});
  sch.bind(parts[1], "blockIdx.x");
  sch.bind(parts[2], "threadIdx.x");
}

void AutoBindNode::initialize(const TuneContextNode& context) {
  max_threads = context.target ? context.target.int_option("max_threads_per_block", -1) : -1;
  if (max_threads <= 0)
    throw Error(ValueError) << "AutoBind needs a target with max_threads_per_block, which " << context.target
                            << " has not";
}

Array<Schedule> AutoBindNode::apply(const Schedule& sch, const RV& block) {
  Traced traced(sch);
  bind_threads(traced, block, max_threadblocks, max_threads, sampled_factor(traced, thread_extents));
  return {sch};
}

namespace {
Globals auto_bind_globals{{"meta_schedule.ScheduleRuleAutoBind", [](int64_t blocks, const Array<PrimExpr>& extents) {
                             AutoBindNode rule;
                             rule.max_threadblocks = blocks;
                             rule.thread_extents = ints_of(extents);
                             return ScheduleRule(make(std::move(rule)));
                           }}};
}  // namespace
}  // namespace tessera::meta_schedule

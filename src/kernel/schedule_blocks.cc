#include "kernel/schedule_blocks.h"

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "topi/cpu/divided_axes.h"
#include "topi/cpu/reduction_block.h"
#include "topi/gpu/own_statements.h"

namespace tessera::kernel {
namespace {

using schedule::BlockRef;
using schedule::State;

/// The product of the loops around a block; those of dynamic extents count as one.
int64_t iterations(const schedule::Cursor& cursor) {
  int64_t out = 1;
  for (const For* loop : cursor.loops())
    if (const int64_t* extent = as_int(loop->extent)) out *= *extent;
  return out;
}

/// A function of its elements, or a choice between them: not what one wants to do again for each step of a reduction.
bool is_costly(const BlockNode* block) {
  bool found = false;
  walk(block->body, [&](const Select*) { found = true; });
  walk(block->body, [&](const Call*) { found = true; });
  return found;
}

/// A stage that only moves elements, and reads them along another axis than the one it writes along.
bool moves_across(const BlockNode* block) {
  auto* store = block->body.as<BufferStore>();
  auto* load = store ? store->value.as<BufferLoad>() : nullptr;
  if (!load || block->iter_vars.empty()) return false;
  auto step = topi::stride(load, block->iter_vars.back()->var);
  return step && *step != 0 && *step != 1;
}

/// True for stages that are computed once and read often: put into their consumers, they would be computed as often, or read
/// their elements one by one.
bool is_shared_work(const State& state, const BlockRef& block) {
  schedule::Cursor cursor = state.find(block);
  if (cursor.block()->annotations.count(topi::kComputedOnce)) return true;
  const bool is_move = moves_across(cursor.block());
  if (!is_move && !is_costly(cursor.block())) return false;
  const int64_t once = iterations(cursor);
  for (const BlockRef& consumer : schedule::get_consumers(state, block)) {
    schedule::Cursor there = state.find(consumer);
    if (!topi::is_spatial(there) && once > 0 && (is_move || iterations(there) > 2 * once)) return true;
  }
  return false;
}

/// What stands in the program when its stages are looked at one by one.
void inline_stages(State& state, const std::vector<BlockRef>& stages, bool is_gpu) {
  auto stays = [&](const BlockRef& block) { return !is_gpu && is_shared_work(state, block); };
  topi::inline_elementwise(state, stages, stays);
}

}  // namespace

PrimFunc schedule_blocks(const PrimFunc& function, const CompileEnvironment& environment, Choices* chosen,
                         const std::string& kernel, const std::vector<ScheduleRule>& rules) {
  const bool is_gpu = environment.is_gpu();
  topi::BlockProgram program(function);
  State& state = program.state;
  Subject subject{.environment = environment, .kernel = kernel, .program = &program};
  if (chosen) std::swap(subject.chosen, *chosen);
  if (!apply_cheapest(rules, RuleScope::Program, subject)) inline_stages(state, program.stages(), is_gpu);
  auto is_open = [&](const schedule::Cursor& block) {
    return !topi::is_scheduled(block) && !(is_gpu && topi::has_own_statements(block));
  };
  auto each_open_stage = [&](auto act) {
    for (const BlockRef& block : program.stages())
      if (is_open(state.find(block))) act(block);
  };
  auto apply_to = [&](RuleScope scope) {
    each_open_stage([&](const BlockRef& block) {
      subject.block = block;
      apply_cheapest(rules, scope, subject);
    });
  };
  apply_to(RuleScope::Reduction);
  if (!is_gpu)
    each_open_stage([&](const BlockRef& block) {
      topi::keep_init(state, block);
      topi::split_divided_axes(state, block);
    });
  apply_to(RuleScope::Stage);
  if (chosen) std::swap(subject.chosen, *chosen);
  PrimFunc out = program.finished();
  return is_gpu ? topi::bind_own_statements(out, environment.gpu) : out;
}

static Globals schedule_blocks_globals{
    {"topi.cpu.schedule_default",
     [](PrimFunc function, Target target) {
       return schedule_blocks(function, CompileEnvironment::make(target, nullptr, PassContext()));
     }},
};

}  // namespace tessera::kernel

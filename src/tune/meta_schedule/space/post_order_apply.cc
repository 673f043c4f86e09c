#include <unordered_set>

#include "runtime/registry.h"
#include "schedule/trace/sampling.h"
#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/space/spaces.h"

namespace tessera::meta_schedule {
namespace {

/// The blocks of the module in post-order, those inside before those around.
RVs blocks_of(const Traced& sch, const PackedFunc& filter) {
  RVs out;
  for (const auto& [var, function] : sch.sch()->state.mod().sorted_functions()) {
    auto* program = function.as<PrimFuncNode>();
    if (!program || !program->body) continue;
    std::vector<Cursor> found = schedule::all_blocks(program->body, var);
    // Blocks come with those around first: a block follows the last one inside it.
    std::vector<const Cursor*> order, open;
    for (const Cursor& block : found) {
      auto is_inside = [&](const Cursor* around) {
        for (const Stmt& stmt : block.path)
          if (stmt.same_as(around->stmt())) return true;
        return false;
      };
      for (; !open.empty() && !is_inside(open.back()); open.pop_back()) order.push_back(open.back());
      open.push_back(&block);
    }
    for (; !open.empty(); open.pop_back()) order.push_back(open.back());
    std::unordered_set<std::string> names;
    for (const Cursor& block : found)
      if (!names.insert(block.block()->name_hint.str()).second)
        throw Error(ValueError) << "two blocks of " << var->name_hint << " have the name "
                                << quoted(block.block()->name_hint) << "; rules find blocks by their names";
    for (const Cursor* block : order) {
      const Block& node = block->realize()->block;
      if (!filter.defined() || filter(node).to<bool>()) out.push_back(sch.get_block(node->name_hint, var->name_hint));
    }
  }
  return out;
}

struct Pending {
  Schedule sch;
  RVs blocks;  // still to be visited, the last one first
};

/// The rule that a block asks for by its annotation; an empty function where it asks for none.
PackedFunc own_rule(const Schedule& sch, const RV& block) {
  auto* name = note_of(sch->cursor(block).block(), note::kScheduleRule).as<StringNode>();
  return name ? find_global(name->text) : PackedFunc();
}

}  // namespace

void PostOrderApplyNode::initialize(const TuneContextNode& context) {
  rules = context.sch_rules;
  random = context.rand_state;
}

Array<Schedule> PostOrderApplyNode::generate(const IRModule& mod) {
  using schedule::Random;
  Schedule first = schedule::make_schedule(mod, Random(&random).fork() + 1, 0, 0);
  RVs blocks = blocks_of(Traced(first), block_filter);
  std::vector<Schedule> schedules{first};
  // Rules that blocks ask for come first; these blocks are then no one else's.
  auto visit = [&](const ScheduleRule& rule) {
    std::vector<Pending> stack;
    for (const Schedule& sch : schedules) stack.push_back({sch, blocks});
    schedules.clear();
    while (!stack.empty()) {
      Pending top = std::move(stack.back());
      stack.pop_back();
      if (top.blocks.empty()) {
        schedules.push_back(top.sch);
        continue;
      }
      RV block = top.blocks.back();
      top.blocks.pop_back();
      PackedFunc own = has_block(top.sch, block) ? own_rule(top.sch, block) : PackedFunc();
      if (!has_block(top.sch, block) || own.defined() == rule.defined()) {
        stack.push_back(std::move(top));
        continue;
      }
      Array<Schedule> results =
          rule ? rule->methods->apply(*rule.edit(), top.sch, block) : schedules_of(own(top.sch, block), top.sch);
      for (const Schedule& sch : results) stack.push_back({sch, top.blocks});
    }
  };
  visit(ScheduleRule());
  for (const ScheduleRule& rule : rules) visit(rule);
  return schedules;
}

namespace {
Globals post_order_apply_globals{{"meta_schedule.SpaceGeneratorPostOrderApply", [](const PackedFunc& filter) {
                                    PostOrderApplyNode space;
                                    space.block_filter = filter;
                                    return SpaceGenerator(make(std::move(space)));
                                  }}};
}  // namespace
}  // namespace tessera::meta_schedule

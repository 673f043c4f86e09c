// Mutators that have to see the program: where blocks may be computed, how many loops may run in parallel.

#include <set>

#include "schedule/compute_locations.h"
#include "schedule/trace/sampling.h"
#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/mutator/mutators.h"

namespace tessera::meta_schedule {

Trace MutateComputeLocationNode::apply(const Trace& trace, int64_t* random) {
  struct Candidate {
    Instruction inst;
    std::vector<int64_t> others;
  };
  std::vector<Candidate> candidates;
  Schedule sch = schedule::make_schedule(mod, 1, 0, 0);
  schedule::replay(
      trace, *sch.edit(), true,
      [&](const Instruction& inst, const Array<ObjectRef>& inputs, const Array<ObjectRef>&, const ObjectRef& decision) {
        if (!(inst->kind->name == "SampleComputeLocation")) return decision;
        std::vector<int64_t> others;
        auto* taken = decision.as<IntImm>();
        for (int64_t each : schedule::compute_location_decisions(sch->state, sch->block(inputs[0])))
          if (!taken || each != taken->value) others.push_back(each);
        if (!others.empty()) candidates.push_back({inst, others});
        return decision;
      });
  if (candidates.empty()) return {};
  auto pick = [&](size_t count) {
    return static_cast<size_t>(schedule::sample_int(random, 0, static_cast<int>(count)));
  };
  const Candidate& chosen = candidates[pick(candidates.size())];
  int64_t decision = chosen.others[pick(chosen.others.size())];
  return schedule::trace_with_decision(trace, chosen.inst, PrimExpr(static_cast<int>(decision)), true);
}

void MutateParallelNode::initialize(const TuneContextNode& context) {
  mod = context.mod;
  max_parallel = core_count(context.target) * max_jobs_per_core;
}

namespace {

/// What the outermost spatial loops of the blocks of a root multiply to, one after another.
std::set<int64_t> parallel_extents(const Cursor& root, int64_t most) {
  std::set<int64_t> out;
  for (const Cursor& block : schedule::blocks_below(root.block()->body, root.function)) {
    int64_t extent = 1;
    for (const Stmt& stmt : block.path) {
      auto* loop = stmt.as<For>();
      if (!loop) continue;
      auto count = loop_extent(loop);
      if (!count || *count <= 0 || extent > most || loop_type(loop, root.function) != IterType::DataPar) break;
      extent *= *count;
      out.insert(std::min(extent, most));
      if (loop->body.as<SeqStmt>()) break;
    }
  }
  return out;
}

}  // namespace

Trace MutateParallelNode::apply(const Trace& trace, int64_t* random) {
  Instruction noted;
  for (const Instruction& inst : schedule::instructions_of(trace, true)) {
    auto* key = inst->kind->name == "Annotate" ? inst->attrs[0].as<StringNode>() : nullptr;
    if (key && key->text == note::kParallel && inst->inputs[1].as<IntImm>()) noted = inst;
  }
  if (!noted) return {};
  int64_t taken = noted->inputs[1].as<IntImm>()->value;
  Schedule sch = schedule::make_schedule(mod, 1, 0, 0);
  RV root;
  std::vector<Instruction> all = schedule::instructions_of(trace, true);
  schedule::replay(
      trace, *sch.edit(), true,
      [&](const Instruction& inst, const Array<ObjectRef>& inputs, const Array<ObjectRef>&, const ObjectRef& decision) {
        if (inst.same_as(noted)) root = inputs[0];
        return decision;
      });
  std::vector<int64_t> others;
  for (int64_t each : parallel_extents(sch->cursor(root), max_parallel))
    if (each != taken) others.push_back(each);
  if (others.empty()) return {};
  int64_t limit = others[static_cast<size_t>(schedule::sample_int(random, 0, static_cast<int>(others.size())))];
  Array<ObjectRef> inputs = noted->inputs;
  inputs.set(1, PrimExpr(static_cast<int>(limit)));
  schedule::TraceNode out;
  for (const Instruction& inst : all) {
    Instruction kept = inst.same_as(noted) ? with(inst, &schedule::InstructionNode::inputs, inputs) : inst;
    out.insts.push_back(kept);
    if (trace->decisions.count(inst)) out.decisions.set(kept, trace->decisions[inst]);
  }
  return make(std::move(out));
}

}  // namespace tessera::meta_schedule

// Rules for the stages of programs on CPUs. Those for "llvm" ask the machine model.

#include "ir/prim/ops.h"
#include "kernel/schedule_rule.h"
#include "tir/parallel.h"
#include "topi/cpu/borders.h"
#include "topi/cpu/contraction/matmul_nest.h"
#include "topi/cpu/contraction/tile_contraction.h"
#include "topi/cpu/contraction/tile_dot.h"
#include "topi/cpu/contraction/tile_winograd.h"
#include "topi/cpu/part_copies.h"
#include "topi/cpu/tile_elements.h"
#include "topi/cpu/tile_reduction.h"
#include "topi/cpu/transpose_dynamic.h"
#include "topi/cpu/windows.h"

namespace tessera::kernel {
namespace {

using schedule::BlockRef;
using schedule::State;

State& state_of(Subject& subject) { return subject.program->state; }
const topi::Machine& machine_of(const Subject& subject) { return subject.environment.machine; }

template <class P>
constexpr const TypeInfo* knobs_type() {
  if constexpr (requires(P plan) { plan.knobs; }) return &type_of<typename decltype(P::knobs)::Node>;
  else return nullptr;
}

/// A rule that is a planner (state, block, machine) -> optional plan, and what does as the plan says. The member `knobs` of a
/// plan, where it has one, is what may be moved.
template <class P>
ScheduleRule planned(const char* name, double least_cost,
                     std::optional<P> (*plan)(const State&, const BlockRef&, const topi::Machine&),
                     void (*apply)(State&, const BlockRef&, const P&)) {
  return {name,
          "llvm",
          RuleScope::Reduction,
          least_cost,
          [plan](Subject& subject) -> std::optional<Plan> {
            std::optional<P> found = plan(state_of(subject), subject.block, machine_of(subject));
            if (!found) return std::nullopt;
            ObjectRef knobs;
            if constexpr (requires { found->knobs; }) knobs = found->knobs;
            return Plan(std::move(*found), knobs);
          },
          [apply](Subject& subject, const Plan& plan) {
            P found = plan.as<P>();
            if constexpr (requires { found.knobs; }) found.knobs = downcast<decltype(found.knobs)>(plan.knobs);
            apply(state_of(subject), subject.block, found);
          },
          {},
          knobs_type<P>()};
}

std::optional<Plan> match_winograd(Subject& subject) {
  topi::WinogradKnobs knobs = topi::plan_winograd(*subject.program, machine_of(subject));
  return knobs ? std::optional(Plan(true, knobs)) : std::nullopt;
}

void apply_winograd(Subject& subject, const Plan& plan) {
  topi::tile_winograd(*subject.program, machine_of(subject), downcast<topi::WinogradKnobs>(plan.knobs));
}

// ---- contractions and pools, which are nests of their own ----------------------------------------------------------

std::optional<Plan> match_matmul(Subject& subject) {
  std::optional<topi::Matmul> matmul = topi::as_matmul(state_of(subject), subject.block, subject.program->function());
  if (matmul) topi::take_groups(&*matmul, machine_of(subject));
  topi::MatmulPlan plan = matmul ? topi::plan_matmul(*matmul, machine_of(subject)) : nullptr;
  return plan ? std::optional(Plan(*matmul, plan)) : std::nullopt;
}

void apply_matmul(Subject& subject, const Plan& plan) {
  const auto& matmul = plan.as<topi::Matmul>();
  const Stmt nest = topi::matmul_nest(matmul, downcast<topi::MatmulPlan>(plan.knobs), machine_of(subject));
  if (matmul.epilogue) schedule::replace_by_nest(state_of(subject), matmul.epilogue_ref, {subject.block}, nest);
  else schedule::replace_by_nest(state_of(subject), subject.block, {}, nest);
}

std::optional<topi::Windows> plan_pool(const State& state, const BlockRef& block, const topi::Machine& machine) {
  return topi::as_windows(state, block, machine);
}

/// The nest of windows side by side, with their padding and their epilogue.
void apply_pool(State& state, const BlockRef& block, const topi::Windows& windows) {
  auto ref = [&](const BlockNode* node) { return State::ref(block.function, node); };
  std::vector<BlockRef> fused;
  if (windows.padding) fused.push_back(ref(windows.padding));
  if (windows.epilogue) fused.push_back(block);
  schedule::replace_by_nest(state, windows.epilogue ? ref(windows.epilogue) : block, fused, topi::window_nest(windows));
}

/// Other extents than the block's own are for rules that call the planner themselves.
std::optional<topi::ContractionPlan> plan_contraction(const State& state, const BlockRef& block,
                                                      const topi::Machine& machine) {
  return topi::plan_contraction(state, block, machine);
}

// ---- other stages ----------------------------------------------------------------------------------------------------

std::optional<Plan> match_pad(Subject& subject) {
  Stmt nest = topi::padding_nest(state_of(subject).find(subject.block), machine_of(subject)->vector_bytes);
  return nest ? std::optional<Plan>(nest) : std::nullopt;
}

/// The nest that a rule found, in place of the stage.
void apply_nest(Subject& subject, const Plan& nest) {
  schedule::replace_by_nest(state_of(subject), subject.block, {}, nest.as<Stmt>());
}

std::optional<Plan> match_transpose(Subject& subject) {
  if (auto stage = topi::as_transposing(state_of(subject), subject.block, machine_of(subject)))
    return topi::transposing_nest(*stage, machine_of(subject));
  Stmt nest = topi::dynamic_transposing_nest(state_of(subject), subject.block, machine_of(subject));
  return nest ? std::optional<Plan>(nest) : std::nullopt;
}

std::optional<Plan> match_concatenate(Subject& subject) {
  std::vector<Stmt> parts = topi::part_copies(state_of(subject).find(subject.block));
  return parts.empty() ? std::nullopt : std::optional<Plan>(std::move(parts));
}

/// The nests of one block's parts, each tiled in a program of its own: beside its fellows, which write the same tensor, what is
/// done to one block alone could not be shown to be safe. Parts may have parts along another axis where they are few.
void tile_parts(const PrimFunc& function, const std::vector<Stmt>& nests, const CompileEnvironment& environment,
                std::vector<Stmt>* out) {
  constexpr size_t kFew = 8;
  auto* root = function->body.as<BlockRealize>();
  for (const Stmt& nest : nests) {
    Block body = with(root->block.get(), &BlockNode::body, nest);
    topi::BlockProgram program(with(function, &PrimFuncNode::body, Stmt(with(root, &BlockRealize::block, body))));
    const BlockRef block = program.stages().front();
    if (nests.size() <= kFew) {
      std::vector<Stmt> parts = topi::part_copies(program.state.find(block));
      if (!parts.empty()) {
        tile_parts(function, parts, environment, out);
        continue;
      }
    }
    auto transposing =
        environment.machine ? topi::as_transposing(program.state, block, environment.machine) : std::nullopt;
    if (transposing) {
      out->push_back(topi::transposing_nest(*transposing, environment.machine));
      continue;
    }
    topi::tile_elements(program.state, block);
    out->push_back(program.function()->body.as<BlockRealize>()->block->body);
  }
}

/// Parallel loops that write different elements, as one launch in which each thread does its share of all of them.
std::vector<Stmt> launched_together(const std::vector<Stmt>& nests) {
  std::vector<Stmt> shared, out;
  for (const Stmt& nest : nests) {
    auto* loop = nest.as<For>();
    (loop && loop->kind == LoopKind::Parallel ? shared : out).push_back(nest);
  }
  if (shared.size() < 2) return nests;
  For launch{.loop_var = make_var("launch", DataType::Int(32)), .min = 0, .extent = 1, .body = sequence(shared)};
  launch.annotations = {{String(attr::kParallelLaunchPoint), int_imm(DataType::Int(32), 1)}};
  out.push_back(make(std::move(launch)));
  return out;
}

void apply_concatenate(Subject& subject, const Plan& parts) {
  std::vector<Stmt> nests;
  tile_parts(subject.program->function(), parts.as<std::vector<Stmt>>(), subject.environment, &nests);
  schedule::replace_by_nest(state_of(subject), subject.block, {}, sequence(launched_together(nests)));
}

}  // namespace

std::vector<ScheduleRule> cpu_rules() {
  return {
      {"winograd",
       "llvm",
       RuleScope::Program,
       0,
       match_winograd,
       apply_winograd,
       {},
       &type_of<topi::WinogradKnobsNode>},
      {"matmul", "llvm", RuleScope::Reduction, 0, match_matmul, apply_matmul, {}, &type_of<topi::MatmulPlanNode>},
      planned<topi::Windows>("pool", 1, plan_pool, apply_pool),
      planned<topi::ContractionPlan>("contraction", 2, plan_contraction, topi::tile_contraction),
      planned<topi::DotPlan>("dot", 3, topi::plan_dot, topi::tile_dot),
      planned<topi::ReductionPlan>("reduction", 4, topi::plan_reduction, topi::tile_reduction),
      {"pad", "llvm", RuleScope::Stage, 0, match_pad, apply_nest},
      {"concatenate", "cpu", RuleScope::Stage, 1, match_concatenate, apply_concatenate},
      {"transposition", "llvm", RuleScope::Stage, 2, match_transpose, apply_nest},
      {"elements", "cpu", RuleScope::Stage, 3, [](Subject&) { return std::optional<Plan>(true); },
       [](Subject& subject, const Plan&) { topi::tile_elements(state_of(subject), subject.block); }},
  };
}

}  // namespace tessera::kernel

// Rules for the stages of programs on devices with threads.

#include "kernel/schedule_rule.h"
#include "topi/gpu/attention.h"
#include "topi/gpu/contraction.h"
#include "topi/gpu/rows.h"
#include "topi/gpu/shared_transpose.h"
#include "topi/gpu/stage_threads.h"
#include "topi/gpu/wgmma.h"
#include "topi/gpu/windows.h"

namespace tessera::kernel {
namespace {

using topi::StageThreads;

std::optional<Plan> matched(bool fits) { return fits ? std::optional<Plan>(true) : std::nullopt; }

/// Whether it fits is seen when it is done, on a copy of the program.
ScheduleRule tried(const char* name, double least_cost, bool (StageThreads::*way)(const schedule::BlockRef&)) {
  return {name,
          "gpu",
          RuleScope::Stage,
          least_cost,
          [way](Subject& subject) {
            schedule::State copy = subject.program->state.copy();
            StageThreads threads(copy, subject.environment.target);
            return matched((threads.*way)(subject.block));
          },
          [way](Subject& subject, const Plan&) {
            StageThreads threads(subject.program->state, subject.environment.target);
            ICHECK((threads.*way)(subject.block)) << "what fits a copy of a program fits the program";
          }};
}

// ---- whole programs --------------------------------------------------------------------------------------------------

/// Element-wise stages stand in their consumers; on a copy of the program.
std::optional<Plan> match_rows(Subject& subject) {
  topi::BlockProgram copy(subject.program->function());
  topi::inline_elementwise(copy.state, copy.stages());
  std::optional<topi::RowProgram> rows = topi::as_row_program(copy);
  topi::RowPlan plan = rows ? topi::plan_rows(*rows, subject.environment.gpu) : nullptr;
  return plan ? std::optional(Plan(true, plan)) : std::nullopt;
}

void apply_rows(Subject& subject, const Plan& plan) {
  topi::BlockProgram& program = *subject.program;
  topi::inline_elementwise(program.state, program.stages());
  std::optional<topi::RowProgram> rows = topi::as_row_program(program);
  ICHECK(rows) << "what fits a copy of a program fits the program";
  auto knobs = downcast<topi::RowPlan>(plan.knobs);
  topi::check_row_plan(*rows, knobs, subject.environment.gpu);
  std::vector<schedule::BlockRef> others;
  for (size_t i = 0; i + 1 < rows->stages.size(); ++i) others.push_back(rows->stages[i].ref);
  schedule::replace_by_nest(program.state, rows->stages.back().ref, others, topi::row_nest(*rows, knobs));
}

std::optional<Plan> match_attention(Subject& subject) {
  const topi::GpuMachine& machine = subject.environment.gpu;
  if (!machine->has_wgmma) return std::nullopt;
  topi::BlockProgram copy(subject.program->function());
  topi::inline_elementwise(copy.state, copy.stages());
  std::optional<topi::GpuAttention> attention = topi::as_gpu_attention(copy, machine);
  topi::GpuAttentionPlan plan = attention ? topi::plan_gpu_attention(*attention, machine) : nullptr;
  return plan ? std::optional(Plan(true, plan)) : std::nullopt;
}

void apply_attention(Subject& subject, const Plan& plan) {
  topi::BlockProgram& program = *subject.program;
  const topi::GpuMachine& machine = subject.environment.gpu;
  topi::inline_elementwise(program.state, program.stages());
  std::optional<topi::GpuAttention> attention = topi::as_gpu_attention(program, machine);
  ICHECK(attention) << "what fits a copy of a program fits the program";
  auto knobs = downcast<topi::GpuAttentionPlan>(plan.knobs);
  topi::check_gpu_attention(*attention, knobs, machine);
  std::vector<schedule::BlockRef> others(attention->stages.begin(), attention->stages.end() - 1);
  schedule::replace_by_nest(program.state, attention->stages.back(), others,
                            topi::gpu_attention_nest(*attention, knobs));
}

std::optional<Plan> match_thread_attention(Subject& subject) {
  topi::BlockProgram copy(subject.program->function());
  topi::inline_elementwise(copy.state, copy.stages());
  std::optional<topi::AttentionProgram> attention = topi::as_attention_program(copy);
  topi::ThreadAttentionPlan plan =
      attention ? topi::plan_thread_attention(*attention, subject.environment.gpu) : nullptr;
  return plan ? std::optional(Plan(true, plan)) : std::nullopt;
}

void apply_thread_attention(Subject& subject, const Plan& plan) {
  topi::BlockProgram& program = *subject.program;
  topi::inline_elementwise(program.state, program.stages());
  std::optional<topi::AttentionProgram> attention = topi::as_attention_program(program);
  ICHECK(attention) << "what fits a copy of a program fits the program";
  auto knobs = downcast<topi::ThreadAttentionPlan>(plan.knobs);
  topi::check_thread_attention(*attention, knobs, subject.environment.gpu);
  std::vector<schedule::BlockRef> others(attention->stages.begin(), attention->stages.end() - 1);
  schedule::replace_by_nest(program.state, attention->stages.back(), others,
                            topi::thread_attention_nest(*attention, knobs));
}

// ---- stages that are nests of their own ------------------------------------------------------------------------------

void replace_contraction(Subject& subject, const topi::GpuContraction& contraction, const Stmt& nest) {
  schedule::State& state = subject.program->state;
  if (contraction.epilogue) schedule::replace_by_nest(state, contraction.epilogue_ref, {subject.block}, nest);
  else schedule::replace_by_nest(state, subject.block, {}, nest);
}

std::optional<Plan> match_gemm(Subject& subject) {
  auto contraction = topi::as_gpu_contraction(subject.program->state, subject.block);
  topi::GemmPlan plan = contraction ? topi::plan_gemm(*contraction, subject.environment.gpu) : nullptr;
  return plan ? std::optional(Plan(*contraction, plan)) : std::nullopt;
}

void apply_gemm(Subject& subject, const Plan& plan) {
  const auto& contraction = plan.as<topi::GpuContraction>();
  auto knobs = downcast<topi::GemmPlan>(plan.knobs);
  topi::check_gemm_plan(contraction, knobs, subject.environment.gpu);
  replace_contraction(subject, contraction, topi::gemm_nest(contraction, knobs));
}

/// What kernels of mma.sync take of what gemm_cost says: it knows nothing of stores that wait for memory.
constexpr double kMmaTakes = 1.3;

/// Where it is cheaper than what `gemm` would do.
std::optional<Plan> match_wgmma(Subject& subject) {
  const topi::GpuMachine& machine = subject.environment.gpu;
  if (!machine->has_wgmma) return std::nullopt;
  auto contraction = topi::as_gpu_contraction(subject.program->state, subject.block);
  auto wgmma = contraction ? topi::as_wgmma_contraction(*contraction, machine) : std::nullopt;
  topi::WgmmaPlan plan = wgmma ? topi::plan_wgmma(*wgmma, machine) : nullptr;
  if (!plan) return std::nullopt;
  topi::GemmPlan other = topi::plan_gemm(*contraction, machine);
  if (other && kMmaTakes * topi::gemm_cost(*contraction, other, machine) < topi::wgmma_cost(*wgmma, plan, machine))
    return std::nullopt;
  return Plan(*wgmma, plan);
}

void apply_wgmma(Subject& subject, const Plan& plan) {
  const auto& wgmma = plan.as<topi::WgmmaContraction>();
  auto knobs = downcast<topi::WgmmaPlan>(plan.knobs);
  topi::check_wgmma_plan(wgmma, knobs, subject.environment.gpu);
  replace_contraction(subject, wgmma.contraction, topi::wgmma_nest(wgmma, knobs, subject.environment.gpu));
}

std::optional<Plan> match_windows(Subject& subject) {
  const topi::GpuMachine& machine = subject.environment.gpu;
  auto windows = topi::as_gpu_windows(subject.program->state, subject.block, machine);
  topi::WindowPlan plan = windows ? topi::plan_windows(*windows, machine) : nullptr;
  return plan ? std::optional(Plan(*windows, plan)) : std::nullopt;
}

void apply_windows(Subject& subject, const Plan& plan) {
  const auto& windows = plan.as<topi::GpuWindows>();
  auto knobs = downcast<topi::WindowPlan>(plan.knobs);
  topi::check_window_plan(windows, knobs, subject.environment.gpu);
  schedule::State& state = subject.program->state;
  const Stmt nest = topi::window_nest(windows, knobs);
  if (windows.epilogue) schedule::replace_by_nest(state, windows.epilogue_ref, {subject.block}, nest);
  else schedule::replace_by_nest(state, subject.block, {}, nest);
}

std::optional<Plan> match_transpose(Subject& subject) {
  auto stage = topi::transposing_axes(subject.program->state, subject.block, true);
  topi::SharedTransposePlan plan = stage ? topi::plan_shared_transpose(*stage, subject.environment.gpu) : nullptr;
  return plan ? std::optional(Plan(*stage, plan)) : std::nullopt;
}

void apply_transpose(Subject& subject, const Plan& plan) {
  const auto& stage = plan.as<topi::TransposingStage>();
  auto knobs = downcast<topi::SharedTransposePlan>(plan.knobs);
  topi::check_shared_transpose(stage, knobs, subject.environment.gpu);
  schedule::replace_by_nest(subject.program->state, subject.block, {}, topi::shared_transpose_nest(stage, knobs));
}

}  // namespace

std::vector<ScheduleRule> gpu_rules() {
  return {
      {"attention_wgmma", "cuda", RuleScope::Program, -1, match_attention, apply_attention},
      {"attention_by_threads", "gpu", RuleScope::Program, -0.5, match_thread_attention, apply_thread_attention},
      {"rows_by_threads", "gpu", RuleScope::Program, 0, match_rows, apply_rows},
      {"gemm_wgmma", "cuda", RuleScope::Reduction, -1, match_wgmma, apply_wgmma},
      {"gemm", "gpu", RuleScope::Reduction, 0, match_gemm, apply_gemm},
      {"windows_by_threads", "gpu", RuleScope::Reduction, 1, match_windows, apply_windows},
      {"transpose_through_shared_memory", "gpu", RuleScope::Stage, -1, match_transpose, apply_transpose},
      tried("reduction_across_threads", 0, &StageThreads::across_threads),
      tried("reduction_in_reader", 1, &StageThreads::in_consumer),
      tried("reduction_in_registers", 2, &StageThreads::in_registers),
      {"threads", "gpu", RuleScope::Stage, 3, [](Subject&) { return matched(true); },
       [](Subject& subject, const Plan&) {
         StageThreads(subject.program->state, subject.environment.target).by_elements(subject.block);
       }},
  };
}

}  // namespace tessera::kernel

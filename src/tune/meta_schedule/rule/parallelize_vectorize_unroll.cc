#include "runtime/registry.h"
#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/rule/rules.h"

namespace tessera::meta_schedule {

void ParallelizeVectorizeUnrollNode::initialize(const TuneContextNode& context) {
  if (max_jobs_per_core != -1) max_parallel = core_count(context.target) * max_jobs_per_core;
}

Array<Schedule> ParallelizeVectorizeUnrollNode::apply(const Schedule& sch, const RV& block) {
  if (!is_root(sch->cursor(block))) return {sch};
  Traced traced(sch);
  if (max_jobs_per_core != -1) traced.annotate(block, note::kParallel, PrimExpr(static_cast<int>(max_parallel)));
  if (max_vectorize_extent != -1)
    traced.annotate(block, note::kVectorize, PrimExpr(static_cast<int>(max_vectorize_extent)));
  if (!unroll_max_steps.empty() && !is_spatial_function(sch, block)) {
    RV steps = traced.sample_categorical(unroll_max_steps);
    traced.annotate(block, unroll_explicit ? note::kUnrollExplicit : note::kUnrollImplicit, steps);
  }
  return {sch};
}

namespace {
Globals parallelize_vectorize_unroll_globals{
    {"meta_schedule.ScheduleRuleParallelizeVectorizeUnroll",
     [](int64_t jobs, int64_t vectorize, const Array<PrimExpr>& steps, bool unroll_explicit) {
       ParallelizeVectorizeUnrollNode rule;
       rule.max_jobs_per_core = jobs;
       rule.max_vectorize_extent = vectorize;
       rule.unroll_max_steps = ints_of(steps);
       rule.unroll_explicit = unroll_explicit;
       return ScheduleRule(make(std::move(rule)));
     }}};
}  // namespace
}  // namespace tessera::meta_schedule

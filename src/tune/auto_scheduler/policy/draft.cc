// Steps of rules, one call each.

#include "tune/auto_scheduler/policy/draft.h"

namespace tessera::auto_scheduler {
namespace {

template <class S>
S step_of(int stage) {
  S step;
  step.stage_id = stage;
  return step;
}

}  // namespace

void Draft::annotate(int stage, int iter, Annotation annotation) {
  auto step = step_of<AnnotationStep>(stage);
  step.iter_id = iter;
  step.annotation = annotation;
  add(make(std::move(step)));
}

int Draft::fuse(int stage, const std::vector<int>& iters) {
  auto step = step_of<FuseStep>(stage);
  step.fused_ids = iters;
  add(make(std::move(step)));
  return iters.empty() ? 0 : iters.front();
}

void Draft::pragma(int stage, int iter, const std::string& type) {
  auto step = step_of<PragmaStep>(stage);
  step.iter_id = iter;
  step.pragma_type = type;
  add(make(std::move(step)));
}

void Draft::reorder(int stage, const std::vector<int>& order) {
  auto step = step_of<ReorderStep>(stage);
  step.after_ids = order;
  add(make(std::move(step)));
}

void Draft::split(int stage, int iter, const std::vector<int64_t>& lengths) {
  auto step = step_of<SplitStep>(stage);
  step.iter_id = iter;
  step.extent = std::max<int64_t>(extent_of(node_.iter(stage, iter)), 0);
  step.lengths = lengths;
  add(make(std::move(step)));
}

void Draft::follow_split(int stage, int iter, int source, int parts) {
  auto step = step_of<FollowSplitStep>(stage);
  step.iter_id = iter;
  step.src_step_id = source;
  step.n_split = parts;
  add(make(std::move(step)));
}

void Draft::follow_fused_split(int stage, int iter, const std::vector<int>& sources, int level, bool factor) {
  auto step = step_of<FollowFusedSplitStep>(stage);
  step.iter_id = iter;
  step.src_step_ids = sources;
  step.level = level;
  step.factor_or_nparts = factor;
  add(make(std::move(step)));
}

void Draft::compute_at(int stage, int target, int iter) {
  auto step = step_of<ComputeAtStep>(stage);
  step.target_stage_id = target;
  step.target_iter_id = iter;
  add(make(std::move(step)));
}

void Draft::compute_inline(int stage) { add(make(step_of<ComputeInlineStep>(stage))); }
void Draft::compute_root(int stage) { add(make(step_of<ComputeRootStep>(stage))); }

int Draft::cache_read(int stage, const std::string& scope, const std::vector<int>& readers) {
  auto step = step_of<CacheReadStep>(stage);
  step.scope_name = scope;
  step.reader_stage_ids = readers;
  add(make(std::move(step)));
  return stage + 1;
}

int Draft::cache_write(int stage, const std::string& scope) {
  auto step = step_of<CacheWriteStep>(stage);
  step.scope_name = scope;
  add(make(std::move(step)));
  return stage;
}

int Draft::rfactor(int stage, int iter, int factor_iter) {
  auto step = step_of<RfactorStep>(stage);
  step.iter_id = iter;
  step.factor_iter_id = factor_iter;
  add(make(std::move(step)));
  return stage;
}

}  // namespace tessera::auto_scheduler

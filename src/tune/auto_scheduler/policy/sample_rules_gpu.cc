// Rules that make states of sketches, on GPUs: loops become blocks and threads.

#include "tune/auto_scheduler/policy/draft.h"

namespace tessera::auto_scheduler {
namespace {

/// Fuses the space loops before the first reduce loop, or the first that stages are attached to.
int fuse_outer_spaces(Draft* draft, int id) {
  const Stage stage = draft->stage(id);
  std::vector<int> loops;
  for (int i = 0; i < static_cast<int>(stage->iters.size()); ++i) {
    const Iterator iter = stage->iters[StateNode::at(i)];
    if (iter->iter_kind == IterKind::Reduction || iter->annotation != Annotation::None) break;
    loops.push_back(i);
    if ((*draft)->has_attached(id, i)) break;
  }
  return loops.size() == 1 ? loops[0] : draft->fuse(id, loops);
}

/// Fuses the loops of one level of a tiling, from position `first` on; their position, or -1 where the level has none.
int fuse_level(Draft* draft, int id, int first, size_t axes, const char* suffix) {
  std::vector<int> loops;
  const Stage stage = draft->stage(id);
  for (size_t i = 0; i < axes && StateNode::at(first) + i < stage->iters.size(); ++i) {
    if (!std::string_view(stage->iters[StateNode::at(first) + i]->name).ends_with(suffix)) break;
    loops.push_back(first + static_cast<int>(i));
  }
  if (loops.empty()) return -1;
  return draft->fuse(id, loops);
}

/// A root stage that is not tiled: its space loops are threads, and blocks of them.
void bind_plain(Draft* draft, int id, int64_t warp) {
  const int fused = fuse_outer_spaces(draft, id);
  if (extent_of((*draft)->iter(id, fused)) <= warp) return draft->annotate(id, fused, Annotation::ThreadX);
  draft->split(id, fused, {warp});
  draft->annotate(id, fused, Annotation::BlockX);
  draft->annotate(id, fused + 1, Annotation::ThreadX);
}

bool bind_tiled(const HardwareParamsNode& hardware, Draft* draft, int id) {
  auto* op = draft->stage(id)->op.as<te::ComputeOp>();
  int64_t total = 1;
  for (const IterVar& axis : te::root_iter_vars(op))
    if (const int64_t* extent = as_int(axis->dom->extent)) total *= *extent;
  const size_t axes = op->axis.size();
  const int block = fuse_level(draft, id, 0, axes, ".0");
  if (block < 0) return false;
  draft->annotate(id, block, Annotation::BlockX);
  const int vthread = fuse_level(draft, id, 1, axes, ".1");
  if (vthread < 0 || extent_of((*draft)->iter(id, vthread)) > hardware.max_vthread_extent) return false;
  draft->annotate(id, vthread, Annotation::VThread);
  const int thread = fuse_level(draft, id, 2, axes, ".2");
  if (thread < 0) return false;
  const int64_t threads = extent_of((*draft)->iter(id, thread));
  if (total > int64_t{hardware.warp_size} * 2 && threads < hardware.warp_size) return false;
  if (threads > hardware.max_threads_per_block) return false;
  draft->annotate(id, thread, Annotation::ThreadX);
  return true;
}

/// A copy in shared memory: all threads of the block fetch, several elements each.
void bind_cooperative(Draft* draft, int id) {
  const std::vector<int> sources = space_split_steps(draft->finish(), (*draft)->attachment_of(id)->target);
  std::vector<int> all;
  for (int i = 0; i < static_cast<int>(draft->stage(id)->iters.size()); ++i) all.push_back(i);
  const int fused = draft->fuse(id, all);
  draft->split(id, fused, {1});
  draft->annotate(id, fused + 1, Annotation::Vectorize);
  draft->follow_fused_split(id, fused, sources, 1, true);
  draft->annotate(id, fused + 1, Annotation::ThreadX);
}

bool bind_threads(const SketchPolicyNode& policy, State* state, Random*) {
  const HardwareParamsNode& hardware = *policy.task->hardware_params;
  std::set<int> tiled_roots;
  for (int id = 0; id < static_cast<int>((*state)->stages.size()); ++id) {
    if (is_placeholder(stage_at(*state, id)) || !needs_tiling(policy, *state, id)) continue;
    if (const Attachment* at = (*state)->attachment_of(id)) tiled_roots.insert(at->target);
    else if (stage_at(*state, id)->compute_at != ComputeAt::Inlined && !has_cross_thread_reduction(*state, id))
      tiled_roots.insert(id);
  }
  *state = infer_bound(policy.dag(), *state);
  Draft draft(*state, policy);
  for (int id = static_cast<int>((*state)->stages.size()) - 1; id >= 0; --id) {
    const Stage stage = draft.stage(id);
    if (is_placeholder(stage) || stage->compute_at == ComputeAt::Inlined) continue;
    if (has_cross_thread_reduction(draft.finish(), id)) {
      if (stage->compute_at != ComputeAt::Root) continue;
      draft.annotate(id, fuse_outer_spaces(&draft, id), Annotation::BlockX);
      continue;
    }
    if (stage->compute_at == ComputeAt::Root) {
      if (has_annotation(stage, Annotation::ThreadX)) {
        // The consumer of a reduction across threads: its outer loops are blocks.
        if (!has_annotation(stage, Annotation::BlockX))
          draft.annotate(id, fuse_outer_spaces(&draft, id), Annotation::BlockX);
      } else if (!tiled_roots.count(id)) {
        bind_plain(&draft, id, hardware.warp_size);
      } else if (!bind_tiled(hardware, &draft, id)) {
        return false;
      }
    } else if (std::string_view(stage->op->name).ends_with(".shared")) {
      bind_cooperative(&draft, id);
    }
  }
  *state = draft.finish();
  return true;
}

}  // namespace

std::vector<ChangeState> gpu_sample_rules() { return {fill_tile_sizes(), bind_threads, unroll_loops()}; }

}  // namespace tessera::auto_scheduler

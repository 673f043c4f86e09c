#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/postproc/postprocs.h"

namespace tessera::meta_schedule {

namespace {

/// Takes what rules have noted on the blocks inside away: intrinsics have no such notes.
void remove_notes_inside(const Traced& sch, const RV& block) {
  for (const RV& child : sch.get_child_blocks(block)) {
    Block node = sch.find(child).realize()->block;
    for (const auto& [key, value] : node->annotations)
      if (key.str().starts_with("meta_schedule.")) sch.unannotate(child, key);
  }
}

}  // namespace

bool RewriteTensorizeNode::apply(const Schedule& sch) {
  Traced traced(sch);
  struct Job {
    String block, function, intrin;
  };
  std::vector<Job> jobs;
  for (const Cursor& block : blocks_of_module(sch))
    if (auto* intrin = note_of(block.block(), note::kAutoTensorize).as<StringNode>())
      jobs.push_back({block.block()->name_hint, block.function->name_hint, String(intrin)});
  for (const Job& job : jobs) {
    RV block = traced.get_block(job.block, job.function);
    traced.unannotate(block, note::kAutoTensorize);
    remove_notes_inside(traced, block);
    if (!job.intrin.empty()) {
      traced.tensorize(block, job.intrin);  // a ScheduleError rejects the candidate
    } else if (vectorize_init_loop) {
      RVs children = traced.get_child_blocks(block);
      if (children.empty()) continue;
      RVs loops = traced.get_loops(children[0]);
      if (!loops.empty()) traced.vectorize(loops.back());
    }
  }
  return true;
}

}  // namespace tessera::meta_schedule

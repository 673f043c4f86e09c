#include "ir/rewrite.h"
#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/postproc/postprocs.h"

namespace tessera::meta_schedule {
namespace {

/// Threads add the reduction up among them: its init stays with it.
bool shares_reduction(const Cursor& block) {
  for (const Stmt& stmt : block.path) {
    auto* loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::ThreadBinding) continue;
    for (size_t i = 0; i < block.block()->iter_vars.size(); ++i)
      if (block.block()->iter_vars[i]->iter_type == IterType::CommReduce &&
          uses_var(block.realize()->iter_values[i], loop->loop_var))
        return true;
  }
  return false;
}

/// The first loop that is not spatial: the init goes just outside it. -1: there is none.
int decompose_point(const Cursor& block) {
  std::vector<const For*> loops = block.loops();
  for (size_t i = 0; i < loops.size(); ++i)
    if (loop_type(loops[i], block.function) != IterType::DataPar) return static_cast<int>(i);
  return -1;
}

void move_intrin_notes(const Traced& sch, const RV& block, const RV& init) {
  Block node = sch.find(block).realize()->block;
  if (!has_note(node.get(), note::kAutoTensorize)) return;
  ObjectRef of_init = note_of(node.get(), note::kAutoTensorizeInit);
  sch.unannotate(init, note::kAutoTensorize);
  sch.annotate(init, note::kAutoTensorize, of_init ? of_init : ObjectRef(String("")));
  if (!of_init) return;
  sch.unannotate(block, note::kAutoTensorizeInit);
  sch.unannotate(init, note::kAutoTensorizeInit);
}

}  // namespace

bool RewriteReductionBlockNode::apply(const Schedule& sch) {
  Traced traced(sch);
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (const Cursor& block : blocks_of_module(sch)) {
      int point = block.block()->init && !shares_reduction(block) ? decompose_point(block) : -1;
      if (point < 0) continue;
      RV rv = block_named_as(traced, block);
      RV init = traced.decompose_reduction(rv, traced.get_loops(rv)[static_cast<size_t>(point)]);
      move_intrin_notes(traced, rv, init);
      is_changed = true;
      break;  // cursors of the others are of the program before
    }
  }
  return true;
}

}  // namespace tessera::meta_schedule

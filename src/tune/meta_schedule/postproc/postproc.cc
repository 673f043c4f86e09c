#include "runtime/registry.h"
#include "tune/meta_schedule/postproc/postprocs.h"

namespace tessera::meta_schedule {

RV block_named_as(const Traced& sch, const Cursor& block) {
  return sch.get_block(block.block()->name_hint, block.function->name_hint);
}

std::vector<Cursor> blocks_of_module(const Schedule& sch) {
  std::vector<Cursor> out;
  for (const auto& [var, function] : sch->state.mod().sorted_functions())
    if (auto* program = function.as<PrimFuncNode>(); program && program->body)
      for (Cursor& block : schedule::all_blocks(program->body, var)) out.push_back(std::move(block));
  return out;
}

bool postprocessed(const Schedule& sch, const Array<Postproc>& postprocs) {
  Traced(sch).enter_postproc();
  try {
    for (const Postproc& each : postprocs)
      if (!each->methods->apply(*each.edit(), sch)) return false;
  } catch (const Error& error) {
    if (error.kind() != ScheduleError) throw;
    return false;
  }
  return true;
}

bool DisallowDynamicLoopNode::apply(const Schedule& sch) {
  for (const auto& [var, function] : sch->state.mod().sorted_functions()) {
    auto* program = function.as<PrimFuncNode>();
    bool is_dynamic = false;
    if (program && program->body)
      schedule::visit_statements(program->body, [&](const schedule::Path& path) {
        auto* loop = cast_or_null<For>(path.back());
        is_dynamic |= loop && !as_int(loop->extent);
        return true;
      });
    if (is_dynamic) return false;
  }
  return true;
}

namespace {

template <class T>
Postproc made() {
  return make(T{});
}

Globals postproc_globals{
    {"meta_schedule.PostprocInitializeWithTuneContext",
     [](const Postproc& self, const TuneContext& context) { self->methods->initialize(*self.edit(), *context); }},
    {"meta_schedule.PostprocApply",
     [](const Postproc& self, const Schedule& sch) { return self->methods->apply(*self.edit(), sch); }},
    {"meta_schedule.PostprocClone", [](const Postproc& self) { return self->methods->clone(*self); }},
    {"meta_schedule.PostprocDisallowDynamicLoop", made<DisallowDynamicLoopNode>},
    {"meta_schedule.PostprocRewriteCooperativeFetch", made<RewriteCooperativeFetchNode>},
    {"meta_schedule.PostprocRewriteLayout", made<RewriteLayoutNode>},
    {"meta_schedule.PostprocRewriteParallelVectorizeUnroll", made<RewriteParallelVectorizeUnrollNode>},
    {"meta_schedule.PostprocRewriteReductionBlock", made<RewriteReductionBlockNode>},
    {"meta_schedule.PostprocRewriteTensorize",
     [](bool vectorize_init_loop) {
       RewriteTensorizeNode postproc;
       postproc.vectorize_init_loop = vectorize_init_loop;
       return Postproc(make(std::move(postproc)));
     }},
    {"meta_schedule.PostprocRewriteUnboundBlock",
     [](int64_t max_threadblocks) {
       RewriteUnboundBlockNode postproc;
       postproc.max_threadblocks = max_threadblocks;
       return Postproc(make(std::move(postproc)));
     }},
    {"meta_schedule.PostprocVerifyGPUCode", made<VerifyGPUCodeNode>},
    {"meta_schedule.ScheduleRuleInitializeWithTuneContext",
     [](const ScheduleRule& self, const TuneContext& context) { self->methods->initialize(*self.edit(), *context); }},
    {"meta_schedule.ScheduleRuleApply",
     [](const ScheduleRule& self, const Schedule& sch, const ObjectRef& block) {
       return self->methods->apply(*self.edit(), sch, block);
     }},
    {"meta_schedule.ScheduleRuleClone", [](const ScheduleRule& self) { return self->methods->clone(*self); }},
};

}  // namespace
}  // namespace tessera::meta_schedule

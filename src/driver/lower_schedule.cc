// TE schedules into the lowering pipeline.

#include "runtime/registry.h"
#include "te/prim_func.h"
#include "tir/attrs.h"
#include "tir/lower.h"

namespace tessera {
namespace {

/// Phase 0: the function of a schedule, alone in a module.
IRModule schedule_to_module(te::Schedule sch, Array<ObjectRef> args, String name, te::Binds binds) {
  PrimFunc function = te::schedule_to_prim_func(sch, args, name, binds ? binds : te::Binds());
  if (PassContext::current().flag("tir.noalias", true)) function = with_attr(function, attr::kNoAlias, bool_imm(true));
  GlobalVarNode var;
  var.name_hint = name;
  IRModule mod;
  mod.update(make(std::move(var)), function);
  return mod;
}

IRModule lower_schedule(te::Schedule sch, Array<ObjectRef> args, String name, te::Binds binds, bool simple_mode) {
  return lower_module(schedule_to_module(sch, args, name, binds), simple_mode);
}

static Globals lower_schedule_globals{
    {"driver.schedule_to_module", schedule_to_module},
    {"driver.lower_schedule", lower_schedule},
    {"driver.get_binds",
     [](Array<ObjectRef> args, bool compact, te::Binds binds) {
       auto [params, buffers] = te::argument_buffers(args, compact, binds ? binds : te::Binds());
       return Array<ObjectRef>{buffers, params};
     }},
};

}  // namespace
}  // namespace tessera

#include "driver/lower_schedule.h"

#include "runtime/registry.h"
#include "tir/attrs.h"
#include "tir/lower.h"

namespace tessera {

IRModule schedule_to_module(const te::Schedule& sch, const Array<ObjectRef>& args, const String& name,
                            const te::Binds& binds) {
  PrimFunc function = te::schedule_to_prim_func(sch, args, name, binds ? binds : te::Binds());
  if (PassContext::current().flag("tir.noalias", true)) function = with_attr(function, attr::kNoAlias, bool_imm(true));
  GlobalVarNode var;
  var.name_hint = name;
  IRModule mod;
  mod.update(make(std::move(var)), function);
  return mod;
}

namespace {

IRModule lower_schedule(te::Schedule sch, Array<ObjectRef> args, String name, te::Binds binds, bool simple_mode) {
  return lower_module(schedule_to_module(sch, args, name, binds), simple_mode);
}

static Globals lower_schedule_globals{
    {"driver.schedule_to_module", [](te::Schedule sch, Array<ObjectRef> args, String name,
                                     te::Binds binds) { return schedule_to_module(sch, args, name, binds); }},
    {"driver.lower_schedule", lower_schedule},
    {"driver.get_binds",
     [](Array<ObjectRef> args, bool compact, te::Binds binds) {
       auto [params, buffers] = te::argument_buffers(args, compact, binds ? binds : te::Binds());
       return Array<ObjectRef>{buffers, params};
     }},
};

}  // namespace
}  // namespace tessera

#pragma once
// TE schedules into the lowering pipeline.

#include "ir/module.h"
#include "te/prim_func.h"

namespace tessera {

/// Phase 0: the function of a schedule, alone in a module.
IRModule schedule_to_module(const te::Schedule& sch, const Array<ObjectRef>& args, const String& name,
                            const te::Binds& binds = {});

}  // namespace tessera

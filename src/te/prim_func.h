#pragma once
// From a schedule to a function: tensors become buffers, arguments become parameters.

#include "te/nest/nest.h"
#include "tir/function.h"

namespace tessera::te {

/// Buffers of tensors that the caller provides.
using Binds = Map<Tensor, Buffer>;

/// The function of a schedule: phase 0 of lowering. `args` are Tensors, Buffers and Vars and become the parameters in
/// this order; `binds` gives tensors buffers of the user's own. Attributes: global_symbol and
/// from_legacy_te_schedule.
PrimFunc schedule_to_prim_func(const Schedule& sch, const Array<ObjectRef>& args, const String& name,
                               const Binds& binds = {});

/// The same from a nest that is built already.
PrimFunc nest_to_prim_func(const Array<ObjectRef>& args, const Stmt& nest, const Binds& binds);

/// The arguments as Vars and Buffers, and a buffer for each tensor among them: compact, or with strides of its own
/// (that may be zero, for broadcasting) where its shape is symbolic and `compact` is false.
std::pair<Array<ObjectRef>, Binds> argument_buffers(const Array<ObjectRef>& args, bool compact, const Binds& binds);

}  // namespace tessera::te

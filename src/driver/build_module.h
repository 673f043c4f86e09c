#pragma once
// From programs to runtime modules: lower, split host and device, generate code.

#include "ir/module.h"
#include "ir/target/target.h"
#include "runtime/module/module.h"

namespace tessera {

/// The function alone in a module, under `name`, lowered.
IRModule lower_prim_func(const BaseFunc& function, const String& name, bool simple_mode);

/// Host and device functions of lowered functions, before code generation.
struct SplitModule {
  IRModule host, device;
};
SplitModule split_module(const IRModule& lowered, const Target& target, const Target& host);

/// The runtime module of lowered functions by target. An empty `host` means the first target that is a CPU's, or the
/// default host. Device code is imported into the host's module.
Module build(const Map<Target, IRModule>& lowered, Target host);

/// `host` if given, else the target's own host, else the default: "llvm".
Target host_of(const Target& target, const Target& host);

}  // namespace tessera

#pragma once
// From programs to runtime modules: lower, split host and device, generate code.

#include <functional>

#include "ir/module.h"
#include "ir/pass/pass.h"
#include "ir/target/target.h"
#include "runtime/module/module.h"

namespace tessera {

/// The function alone in a module, under `name`, lowered.
IRModule lower_prim_func(const BaseFunc& function, const String& name, bool simple_mode);

/// Code for the functions alone, by the code generator of the target's kind; an error that names the kinds there are.
Module generate_code(const IRModule& functions, const Target& target);

/// Host and device functions of lowered functions, before code generation.
struct SplitModule {
  IRModule host, device;
};
SplitModule split_module(const IRModule& lowered, const Target& target, const Target& host,
                         const PassContext& context = PassContext::current(), size_t threads = 1);

/// What `change` makes of each function of a module, alone in a module, merged in the same order, on several threads
/// where there are any to spare. For functions that do not call each other.
IRModule by_function(const IRModule& mod, size_t threads, const std::function<IRModule(const IRModule&)>& change);

/// The runtime module of lowered functions by target. An empty `host` means the first target that is a CPU's, or the
/// default host. Device code is imported into the host's module. `threads` is for functions that do not call each other.
Module build(const Map<Target, IRModule>& lowered, Target host, const PassContext& context = PassContext::current(),
             size_t threads = 1);

/// `host` if given, else the target's own host, else the default: "llvm".
Target host_of(const Target& target, const Target& host);

}  // namespace tessera

#pragma once
// From a Relay module to a program of the virtual machine.

#include "ir/module.h"
#include "ir/target/virtual_device.h"
#include "runtime/module/module.h"

namespace tessera::relay {

/// The module as the virtual machine's compiler takes it: optimised, operators fused, only what "main" reaches,
/// and values that several branches or functions use bound by a let where all of them see it.
IRModule optimize_for_vm(const IRModule& mod, const CompilationConfig& config);

/// An executable (see runtime/vm/executable.h) of all functions of such a module. Control flow, closures, data types,
/// references and shapes that are known only at run time are all allowed.
Module compile_vm(const IRModule& fused, const CompilationConfig& config);

/// True when "main" needs decisions at run time that a static graph cannot make: branches, data types, references, or
/// shapes that are not written down.
bool needs_vm(const IRModule& mod);

}  // namespace tessera::relay

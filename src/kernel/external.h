#pragma once
// Functions of a model that external code generators compile: rows of the kernel table that no schedule rule plans.
//
// A generator is a global function `relay.ext.<compiler>`, in C++ or Python: function -> runtime module, which has a function
// of the symbol `global_symbol`. Or it is a hook `relay.ext.<compiler>.relay_to_tir`: module of that one function -> PrimFunc,
// or a module with one instead of it, which is compiled as our own kernels are.

#include <string>
#include <vector>

#include "ir/target/target.h"
#include "relay/expr.h"
#include "runtime/module/module.h"
#include "tir/function.h"

namespace tessera::kernel {

/// What a generator made of a function.
struct ExternalCode {
  std::string compiler;
  Module module;                   // empty where it gave programs
  Map<String, PrimFunc> programs;  // by symbol; the function's own among them
  Map<String, NDArray> constants;  // that the module may ask for, by name
};

/// The generator that a function is for; empty for our own kernels.
std::string external_compiler(const relay::Function& function);

/// Has the function compiled under that symbol. Where one of `targets` is of the generator's kind, it is the current target
/// meanwhile, so that its options can be read.
ExternalCode compile_external(const relay::Function& function, const std::string& symbol, const Array<Target>& targets);

/// The library with external modules imported. Modules that ask for constants (`get_const_vars`) get them when they are first
/// called, by `__init_<symbol>`.
Module with_external(const Module& library, const std::vector<ExternalCode>& external);

}  // namespace tessera::kernel

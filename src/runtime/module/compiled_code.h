#pragma once
// Machine code as a module: how its functions are called, and what it is given to call back into the runtime.
// Loaded libraries, the system library and code made in memory share this.

#include <functional>
#include <span>

#include "runtime/module/module.h"

namespace tessera {

/// The address of a symbol of the code, or null.
using FindSymbol = std::function<void*(const char* name)>;

/// A runtime call that compiled code makes through a pointer variable of its own.
struct ContextSymbol {
  const char* variable;  // "__TVMFuncCall", the pointer in the code that the loader fills
  const char* function;  // "TVMFuncCall", the name for code that is linked directly
  void* address;
};
std::span<const ContextSymbol> context_symbols();

/// Fills those pointers of the code that exist, and tells it which module it belongs to (`__tvm_module_ctx`).
void fill_context(const FindSymbol& find, const ModuleNode* module);

/// `function` as one that can be called; keeps `module`, whose code it is, alive.
PackedFunc wrap_compiled(TesseraCompiledFunc function, Module module);

/// The function `name` of the code, or an empty one; `__tvm_main__` is looked up by the name stored under it.
PackedFunc find_compiled(const FindSymbol& find, const std::string& name, const Module& module);

}  // namespace tessera

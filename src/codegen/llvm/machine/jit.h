#pragma once
// Machine code in memory, callable at once.

#include "codegen/llvm/units.h"

namespace tessera::codegen {

/// Object files, linked into this process as one library. Symbols it leaves open are looked for in the process.
class JitCode {
 public:
  JitCode(const std::vector<Unit>& units, const std::string& name);
  ~JitCode();
  /// The address of a symbol of the objects, or null.
  void* find(const std::string& symbol);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::codegen

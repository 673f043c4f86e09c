#pragma once
// Machine code in memory, callable at once.

#include <memory>
#include <string>

namespace tessera::codegen {

/// An object file, linked into this process. Symbols it leaves open are looked for in the process.
class JitCode {
 public:
  JitCode(const std::string& object, const std::string& name);
  ~JitCode();
  /// The address of a symbol of the object, or null.
  void* find(const std::string& symbol);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::codegen

#pragma once
// What the runtime asks of a compiler, which comes after it and may be missing.

#include <functional>
#include <string>

#include "base/array.h"
#include "base/string.h"

namespace tessera {

/// Set when the compiler is loaded; empty where there is none.
struct CompilerHooks {
  /// Links object files into a shared library that needs the named ones; `blob` is a file that becomes part of it, or "".
  std::function<void(const Array<String>& files, const std::string& output, const Array<String>& needed,
                     const std::string& blob)>
      link_shared;
  /// Can code be made for this target, "llvm -mcpu=...".
  std::function<bool(const std::string& target)> is_target_enabled;
  /// What `make` gives, or gave earlier for the same key: results of other compilers are cached beside those of this one.
  std::function<std::string(const std::string& key, const std::function<std::string()>& make)> cached;
};
CompilerHooks& compiler_hooks();

}  // namespace tessera

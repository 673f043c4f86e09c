#include "runtime/compiler_hooks.h"

namespace tessera {

// Never destroyed: the compiler fills it while it is loaded, and it may be asked while the process ends.
CompilerHooks& compiler_hooks() {
  static auto* hooks = new CompilerHooks;
  return *hooks;
}

}  // namespace tessera

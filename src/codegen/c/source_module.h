#pragma once
// The runtime module of type "c": source that a linker's compiler takes.

#include "base/array.h"
#include "runtime/module/module.h"

namespace tessera::codegen {

/// `names` are the functions in it, `const_vars` the constants that the first of them is to be given before it is called.
Module make_c_source(std::string source, std::string format, Array<String> names, Array<String> const_vars);

}  // namespace tessera::codegen

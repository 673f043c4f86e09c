#pragma once
// Constants of modules that external code generators made.

#include "base/array.h"
#include "base/map.h"
#include "runtime/module/module.h"
#include "runtime/ndarray.h"

namespace tessera {

/// Which constants a function needs before its first call, by symbol, and all of them by name.
struct LateConstants {
  Map<String, Array<String>> names;
  Map<String, NDArray> values;
};

/// The module of type "const_loader": functions are those of its imports, and one that needs constants is handed them once,
/// through `__init_<symbol>(list of tensors)` of the import that has it.
Module make_const_loader(LateConstants constants);

}  // namespace tessera

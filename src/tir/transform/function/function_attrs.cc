// Passes on whole functions: keep some, give them a target, mark the entry.

#include "ir/target/target.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {

PrimFunc filter(const PrimFunc& function, const PackedFunc& keep) {
  return keep(function).to<bool>() ? function : PrimFunc();
}

PrimFunc bind_target(const PrimFunc& function, const Target& target) {
  return with_attr(function, attr::kTarget, target);
}

/// Marks the only function of a module as its entry.
IRModule annotate_entry_func(IRModule mod) {
  if (mod->functions.size() != 1)
    throw Error(ValueError) << "AnnotateEntryFunc: expected one function, the module has " << mod->functions.size();
  return map_functions(
      mod, [](const PrimFunc& function) { return with_attr(function, attr::kIsEntryFunc, bool_imm(true)); });
}

}  // namespace tessera

// Passes on whole functions: keep some, give them a target, mark the entry.

#include "ir/target/target.h"
#include "tir/attrs.h"
#include "tir/transform/pass.h"

namespace tessera {
namespace {

/// Drops the functions for which `keep` is false.
Pass filter(PackedFunc keep) {
  return prim_func_pass("tir.Filter",
                        [keep](const PrimFunc& function) { return keep(function).to<bool>() ? function : PrimFunc(); });
}

Pass bind_target(Target target) {
  return prim_func_pass("tir.BindTarget",
                        [target](const PrimFunc& function) { return with_attr(function, attr::kTarget, target); });
}

/// Marks the only function of a module as its entry.
IRModule annotate_entry_func(IRModule mod) {
  if (mod->functions.size() != 1)
    throw Error(ValueError) << "AnnotateEntryFunc: expected one function, the module has " << mod->functions.size();
  return map_functions(
      mod, [](const PrimFunc& function) { return with_attr(function, attr::kIsEntryFunc, bool_imm(true)); });
}

static Globals globals{
    {"tir.transform.Filter", filter},
    {"tir.transform.BindTarget", bind_target},
    {"tir.transform.AnnotateEntryFunc", [] { return module_pass("tir.AnnotateEntryFunc", annotate_entry_func); }},
};

}  // namespace
}  // namespace tessera

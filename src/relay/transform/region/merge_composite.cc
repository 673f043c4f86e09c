// MergeComposite: pieces of a graph that fit patterns become calls of functions marked Composite, in order of the patterns.

#include "relay/dataflow/pattern.h"
#include "relay/transform/passes.h"
#include "relay/type/infer_type.h"

namespace tessera::relay {

Pass merge_composite_pass(const Array<String>& names, const Array<DFPattern>& patterns,
                          const Array<PackedFunc>& checks) {
  if (names.size() != patterns.size() || names.size() != checks.size())
    throw Error(ValueError) << "MergeComposite: there must be a name and a check for each pattern";
  return pass_over<Function>(merge_composite_pass, [names, patterns, checks](const Function& function,
                                                                             const IRModule& mod, const PassContext&) {
    Expr expr = function;
    for (size_t i = 0; i < patterns.size(); ++i) {
      PackedFunc check = checks[i];
      expr = partition_pattern(patterns[i], expr, {{attr::kComposite, names[i]}},
                               [&](const Expr& found) { return check(found).to<bool>(); });
      expr = infer_type(expr, mod);
    }
    return downcast<Function>(expr);
  });
}

}  // namespace tessera::relay

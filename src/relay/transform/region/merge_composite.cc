// MergeComposite: pieces of a graph that fit patterns become calls of functions marked Composite, in order of the patterns.

#include "relay/dataflow/pattern.h"
#include "relay/transform/pass.h"
#include "relay/type/infer_type.h"

namespace tessera::relay {
namespace {

Globals globals{
    {"relay._transform.MergeComposite",
     [](Array<String> names, Array<DFPattern> patterns, Array<PackedFunc> checks) {
       if (names.size() != patterns.size() || names.size() != checks.size())
         throw Error(ValueError) << "MergeComposite: there must be a name and a check for each pattern";
       return function_pass(
           make_pass_info(0, "MergeComposite", {"InferType"}),
           [names, patterns, checks](const Function& function, const IRModule& mod, const PassContext&) {
             Expr expr = function;
             for (size_t i = 0; i < patterns.size(); ++i) {
               PackedFunc check = checks[i];
               expr = partition_pattern(patterns[i], expr, {{attr::kComposite, names[i]}},
                                        [&](const Expr& found) { return check(found).to<bool>(); });
               expr = infer_type(expr, mod);
             }
             return downcast<Function>(expr);
           });
     }},
};

}  // namespace
}  // namespace tessera::relay

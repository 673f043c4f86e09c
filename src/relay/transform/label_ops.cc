// LabelOps: every function carries its structural hash as the attribute "hash", by which tuning records find it.

#include <fmt/format.h>

#include "ir/rewrite.h"
#include "ir/structural_equal.h"
#include "relay/transform/pass.h"

namespace tessera::relay {
namespace {

Function labelled(const Function& function) {
  std::string hash = fmt::format("{:016x}", static_cast<uint64_t>(structural_hash(function)));
  FunctionNode out(*function);
  out.attrs = function->attrs.with("hash", String(hash));
  return make(std::move(out));
}

Globals globals{
    {"relay._transform.LabelOps",
     [] {
       return function_pass("LabelOps", 1, [](const Function& root) {
         return rewrite(root, [](Rewriter& self, const FunctionNode* function) -> Function {
           return labelled(self.children(function));
         });
       });
     }},
};

}  // namespace
}  // namespace tessera::relay

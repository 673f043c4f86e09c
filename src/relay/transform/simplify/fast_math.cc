// FastMath: float32 functions are replaced by quicker, less exact ones.
//
//   exp(%x)    =>    fast_exp(%x)

#include "ir/rewrite.h"
#include "relay/inspect.h"
#include "relay/transform/pass.h"

namespace tessera::relay {
namespace {

struct Replacement {
  std::string_view exact, fast;
};
constexpr Replacement kReplacements[] = {
    {"exp", "fast_exp"},
    {"erf", "fast_erf"},
    {"tanh", "fast_tanh"},
    {"nn.softmax", "nn.fast_softmax"},
};

Expr fast_math(const Expr& root) {
  return rewrite(root, [](Rewriter& self, const Call* call) -> Expr {
    Ref<Call> post = self.children(call);
    for (const Replacement& row : kReplacements)
      if (op_name(call) == row.exact && dtype_of(Expr(call)) == DataType::Float(32))
        return call_op(row.fast, post->args, post->attrs);
    return post;
  });
}

Globals globals{
    {"relay._transform.FastMath",
     [] {
       return function_pass("FastMath", 4, [](const Function& function) {
         return with(function, &FunctionNode::body, fast_math(function->body));
       });
     }},
};

}  // namespace
}  // namespace tessera::relay

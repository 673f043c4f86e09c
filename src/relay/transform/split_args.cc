// SplitArgs: a concatenation of more tensors than a kernel may take is made in two steps.
//
//   concatenate((a, b, c, d))   =>   concatenate((stop_fusion(concatenate((a, b))), stop_fusion(concatenate((c, d)))))

#include "ir/rewrite.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/transform/pass.h"

namespace tessera::relay {
namespace {

Expr split_args(const Expr& root, size_t most) {
  return rewrite(root, [most](Rewriter& self, const Call* call) -> Expr {
    Ref<Call> post = self.children(call);
    auto* parts = op_name(call) == "concatenate" ? post->args[0].as<Tuple>() : nullptr;
    size_t limit = most - 1;  // one for the result
    if (!parts || parts->fields_.size() <= limit) return post;
    int axis = call->attrs_as<ConcatenateAttrs>()->axis;
    Array<Expr> joined;
    for (size_t first = 0; first < parts->fields_.size(); first += limit) {
      size_t last = std::min(first + limit, parts->fields_.size());
      Array<Expr> some(parts->fields_.begin() + static_cast<long>(first),
                       parts->fields_.begin() + static_cast<long>(last));
      joined.push_back(call_op("annotation.stop_fusion", {concatenate(some, axis)}));
    }
    return concatenate(joined, axis);
  });
}

Globals globals{
    {"relay._transform.SplitArgs",
     [](int most) {
       return function_pass("SplitArgs", 1, [most](const Function& function) {
         if (most <= 0) return function;  // no limit
         if (most < 3) throw Error(ValueError) << "SplitArgs: a kernel takes at least 3 tensors, got " << most;
         return with(function, &FunctionNode::body, split_args(function->body, static_cast<size_t>(most)));
       });
     }},
};

}  // namespace
}  // namespace tessera::relay

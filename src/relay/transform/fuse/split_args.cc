// SplitArgs: a concatenation of more tensors than a kernel may take is made in two steps.
//
//   concatenate((a, b, c, d))   =>   concatenate((stop_fusion(concatenate((a, b))), stop_fusion(concatenate((c, d)))))
//
// SplitOpenJoins does so, in as many steps as it takes, where the extents along the axis are known only at run time: each part
// then begins at a sum of extents, and what LLVM's loop passes take grows far faster than the number of such sums.

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/transform/passes.h"
#include "relay/type/type_of.h"

namespace tessera::relay {
namespace {

/// Concatenations of `limit` of the parts each.
Array<Expr> concatenated_by(const Array<Expr>& parts, size_t limit, int axis) {
  Array<Expr> out;
  for (size_t first = 0; first < parts.size(); first += limit) {
    size_t last = std::min(first + limit, parts.size());
    Array<Expr> some(parts.begin() + static_cast<long>(first), parts.begin() + static_cast<long>(last));
    out.push_back(some.size() == 1 ? some[0] : call_op(ops::stop_fusion, {concatenate(some, axis)}));
  }
  return out;
}

/// True where some part's extent along the axis of the concatenation is not a number.
bool is_dynamic_concat(const Call* call) {
  auto* parts = type_of(call->args[0]).as<TupleType>();
  if (!parts) return false;
  int axis = call->attrs_as<ConcatenateAttrs>()->axis;
  for (const Type& part : parts->fields_) {
    auto* tensor = part.as<TensorTypeNode>();
    auto rank = static_cast<int>(tensor->shape.size());
    if (!as_int(tensor->shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)])) return true;
  }
  return false;
}

}  // namespace

Expr split_args(const Expr& root, int max_function_args) {
  if (max_function_args <= 0) return root;  // no limit
  if (max_function_args < 3)
    throw Error(ValueError) << "SplitArgs: a kernel takes at least 3 tensors, got " << max_function_args;
  auto most = static_cast<size_t>(max_function_args);
  return rewrite(root, [most](Rewriter& self, const Call* call) -> Expr {
    Ref<Call> post = self.children(call);
    auto* parts = op_name(call) == ops::concatenate ? post->args[0].as<Tuple>() : nullptr;
    size_t limit = most - 1;  // one for the result
    if (!parts || parts->fields_.size() <= limit) return post;
    int axis = call->attrs_as<ConcatenateAttrs>()->axis;
    return concatenate(concatenated_by(parts->fields_, limit, axis), axis);
  });
}

Expr split_dynamic_concats(const Expr& root) {
  return rewrite(root, [](Rewriter& self, const Call* call) -> Expr {
    constexpr size_t kMax = 12;
    Ref<Call> post = self.children(call);
    auto* parts = op_name(call) == ops::concatenate ? post->args[0].as<Tuple>() : nullptr;
    if (!parts || parts->fields_.size() <= kMax || !is_dynamic_concat(call)) return post;
    int axis = call->attrs_as<ConcatenateAttrs>()->axis;
    Array<Expr> left = parts->fields_;
    while (left.size() > kMax) left = concatenated_by(left, kMax, axis);
    return concatenate(left, axis);
  });
}

}  // namespace tessera::relay

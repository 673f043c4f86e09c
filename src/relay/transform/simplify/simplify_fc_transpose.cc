// SimplifyFCTranspose: weights that are transposed at each call come transposed.
//
//   nn.dense(%x, transpose(%w, axes=[1, 0]))   =>   nn.dense(%x, %w.T)
//
// The new parameter stands where the old one did, or, where that is used elsewhere too, behind all others.

#include <unordered_set>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "relay/transform/passes.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

/// The variable that is transposed as a matrix; null for anything else.
const VarNode* transposed_matrix(const Expr& expr) {
  auto* call = expr.as<Call>();
  if (!call || op_name(call) != ops::transpose) return nullptr;
  const Array<PrimExpr>& axes = call->attrs_as<TransposeAttrs>()->axes;
  auto is = [&](size_t i, int64_t axis) { return as_int(axes[i]) && (*as_int(axes[i]) == axis); };
  bool swaps = !axes.defined() || (axes.size() == 2 && (is(0, 1) || is(0, -1)) && (is(1, 0) || is(1, -2)));
  auto* var = call->args[0].as<VarNode>();
  return swaps && var && tensor_type(Expr(var)).rank() == 2 ? var : nullptr;
}

}  // namespace

Function simplify_fc_transpose(const Function& function, const Array<String>& weights) {
  std::unordered_set<std::string> names;
  for (const String& name : weights) names.insert(name.str());
  std::unordered_map<const VarNode*, Var> by;
  Expr body = rewrite(function->body, [&](Rewriter& self, const Call* call) -> Expr {
    if (op_name(call) != ops::dense) return self.children(call);
    const VarNode* weight = transposed_matrix(call->args[1]);
    if (!weight || !names.count(weight->name_hint().str())) return self.children(call);
    Var& made = by[weight];
    TensorType type = tensor_type(Expr(weight));
    if (!made)
      made = make_local(String(weight->name_hint().str() + ".T"),
                        TensorType({type->shape[1], type->shape[0]}, type->dtype));
    return with(call, &Call::args, Array<Expr>{self(call->args[0]), made});
  });
  std::unordered_set<const Object*> used;
  for (const Var& var : free_vars(body)) used.insert(var.get());
  FunctionNode out(*function.get());
  out.body = body;
  out.params = {};
  Array<Var> more;
  for (const Var& param : function->params) {
    auto made = by.find(param.get());
    bool is_gone = made != by.end() && !used.count(param.get());
    out.params.push_back(is_gone ? made->second : param);
    if (made != by.end() && !is_gone) more.push_back(made->second);
  }
  for (const Var& param : more) out.params.push_back(param);
  return make(std::move(out));
}

}  // namespace tessera::relay

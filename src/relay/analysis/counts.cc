// Numbers and lists that a model is described by: multiplications, fused functions, transposed weights.

#include "ir/structural_equal.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/scopes.h"
#include "relay/walk.h"
#include "runtime/registry.h"
#include "tir/layout.h"

namespace tessera::relay {
namespace {

int64_t elements(const TensorType& type) {
  int64_t out = 1;
  for (const PrimExpr& extent : type->shape) {
    auto value = as_int(extent);
    if (!value) throw Error(ValueError) << "get_total_mac_number needs static shapes, not " << to_text(type);
    out *= *value;
  }
  return out;
}

int64_t extent_at(const TensorType& type, int at) {
  auto value = as_int(type->shape[at < 0 ? type->shape.size() + at : static_cast<size_t>(at)]);
  if (!value) throw Error(ValueError) << "get_total_mac_number needs static shapes, not " << to_text(type);
  return *value;
}

/// Each result of a convolution sums as many products as the weight has elements for one output channel.
int64_t convolution_macs(const Call* call, String out_layout, const String& data_layout) {
  TensorType out = tensor_type(Expr(call)), weight = tensor_type(call->args[1]);
  Layout layout = make_layout(out_layout.empty() ? data_layout : out_layout);
  int64_t channels = 1;
  for (size_t i = 0; i < layout->axes.size(); ++i)
    if (layout->primal(i) == 'C') channels *= extent_at(out, static_cast<int>(i));
  return channels ? elements(out) * (elements(weight) / channels) : 0;
}

int64_t macs_of(const Call* call) {
  auto* op = call->op.as<OpNode>();
  if (!op) return 0;
  if (auto* conv = call->attrs.as<ConvAttrs>()) return convolution_macs(call, conv->out_layout, conv->data_layout);
  if (auto* conv = call->attrs.as<ConvTransposeAttrs>())
    return convolution_macs(call, conv->out_layout, conv->data_layout);
  if (op->name == "nn.dense") return elements(tensor_type(Expr(call))) * extent_at(tensor_type(call->args[1]), -1);
  if (auto* matmul = call->attrs.as<MatmulAttrs>())
    return elements(tensor_type(Expr(call))) * extent_at(tensor_type(call->args[0]), matmul->transpose_a ? -2 : -1);
  if (auto* matmul = call->attrs.as<BatchMatmulAttrs>())
    return elements(tensor_type(Expr(call))) * extent_at(tensor_type(call->args[0]), matmul->transpose_a ? -2 : -1);
  return 0;
}

/// Products that are summed in convolutions and matrix products, over the whole expression.
int64_t total_mac_number(const Expr& root) {
  int64_t out = 0;
  post_order(root, [&](const Expr& expr) {
    if (auto* call = expr.as<Call>()) out += macs_of(call);
  });
  return out;
}

/// The primitive functions of a module, each distinct one once, under the text of their structural hash.
IRModule fused_functions(const IRModule& mod) {
  IRModule out;
  for (const auto& [_, function] : mod.sorted_functions()) {
    if (!function.as<FunctionNode>()) continue;
    post_order(function, [&](const Expr& expr) {
      auto* inner = expr.as<FunctionNode>();
      if (!inner || !is_primitive(inner)) return;
      String name(std::to_string(static_cast<uint64_t>(structural_hash(expr))));
      if (out.find_global_var(name)) return;
      GlobalVarNode var;
      var.name_hint = name;
      out.update(make(std::move(var)), Function(inner));
    });
  }
  return out;
}

/// Names of the weights w in nn.dense(x, transpose(w, axes=[1, 0])).
Array<String> transposed_weights(const Expr& root) {
  Array<String> out;
  post_order(root, [&](const Expr& expr) {
    auto* dense = expr.as<Call>();
    auto* op = dense ? dense->op.as<OpNode>() : nullptr;
    if (!op || op->name != "nn.dense") return;
    auto* transpose = dense->args[1].as<Call>();
    auto* inner = transpose ? transpose->op.as<OpNode>() : nullptr;
    if (!inner || inner->name != "transpose") return;
    if (auto* weight = transpose->args[0].as<VarNode>()) out.push_back(weight->name_hint());
  });
  return out;
}

Globals globals{
    {"relay.analysis.GetTotalMacNumber", total_mac_number},
    {"relay.analysis.ExtractFusedFunctions", fused_functions},
    {"relay.analysis.search_fc_transpose", transposed_weights},
};

}  // namespace
}  // namespace tessera::relay

// Which parts of the language a program uses, how often operators are called, how deep a model is.

#include <algorithm>
#include <map>
#include <unordered_map>

#include "relay/walk.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

/// The numbers are part of the Python interface (relay.analysis.Feature).
enum Feature {
  kVar,
  kGlobalVar,
  kConstant,
  kTuple,
  kTupleGetItem,
  kFunction,
  kOp,
  kCall,
  kLet,
  kIf,
  kRefCreate,
  kRefRead,
  kRefWrite,
  kConstructor,
  kMatch,
  kGraph,
  kLetRec,
  kFeatures,
};

int feature_of(const Expr& expr) {
  static const std::pair<const NodeInfo*, Feature> table[] = {
      {&VarNode::info, kVar},
      {&GlobalVarNode::info, kGlobalVar},
      {&Constant::info, kConstant},
      {&Tuple::info, kTuple},
      {&TupleGetItem::info, kTupleGetItem},
      {&FunctionNode::info, kFunction},
      {&OpNode::info, kOp},
      {&Call::info, kCall},
      {&Let::info, kLet},
      {&If::info, kIf},
      {&RefCreate::info, kRefCreate},
      {&RefRead::info, kRefRead},
      {&RefWrite::info, kRefWrite},
      {&ConstructorNode::info, kConstructor},
      {&Match::info, kMatch},
  };
  for (const auto& [info, feature] : table)
    if (expr->is_a(*info)) return feature;
  return -1;
}

bool is_atom(const Expr& e) {
  return e.as<VarNode>() || e.as<Constant>() || e.as<OpNode>() || e.as<GlobalVarNode>() || e.as<ConstructorNode>();
}

void add_features(const Expr& root, std::vector<bool>* found) {
  std::unordered_set<const Object*> used;
  pre_order(root, [&](const Expr& expr) {
    if (int feature = feature_of(expr); feature >= 0) (*found)[static_cast<size_t>(feature)] = true;
    each_binder(expr, [&](const Var&) { (*found)[kVar] = true; });
    auto* function = expr.as<FunctionNode>();
    if (function && function->attrs.is_true(attr::kPrimitive)) return false;  // a kernel, which is not looked into
    each_child(expr, [&](const Expr& part) {
      if (!is_atom(part) && !used.insert(part.get()).second) (*found)[kGraph] = true;
    });
    if (auto* let = expr.as<Let>(); let && let->value.as<FunctionNode>()) {
      std::vector<Var> free = free_vars(let->value);
      if (std::any_of(free.begin(), free.end(), [&](const Var& var) { return var.same_as(let->var); }))
        (*found)[kLetRec] = true;
    }
    return true;
  });
}

Array<ObjectRef> detect_features(const Expr& expr, const IRModule& mod) {
  std::vector<bool> found(kFeatures);
  if (expr) add_features(expr, &found);
  if (mod)
    for (const auto& [_, function] : mod->functions)
      if (function.as<FunctionNode>()) add_features(function, &found);
  Array<ObjectRef> out;
  for (int i = 0; i < kFeatures; ++i)
    if (found[static_cast<size_t>(i)]) out.push_back(int_imm(DataType::Int(32), i));
  return out;
}

/// Operators by name, with the number of their calls.
Map<String, ObjectRef> operator_counts(const IRModule& mod) {
  std::map<std::string, int64_t> counts;
  for (const auto& [_, function] : mod->functions) {
    if (!function.as<FunctionNode>()) continue;
    post_order(function, [&](const Expr& expr) {
      auto* call = expr.as<Call>();
      if (auto* op = call ? call->op.as<OpNode>() : nullptr) ++counts[op->name.str()];
    });
  }
  Map<String, ObjectRef> out;
  for (const auto& [name, count] : counts) out.set(String(name), int_imm(DataType::Int(64), count));
  return out;
}

/// The largest number of calls of `ops` on one way from an input to the result.
int count_layers(const Expr& root, const Array<String>& ops) {
  std::unordered_map<const Object*, int> depth;
  std::unordered_set<std::string> counted;
  for (const String& op : ops) counted.insert(op.str());
  int deepest = 0;
  post_order(root, [&](const Expr& expr) {
    int below = 0;
    each_child(expr, [&](const Expr& part) { below = std::max(below, depth[part.get()]); });
    auto* call = expr.as<Call>();
    auto* op = call ? call->op.as<OpNode>() : nullptr;
    if (op && counted.count(op->name.str())) ++below;
    depth[expr.get()] = below;
    deepest = std::max(deepest, below);
  });
  return deepest;
}

Globals features_globals{
    {"relay.analysis.detect_feature", detect_features},
    {"relay.analysis.list_op_freqs", operator_counts},
    {"relay.analysis.count_layers", count_layers},
};

}  // namespace
}  // namespace tessera::relay

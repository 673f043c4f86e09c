// Walks and rewrites with functions handed in from outside.

#include <set>

#include "runtime/registry.h"
#include "tir/remap.h"

namespace tessera {
namespace {

bool is_program_part(const Object* node) { return node->is_a(PrimExprNode::info) || node->is_a(StmtNode::info); }

/// What the functions are called on: the body of a function, else the node itself.
ObjectRef program_of(const ObjectRef& node) {
  auto* function = node.as<PrimFuncNode>();
  return function ? ObjectRef(function->body) : node;
}

/// Calls `before` on the way in, whose answer is final, and `after` on the way out; an empty answer means none.
ObjectRef transform(const ObjectRef& root, const PackedFunc& before, const PackedFunc& after,
                    const Array<String>& only_enable) {
  std::set<std::string> enabled;
  for (const String& key : only_enable) enabled.insert(key.str());
  auto answer = [](const PackedFunc& function, const ObjectRef& node) -> ObjectRef {
    if (!function) return nullptr;
    Any result = function(node);
    ObjectRef out = result.is_null() ? ObjectRef() : box(result);
    if (out && node->is_a(StmtNode::info) != out->is_a(StmtNode::info))
      throw Error(TypeError) << "ir_transform: " << node->type_key() << " cannot be replaced by " << out->type_key();
    return out;
  };
  auto visit = [&](Rewriter& self, const auto* node) -> ObjectRef {
    bool is_asked = enabled.empty() || enabled.count(node->type_key());
    if (is_asked)
      if (ObjectRef out = answer(before, ObjectRef(node))) return out;
    ObjectRef changed = self.children(node);
    if (is_asked)
      if (ObjectRef out = answer(after, changed)) return out;
    return changed;
  };
  Rewriter rewriter;
  rewriter.share_results(false);  // the functions see every occurrence
  rewriter.on([&](Rewriter& self, const StmtNode* node) -> ObjectRef { return visit(self, node); });
  rewriter.on([&](Rewriter& self, const PrimExprNode* node) -> ObjectRef { return visit(self, node); });
  return rewriter(root);
}

void visit_post_order(const ObjectRef& root, const PackedFunc& visit) {
  post_order(program_of(root), [&](const Object* node) {
    if (is_program_part(node)) visit(ObjectRef(node));
  });
}

void visit_pre_order(const ObjectRef& root, const PackedFunc& visit) {
  pre_order(program_of(root), [&](const Object* node) {
    if (!is_program_part(node)) return true;
    Any enter = visit(ObjectRef(node));
    return enter.is_null() ? false : enter.to<bool>();
  });
}

Globals stmt_functor_globals{
    {"tir.IRTransform", transform},
    {"tir.PostOrderVisit", visit_post_order},
    {"tir.PreOrderVisit", visit_pre_order},
    {"tir.Substitute", [](ObjectRef node, Map<Var, PrimExpr> values) { return substitute_all(node, values); }},
    {"tir.RenewDefs", renew_definitions},
};

}  // namespace
}  // namespace tessera

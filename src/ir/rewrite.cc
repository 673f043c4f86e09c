#include "ir/rewrite.h"

#include <unordered_set>
#include <vector>

#include "base/stack.h"
#include "ir/span_scope.h"

namespace tessera {
namespace {

constexpr uint8_t kNotEntered = Ignored | Opaque | Binds;

bool is_entered(const Field& field) { return field.kind == FieldKind::Ref && !(field.flags & kNotEntered); }

/// Nodes that have nothing a walk could enter.
bool is_leaf(const Object* node) { return node->is_a(VarNode::info) || node->is_a(StringNode::info); }

/// Calls `visit` with each child a walk enters, in order.
template <class F>
void for_each_child(const Object* node, F visit) {
  if (auto* array = cast_or_null<ArrayNode>(node)) {
    for (const ObjectRef& item : array->items)
      if (item) visit(item.get());
    return;
  }
  if (is_leaf(node)) return;
  for (const Field& field : node->type()->fields()) {
    if (!is_entered(field)) continue;
    if (const Object* child = field.at<ObjectRef>(node).get()) visit(child);
  }
}

}  // namespace

void Rewriter::add_handler(const NodeInfo* family, Handler handler) {
  handlers_[family] = std::move(handler);
  resolved_.clear();
}

const Rewriter::Handler* Rewriter::find(const Object* node) {
  const NodeInfo* exact = node->type()->node;
  auto [it, added] = resolved_.try_emplace(exact, nullptr);
  if (added) {
    for (const NodeInfo* family = exact; family; family = family->parent) {
      auto handler = handlers_.find(family);
      if (handler == handlers_.end()) continue;
      it->second = &handler->second;
      break;
    }
  }
  return it->second;
}

ObjectRef Rewriter::visit(const ObjectRef& node) {
  if (!node) return node;
  bool shared = share_ && node->use_count() > 1;
  if (shared) {
    if (auto it = done_.find(node.get()); it != done_.end()) return it->second.second;
  }
  const Handler* handler = find(node.get());
  ObjectRef out = on_enough_stack([&]() -> ObjectRef {
    if (!handler) return rewrite_children(node.get());
    auto* expr = cast_or_null<RelayExprNode>(node.get());
    if (!expr) return (*handler)(*this, node.get());
    SpanScope scope(expr->span);  // what stands for it comes from where it came from
    return (*handler)(*this, node.get());
  });
  if (shared) done_.try_emplace(node.get(), node, out);
  return out;
}

ObjectRef Rewriter::rewrite_children(const Object* node) {
  if (auto* array = cast_or_null<ArrayNode>(node)) {
    Ref<ArrayNode> changed;
    for (size_t i = 0; i < array->items.size(); ++i) {
      ObjectRef item = visit(array->items[i]);
      if (item.same_as(array->items[i])) continue;
      if (!changed) changed = make(ArrayNode(*array));
      changed.edit()->items[i] = std::move(item);
    }
    return changed ? ObjectRef(changed) : ObjectRef(node);
  }
  if (is_leaf(node)) return ObjectRef(node);
  ObjectRef changed;
  for (const Field& field : node->type()->fields()) {
    if (!is_entered(field)) continue;
    const auto& child = field.at<ObjectRef>(node);
    ObjectRef out = visit(child);
    if (out.same_as(child)) continue;
    if (!changed) changed = ObjectRef(node->type()->copy(node));
    field.at<ObjectRef>(changed.edit()) = std::move(out);
  }
  return changed ? changed : ObjectRef(node);
}

void post_order(const ObjectRef& root, const NodeVisitor& visit) {
  if (!root) return;
  struct Frame {
    const Object* node;
    bool children_done;
  };
  std::unordered_set<const Object*> seen;
  std::vector<Frame> stack{{root.get(), false}};
  std::vector<const Object*> children;
  while (!stack.empty()) {
    auto [node, children_done] = stack.back();
    if (children_done) {
      stack.pop_back();
      if (!node->is_a(ArrayNode::info)) visit(node);
      continue;
    }
    if (!seen.insert(node).second) {
      stack.pop_back();
      continue;
    }
    stack.back().children_done = true;
    children.clear();
    for_each_child(node, [&](const Object* child) { children.push_back(child); });
    for (size_t i = children.size(); i-- > 0;) stack.push_back({children[i], false});
  }
}

void pre_order(const ObjectRef& root, const std::function<bool(const Object*)>& visit) {
  if (!root) return;
  std::unordered_set<const Object*> seen;
  std::vector<const Object*> stack{root.get()}, children;
  while (!stack.empty()) {
    const Object* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    if (!node->is_a(ArrayNode::info) && !visit(node)) continue;
    children.clear();
    for_each_child(node, [&](const Object* child) { children.push_back(child); });
    for (size_t i = children.size(); i-- > 0;) stack.push_back(children[i]);
  }
}

bool uses_var(const ObjectRef& root, const std::function<bool(const VarNode*)>& is_it) {
  bool found = false;
  pre_order(root, [&](const Object* node) {
    if (auto* var = cast_or_null<VarNode>(node)) found = found || is_it(var);
    return !found;
  });
  return found;
}

}  // namespace tessera

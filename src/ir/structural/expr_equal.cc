#include "ir/structural/expr_equal.h"

#include "base/stack.h"
#include "ir/prim/expr.h"

namespace tessera {
namespace {

bool same(const Object* a, const Object* b);

bool same_items(const std::vector<ObjectRef>& a, const std::vector<ObjectRef>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!same(a[i].get(), b[i].get())) return false;
  return true;
}

bool same_field(const Field& field, const Object* a, const Object* b) {
  switch (field.kind) {
    case FieldKind::Bool: return field.at<bool>(a) == field.at<bool>(b);
    case FieldKind::Int32: return field.at<int32_t>(a) == field.at<int32_t>(b);
    case FieldKind::Int64: return field.at<int64_t>(a) == field.at<int64_t>(b);
    case FieldKind::Double: return field.at<double>(a) == field.at<double>(b);
    case FieldKind::DType: return field.at<DataType>(a) == field.at<DataType>(b);
    case FieldKind::Ref: return same(field.at<ObjectRef>(a).get(), field.at<ObjectRef>(b).get());
  }
  return false;
}

bool same_node(const Object* a, const Object* b) {
  if (const auto* x = cast_or_null<BinaryNode>(a)) {
    const auto* y = static_cast<const BinaryNode*>(b);
    return x->dtype == y->dtype && same(x->a.get(), y->a.get()) && same(x->b.get(), y->b.get());
  }
  if (a->is_a(AnyDim::info)) return false;  // two unknowns
  if (const auto* text = cast_or_null<StringNode>(a)) return text->text == static_cast<const StringNode*>(b)->text;
  if (const auto* array = cast_or_null<ArrayNode>(a))
    return same_items(array->items, static_cast<const ArrayNode*>(b)->items);
  if (a->is_a(MapNode::info)) return false;
  for (const Field& field : a->type()->fields())
    if (!(field.flags & Ignored) && !same_field(field, a, b)) return false;
  return true;
}

bool same(const Object* a, const Object* b) {
  if (a == b) return true;
  if (!a || !b || a->type() != b->type()) return false;
  Role role = a->type()->node->role;
  if (role == Role::Var || role == Role::Identity) return false;
  return on_enough_stack([&] { return same_node(a, b); });
}

size_t combined(size_t hash, size_t value) { return (hash ^ value) * 0x9E3779B97F4A7C15ull + (hash >> 29); }

size_t hash_of(const Object* node);

size_t hash_field(const Field& field, const Object* node) {
  switch (field.kind) {
    case FieldKind::Bool: return field.at<bool>(node);
    case FieldKind::Int32: return static_cast<size_t>(field.at<int32_t>(node));
    case FieldKind::Int64: return static_cast<size_t>(field.at<int64_t>(node));
    case FieldKind::Double: return std::hash<double>()(field.at<double>(node));
    case FieldKind::DType: {
      DataType dtype = field.at<DataType>(node);
      return static_cast<size_t>(dtype.code) << 24 | static_cast<size_t>(dtype.bits) << 16 | dtype.lanes;
    }
    case FieldKind::Ref: return hash_of(field.at<ObjectRef>(node).get());
  }
  return 0;
}

size_t hash_node(const Object* node) {
  if (const auto* text = cast_or_null<StringNode>(node)) return std::hash<std::string>()(text->text);
  size_t hash = std::hash<const void*>()(node->type());
  if (const auto* array = cast_or_null<ArrayNode>(node)) {
    for (const ObjectRef& item : array->items) hash = combined(hash, hash_of(item.get()));
    return hash;
  }
  for (const Field& field : node->type()->fields())
    if (!(field.flags & Ignored)) hash = combined(hash, hash_field(field, node));
  return hash;
}

size_t hash_of(const Object* node) {
  if (!node) return 0;
  Role role = node->type()->node->role;
  if (role == Role::Var || role == Role::Identity || node->is_a(MapNode::info)) return std::hash<const void*>()(node);
  return on_enough_stack([&] { return hash_node(node); });
}

}  // namespace

bool expr_equal(const PrimExpr& a, const PrimExpr& b) { return same(a.get(), b.get()); }

size_t expr_hash(const PrimExpr& e) { return hash_of(e.get()); }

}  // namespace tessera

#include "tir/analysis/deep_equal.h"

#include <cstring>

#include "base/stack.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// Compared by identity: variables, and objects that are no part of the expression's text (buffers, operators).
bool is_atom(const Object* node, const Field* field) {
  return node->is_a(VarNode::info) || (field && (field->flags & Opaque));
}

size_t size_of(FieldKind kind) {
  switch (kind) {
    case FieldKind::Bool: return sizeof(bool);
    case FieldKind::Int32: return sizeof(int32_t);
    case FieldKind::DType: return sizeof(DataType);
    default: return sizeof(int64_t);
  }
}

bool equal_nodes(const Object* a, const Object* b, const Field* through) {
  if (a == b) return true;
  if (!a || !b || a->type() != b->type() || is_atom(a, through)) return false;
  if (auto* text = cast_or_null<StringNode>(a)) return text->text == static_cast<const StringNode*>(b)->text;
  return on_enough_stack([&] {
    if (auto* array = cast_or_null<ArrayNode>(a)) {
      const auto& other = static_cast<const ArrayNode*>(b)->items;
      if (array->items.size() != other.size()) return false;
      for (size_t i = 0; i < other.size(); ++i)
        if (!equal_nodes(array->items[i].get(), other[i].get(), nullptr)) return false;
      return true;
    }
    for (const Field& field : a->type()->fields()) {
      if (field.flags & Ignored) continue;
      if (field.kind == FieldKind::Ref) {
        if (!equal_nodes(field.at<ObjectRef>(a).get(), field.at<ObjectRef>(b).get(), &field)) return false;
      } else if (std::memcmp(&field.at<char>(a), &field.at<char>(b), size_of(field.kind)) != 0) {
        return false;
      }
    }
    return true;
  });
}

size_t mix(size_t seed, size_t value) { return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2)); }

size_t hash_node(const Object* node, const Field* through) {
  if (!node) return 0;
  if (is_atom(node, through)) return std::hash<const void*>()(node);
  if (auto* text = cast_or_null<StringNode>(node)) return std::hash<std::string>()(text->text);
  return on_enough_stack([&] {
    size_t out = std::hash<const void*>()(node->type());
    if (auto* array = cast_or_null<ArrayNode>(node)) {
      for (const ObjectRef& item : array->items) out = mix(out, hash_node(item.get(), nullptr));
      return out;
    }
    for (const Field& field : node->type()->fields()) {
      if (field.flags & Ignored) continue;
      if (field.kind == FieldKind::Ref) {
        out = mix(out, hash_node(field.at<ObjectRef>(node).get(), &field));
      } else {
        out = mix(out, std::hash<std::string_view>()({&field.at<char>(node), size_of(field.kind)}));
      }
    }
    return out;
  });
}

static Globals deep_equal_globals{{"tir.analysis.expr_deep_equal", deep_equal}};

}  // namespace

bool deep_equal(const PrimExpr& a, const PrimExpr& b) { return equal_nodes(a.get(), b.get(), nullptr); }
size_t deep_hash(const PrimExpr& e) { return hash_node(e.get(), nullptr); }

}  // namespace tessera

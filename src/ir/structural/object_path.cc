#include "ir/structural/object_path.h"

#include <algorithm>
#include <vector>

#include "ir/structural/equal.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

template <class T>
ObjectPath extend(const ObjectPath& parent, T step) {
  step.parent = parent;
  step.length = parent ? parent->length + 1 : 1;
  return make(std::move(step));
}

bool same_step(const ObjectPathNode* a, const ObjectPathNode* b) {
  if (a == b) return true;
  if (a->type() != b->type() || a->length != b->length) return false;
  if (auto* x = cast_or_null<AttributeAccessPath>(a))
    return x->attr_key == static_cast<const AttributeAccessPath*>(b)->attr_key;
  if (auto* x = cast_or_null<ArrayIndexPath>(a)) return x->index == static_cast<const ArrayIndexPath*>(b)->index;
  if (auto* x = cast_or_null<MissingArrayElementPath>(a))
    return x->index == static_cast<const MissingArrayElementPath*>(b)->index;
  if (auto* x = cast_or_null<MapValuePath>(a)) {
    auto* y = static_cast<const MapValuePath*>(b);
    return structural_equal(x->key, y->key);
  }
  return true;
}

std::string step_text(const ObjectPathNode* step) {
  if (auto* attr = cast_or_null<AttributeAccessPath>(step)) return "." + attr->attr_key.str();
  if (auto* item = cast_or_null<ArrayIndexPath>(step)) return "[" + std::to_string(item->index) + "]";
  if (auto* item = cast_or_null<MissingArrayElementPath>(step))
    return "[<missing element #" + std::to_string(item->index) + ">]";
  if (auto* entry = cast_or_null<MapValuePath>(step)) {
    auto* text = entry->key.as<StringNode>();
    return "[" + (text ? quoted(text->text) : to_text(entry->key)) + "]";
  }
  if (step->is_a(MissingMapEntryPath::info)) return "[<missing entry>]";
  if (step->is_a(UnknownAttributeAccessPath::info)) return ".<unknown attribute>";
  return "<root>";
}

register_types<ObjectPathNode, RootPath, AttributeAccessPath, UnknownAttributeAccessPath, ArrayIndexPath,
               MissingArrayElementPath, MapValuePath, MissingMapEntryPath, ObjectPathPairNode>
    object_path_types;

}  // namespace

ObjectPath root_path() { return make(RootPath{}); }

ObjectPath attr_path(const ObjectPath& parent, String name) {
  AttributeAccessPath step;
  step.attr_key = std::move(name);
  return extend(parent, std::move(step));
}

ObjectPath unknown_attr_path(const ObjectPath& parent) { return extend(parent, UnknownAttributeAccessPath{}); }

ObjectPath array_index_path(const ObjectPath& parent, int index) {
  ArrayIndexPath step;
  step.index = index;
  return extend(parent, std::move(step));
}

ObjectPath missing_array_element_path(const ObjectPath& parent, int index) {
  MissingArrayElementPath step;
  step.index = index;
  return extend(parent, std::move(step));
}

ObjectPath map_value_path(const ObjectPath& parent, ObjectRef key) {
  MapValuePath step;
  step.key = std::move(key);
  return extend(parent, std::move(step));
}

ObjectPath missing_map_entry_path(const ObjectPath& parent) { return extend(parent, MissingMapEntryPath{}); }

ObjectPath path_prefix(const ObjectPath& path, int length) {
  if (length < 1) throw Error(IndexError) << "Prefix length must be at least 1, not " << length;
  if (length > path->length)
    throw Error(IndexError) << "a path of " << path->length << " steps has no prefix of " << length
                            << "; lengths go from 1 to " << path->length;
  ObjectPath at = path;
  while (at->length > length) at = at->parent;
  return at;
}

bool is_prefix_of(const ObjectPath& prefix, const ObjectPath& path) {
  return prefix->length <= path->length && paths_equal(prefix, path_prefix(path, prefix->length));
}

bool paths_equal(const ObjectPath& a, const ObjectPath& b) {
  if (a->length != b->length) return false;
  const ObjectPathNode* x = a.get();
  const ObjectPathNode* y = b.get();
  for (; x && y && x != y; x = x->parent.get(), y = y->parent.get())
    if (!same_step(x, y)) return false;
  return true;
}

std::string path_text(const ObjectPath& path) {
  std::vector<const ObjectPathNode*> steps;
  for (const ObjectPathNode* at = path.get(); at; at = at->parent.get()) steps.push_back(at);
  std::reverse(steps.begin(), steps.end());
  std::string out;
  for (const ObjectPathNode* step : steps) out += step_text(step);
  return out;
}

static Globals object_path_globals{
    {"node.ObjectPathRoot", root_path},
    {"node.ObjectPathAttr",
     [](ObjectPath parent, String name) { return name ? attr_path(parent, name) : unknown_attr_path(parent); }},
    {"node.ObjectPathUnknownAttr", [](ObjectPath parent) { return unknown_attr_path(parent); }},
    {"node.ObjectPathArrayIndex", [](ObjectPath parent, int index) { return array_index_path(parent, index); }},
    {"node.ObjectPathMissingArrayElement",
     [](ObjectPath parent, int index) { return missing_array_element_path(parent, index); }},
    {"node.ObjectPathMapValue", [](ObjectPath parent, AnyView key) { return map_value_path(parent, box(key)); }},
    {"node.ObjectPathMissingMapEntry", [](ObjectPath parent) { return missing_map_entry_path(parent); }},
    {"node.ObjectPathGetParent", [](ObjectPath path) { return path->parent; }},
    {"node.ObjectPathLength", [](ObjectPath path) { return path->length; }},
    {"node.ObjectPathGetPrefix", [](ObjectPath path, int length) { return path_prefix(path, length); }},
    {"node.ObjectPathIsPrefixOf", [](ObjectPath prefix, ObjectPath path) { return is_prefix_of(prefix, path); }},
    {"node.ObjectPathEqual", [](ObjectPath a, ObjectPath b) { return paths_equal(a, b); }},
    {"node.ObjectPathText", [](ObjectPath path) { return path_text(path); }},
};

}  // namespace tessera

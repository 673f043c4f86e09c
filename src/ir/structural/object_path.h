#pragma once
// The way from a root object to one of its parts: <root>.body.seq[2].value

#include "base/array.h"
#include "base/string.h"

namespace tessera {

/// One step and all steps before it. Paths are made by the functions below.
struct ObjectPathNode : Object {
  Ref<ObjectPathNode> parent;  // empty at the root
  int32_t length = 1;
  static constexpr NodeInfo info{"ObjectPath", &Object::info};
  static void fields(auto f) { f("parent", &ObjectPathNode::parent, Optional); }
};
using ObjectPath = Ref<ObjectPathNode>;

struct RootPath : ObjectPathNode {
  static constexpr NodeInfo info{"RootPath", &ObjectPathNode::info};
  static void fields(auto) {}
};
struct AttributeAccessPath : ObjectPathNode {
  String attr_key;
  static constexpr NodeInfo info{"AttributeAccessPath", &ObjectPathNode::info};
  static void fields(auto f) { f("attr_key", &AttributeAccessPath::attr_key); }
};
/// A part that no field leads to.
struct UnknownAttributeAccessPath : ObjectPathNode {
  static constexpr NodeInfo info{"UnknownAttributeAccessPath", &ObjectPathNode::info};
  static void fields(auto) {}
};
struct ArrayIndexPath : ObjectPathNode {
  int32_t index = 0;
  static constexpr NodeInfo info{"ArrayIndexPath", &ObjectPathNode::info};
  static void fields(auto f) { f("index", &ArrayIndexPath::index); }
};
/// The index where an array has no item although the other side has one.
struct MissingArrayElementPath : ObjectPathNode {
  int32_t index = 0;
  static constexpr NodeInfo info{"MissingArrayElementPath", &ObjectPathNode::info};
  static void fields(auto f) { f("index", &MissingArrayElementPath::index); }
};
struct MapValuePath : ObjectPathNode {
  ObjectRef key;
  static constexpr NodeInfo info{"MapValuePath", &ObjectPathNode::info};
  static void fields(auto f) { f("key", &MapValuePath::key); }
};
struct MissingMapEntryPath : ObjectPathNode {
  static constexpr NodeInfo info{"MissingMapEntryPath", &ObjectPathNode::info};
  static void fields(auto) {}
};

struct ObjectPathPairNode : Object {
  ObjectPath lhs_path, rhs_path;
  static constexpr NodeInfo info{"ObjectPathPair", &Object::info};
  static void fields(auto f) {
    f("lhs_path", &ObjectPathPairNode::lhs_path);
    f("rhs_path", &ObjectPathPairNode::rhs_path);
  }
};
using ObjectPathPair = Ref<ObjectPathPairNode>;

ObjectPath root_path();
ObjectPath attr_path(const ObjectPath& parent, String name);
ObjectPath unknown_attr_path(const ObjectPath& parent);
ObjectPath array_index_path(const ObjectPath& parent, int index);
ObjectPath missing_array_element_path(const ObjectPath& parent, int index);
ObjectPath map_value_path(const ObjectPath& parent, ObjectRef key);
ObjectPath missing_map_entry_path(const ObjectPath& parent);

/// The first `length` steps; the root alone is 1.
ObjectPath path_prefix(const ObjectPath& path, int length);
bool is_prefix_of(const ObjectPath& prefix, const ObjectPath& path);
bool paths_equal(const ObjectPath& a, const ObjectPath& b);
/// <root>.body[2]["key"]
std::string path_text(const ObjectPath& path);

}  // namespace tessera

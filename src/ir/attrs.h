#pragma once
// Attributes of functions, modules, operators and calls.

#include "base/any.h"
#include "base/map.h"

namespace tessera {

struct AttrsNode : Object {
  static constexpr NodeInfo info{"Attrs", &Object::info};
  static void fields(auto) {}
};
using Attrs = Ref<AttrsNode>;

/// What one attribute, or one argument of an operator, is called, may be and means, in words.
struct AttrFieldInfoNode : Object {
  String name, type_info, description;
  static constexpr NodeInfo info{"AttrFieldInfo", &Object::info};
  static void fields(auto f) {
    f("name", &AttrFieldInfoNode::name);
    f("type_info", &AttrFieldInfoNode::type_info);
    f("description", &AttrFieldInfoNode::description);
  }
};
using AttrFieldInfo = Ref<AttrFieldInfoNode>;

/// String keys, any object as value.
struct DictAttrsNode : AttrsNode {
  Map<String, ObjectRef> dict;
  static constexpr NodeInfo info{"DictAttrs", &AttrsNode::info};
  static void fields(auto f) { f("__dict__", &DictAttrsNode::dict); }
};

class DictAttrs : public Ref<DictAttrsNode> {
 public:
  using Ref::Ref;
  DictAttrs() : DictAttrs(Map<String, ObjectRef>()) {}
  explicit DictAttrs(Map<String, ObjectRef> dict) : Ref(nullptr) {
    DictAttrsNode node;
    node.dict = std::move(dict);
    *this = DictAttrs(make(std::move(node)).get());
  }
  bool has(const String& key) const { return node_ && node_->dict.count(key); }
  /// The value under `key`, or an empty reference.
  ObjectRef get_attr(const String& key) const { return node_ ? node_->dict.get_or_null(key) : nullptr; }
  template <class T>
  T get_attr(const String& key) const {
    return downcast<T>(get_attr(key));
  }
  int64_t get_int(const String& key, int64_t otherwise) const {
    ObjectRef value = get_attr(key);
    return value ? Any::of_object(value.get()).to<int64_t>() : otherwise;
  }
  bool is_true(const String& key) const { return get_int(key, 0) != 0; }
  DictAttrs with(const String& key, ObjectRef value) const {
    Map<String, ObjectRef> dict = node_ ? node_->dict : Map<String, ObjectRef>();
    dict.set(key, std::move(value));
    return DictAttrs(dict);
  }
  DictAttrs without(const String& key) const {
    Map<String, ObjectRef> dict = node_ ? node_->dict : Map<String, ObjectRef>();
    dict.erase(key);
    return DictAttrs(dict);
  }
};

}  // namespace tessera

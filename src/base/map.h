#pragma once
// A map from objects to objects that remembers insertion order; String keys compare by content, others by identity.

#include <initializer_list>
#include <unordered_map>
#include <vector>

#include "base/object.h"
#include "base/string.h"

namespace tessera {

struct MapNode : Object {
  using Entry = std::pair<ObjectRef, ObjectRef>;
  std::vector<Entry> entries;

  static constexpr NodeInfo info{"Map", &Object::info};
  static void fields(auto) {}

  const ObjectRef* find(const Object* key) const;
  void set(ObjectRef key, ObjectRef value);
  bool erase(const Object* key);

 private:
  struct Hash {
    size_t operator()(const Object* key) const;
  };
  struct Equal {
    bool operator()(const Object* a, const Object* b) const;
  };
  std::unordered_map<const Object*, size_t, Hash, Equal> index_;
};

/// The one empty map; every default-made Map shares it.
const MapNode* empty_map();

template <class K, class V>
class Map : public Ref<MapNode> {
 public:
  Map() : Ref(empty_map()) {}
  Map(std::nullptr_t) : Ref(nullptr) {}
  explicit Map(const MapNode* node) : Ref(node) {}
  explicit Map(const Ref<MapNode>& ref) : Ref(ref) {}
  Map(std::initializer_list<std::pair<K, V>> entries) : Map() {
    for (const auto& [key, value] : entries) set(key, value);
  }
  template <class K2, class V2>
    requires((!std::is_same_v<K, K2> || !std::is_same_v<V, V2>) && std::is_convertible_v<K2, K> &&
             std::is_convertible_v<V2, V>)
  Map(const Map<K2, V2>& other) : Ref(other.get()) {}

  size_t size() const { return node_ ? node_->entries.size() : 0; }
  bool empty() const { return size() == 0; }
  bool count(const K& key) const { return node_ && node_->find(key.get()); }
  /// The value under `key`, or an empty reference.
  V get_or_null(const K& key) const {
    const ObjectRef* found = node_ ? node_->find(key.get()) : nullptr;
    return found ? value_of(*found) : V(nullptr);
  }
  V operator[](const K& key) const {
    const ObjectRef* found = node_ ? node_->find(key.get()) : nullptr;
    if (!found) throw Error(KeyError) << "no entry " << to_text(ObjectRef(key)) << " in the map";
    return value_of(*found);
  }
  void set(K key, V value) { own()->set(std::move(key), std::move(value)); }
  void erase(const K& key) { own()->erase(key.get()); }

  class iterator {
   public:
    explicit iterator(const MapNode::Entry* at) : at_(at) {}
    std::pair<K, V> operator*() const { return {key_of(at_->first), value_of(at_->second)}; }
    iterator& operator++() { return ++at_, *this; }
    bool operator==(const iterator&) const = default;

   private:
    const MapNode::Entry* at_;
  };
  iterator begin() const { return iterator(node_ ? node_->entries.data() : nullptr); }
  iterator end() const { return iterator(node_ ? node_->entries.data() + node_->entries.size() : nullptr); }

  static bool accepts(const Object* object) {
    auto* map = cast_or_null<MapNode>(object);
    if (!map) return false;
    for (const auto& [key, value] : map->entries)
      if (!K::accepts(key.get()) || !V::accepts(value.get())) return false;
    return true;
  }
  static std::string expects() { return "Map[" + K::expects() + ", " + V::expects() + "]"; }

 private:
  static K key_of(const ObjectRef& ref) { return K(static_cast<const typename K::Node*>(ref.get())); }
  static V value_of(const ObjectRef& ref) { return V(static_cast<const typename V::Node*>(ref.get())); }
  MapNode* own() {
    if (!node_) *this = Map();
    if (node_->use_count() > 1) *this = Map(make(MapNode(*node_)));
    return const_cast<MapNode*>(node_);
  }
};

}  // namespace tessera

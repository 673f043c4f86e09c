#pragma once
// An immutable sequence of object references; editing calls copy when the storage is shared.

#include <initializer_list>
#include <vector>

#include "base/object.h"

namespace tessera {

struct ArrayNode : Object {
  std::vector<ObjectRef> items;
  static constexpr NodeInfo info{"Array", &Object::info};
  static void fields(auto) {}
};

/// The one empty array; every default-made Array shares it.
const ArrayNode* empty_array();

template <class T>
class Array : public Ref<ArrayNode> {
 public:
  using Item = T;

  Array() : Ref(empty_array()) {}
  Array(std::nullptr_t) : Ref(nullptr) {}
  explicit Array(const ArrayNode* node) : Ref(node) {}
  explicit Array(const Ref<ArrayNode>& ref) : Ref(ref) {}
  Array(std::initializer_list<T> items) : Array(items.begin(), items.end()) {}
  template <class Iter>
  Array(Iter begin, Iter end) : Array() {
    if (begin == end) return;
    auto& out = own()->items;
    for (; begin != end; ++begin) out.push_back(T(*begin));
  }
  Array(const std::vector<T>& items) : Array(items.begin(), items.end()) {}
  Array(size_t count, const T& item) : Array() { own()->items.assign(count, ObjectRef(item)); }
  template <class U>
    requires(!std::is_same_v<T, U> && std::is_convertible_v<U, T>)
  Array(const Array<U>& other) : Ref(other.get()) {}

  size_t size() const { return node_ ? node_->items.size() : 0; }
  bool empty() const { return size() == 0; }
  /// Item `i`; out of range is our own mistake.
  T operator[](size_t i) const {
    ICHECK(i < size()) << "index " << i << " in an array of " << size();
    return item(node_->items[i]);
  }
  T front() const { return (*this)[0]; }
  T back() const { return (*this)[size() - 1]; }

  class iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = T;
    iterator() = default;
    explicit iterator(const ObjectRef* at) : at_(at) {}
    T operator*() const { return item(*at_); }
    T operator[](difference_type n) const { return item(at_[n]); }
    iterator& operator++() { return ++at_, *this; }
    iterator operator++(int) { return iterator(at_++); }
    iterator& operator--() { return --at_, *this; }
    iterator& operator+=(difference_type n) { return at_ += n, *this; }
    friend iterator operator+(iterator a, difference_type n) { return iterator(a.at_ + n); }
    friend iterator operator-(iterator a, difference_type n) { return iterator(a.at_ - n); }
    friend difference_type operator-(iterator a, iterator b) { return a.at_ - b.at_; }
    auto operator<=>(const iterator&) const = default;

   private:
    const ObjectRef* at_ = nullptr;
  };
  iterator begin() const { return iterator(node_ ? node_->items.data() : nullptr); }
  iterator end() const { return iterator(node_ ? node_->items.data() + node_->items.size() : nullptr); }

  void push_back(T value) { own()->items.push_back(std::move(value)); }
  void pop_back() { own()->items.pop_back(); }
  void set(size_t i, T value) { own()->items[i] = std::move(value); }
  void insert(size_t i, T value) { own()->items.insert(own()->items.begin() + static_cast<long>(i), std::move(value)); }
  void erase(size_t i) { own()->items.erase(own()->items.begin() + static_cast<long>(i)); }
  void resize(size_t n) { own()->items.resize(n); }
  void reserve(size_t n) { own()->items.reserve(n); }

  std::vector<T> vec() const { return {begin(), end()}; }

  static bool accepts(const Object* object) {
    auto* array = cast_or_null<ArrayNode>(object);
    if (!array) return false;
    for (const ObjectRef& item : array->items)
      if (!T::accepts(item.get())) return false;
    return true;
  }
  static std::string expects() { return "Array[" + T::expects() + "]"; }

 private:
  ArrayNode* node() { return const_cast<ArrayNode*>(node_); }
  ArrayNode* own() {
    if (!node_) *this = Array();
    if (node_->use_count() > 1) *this = Array(make(ArrayNode(*node_)));
    return node();
  }
  static T item(const ObjectRef& ref) { return T(static_cast<const typename T::Node*>(ref.get())); }
};

}  // namespace tessera

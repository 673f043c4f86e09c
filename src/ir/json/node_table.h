#pragma once
// Functions by node type: what printers and other open-ended walks dispatch on. A room adds rows for its own nodes.

#include <unordered_map>

#include "base/object.h"

namespace tessera {

/// A row for a family (StmtNode) serves its members unless they have their own.
template <class F>
class NodeTable {
 public:
  void set(const NodeInfo& type, F function) { rows_[&type] = std::move(function); }
  const F* find(const Object* node) const {
    for (const NodeInfo* type = node->type()->node; type; type = type->parent)
      if (auto it = rows_.find(type); it != rows_.end()) return &it->second;
    return nullptr;
  }

 private:
  std::unordered_map<const NodeInfo*, F> rows_;
};

namespace detail {
/// The node type a handler `void(Printer&, const T*)` is for.
template <class F>
struct HandlerNode : HandlerNode<decltype(&F::operator())> {};
template <class C, class R, class P, class T>
struct HandlerNode<R (C::*)(P&, const T*) const> {
  using type = T;
};
template <class R, class P, class T>
struct HandlerNode<R (*)(P&, const T*)> {
  using type = T;
};
}  // namespace detail

}  // namespace tessera

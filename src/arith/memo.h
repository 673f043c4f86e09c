#pragma once
// Answers remembered by node, in bounded memory.

#include <unordered_map>
#include <utility>

#include "ir/expr.h"

namespace tessera::arith {

/// A map from nodes, which it keeps alive, to answers. It forgets those not asked for during the last `kGeneration`
/// insertions, so that expressions made on the way do not push out the large ones they are asked about.
template <class V>
class Memo {
 public:
  const V* find(const PrimExpr& e) {
    if (auto it = young_.find(e.get()); it != young_.end()) return &it->second.second;
    auto it = old_.find(e.get());
    if (it == old_.end()) return nullptr;
    std::pair<PrimExpr, V> entry = std::move(it->second);
    old_.erase(it);
    return insert(entry.first, std::move(entry.second));
  }
  const V* insert(const PrimExpr& e, V value) {
    if (young_.size() >= kGeneration) {
      old_ = std::move(young_);
      young_.clear();
    }
    return &young_.insert_or_assign(e.get(), std::pair(e, std::move(value))).first->second.second;
  }
  void clear() {
    young_.clear();
    old_.clear();
  }

 private:
  static constexpr size_t kGeneration = 1 << 15;
  std::unordered_map<const Object*, std::pair<PrimExpr, V>> young_, old_;
};

}  // namespace tessera::arith

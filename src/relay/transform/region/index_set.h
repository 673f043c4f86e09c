#pragma once
// Sets of positions in a graph.

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::relay {

/// A set of indices below a size that all sets of one graph share.
class IndexSet {
 public:
  explicit IndexSet(size_t size) : words_((size + 63) / 64) {}

  void insert(size_t index) { words_[index / 64] |= uint64_t(1) << (index % 64); }
  bool contains(size_t index) const { return words_[index / 64] >> (index % 64) & 1; }
  IndexSet& operator|=(const IndexSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }
  size_t count() const {
    size_t out = 0;
    for (uint64_t word : words_) out += static_cast<size_t>(std::popcount(word));
    return out;
  }
  bool meets(const IndexSet& other) const {
    for (size_t i = 0; i < words_.size(); ++i)
      if (words_[i] & other.words_[i]) return true;
    return false;
  }
  bool is_within(const IndexSet& other) const {
    for (size_t i = 0; i < words_.size(); ++i)
      if (words_[i] & ~other.words_[i]) return false;
    return true;
  }
  auto operator<=>(const IndexSet&) const = default;

 private:
  std::vector<uint64_t> words_;
};

}  // namespace tessera::relay

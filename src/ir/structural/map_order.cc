#include "ir/structural/map_order.h"

#include <cstring>

namespace tessera {
namespace {

/// MurmurHash64A with the seed of GNU's standard library.
uint64_t hash_of(const std::string& text) {
  constexpr uint64_t kMul = 0xC6A4A7935BD1E995ull;
  const char* at = text.data();
  size_t left = text.size();
  uint64_t hash = 0xC70F6907ull ^ (left * kMul);
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    word *= kMul;
    word = (word ^ (word >> 47)) * kMul;
    hash = (hash ^ word) * kMul;
  }
  if (left > 0) {
    uint64_t word = 0;
    std::memcpy(&word, at, left);
    hash = (hash ^ word) * kMul;
  }
  hash = (hash ^ (hash >> 47)) * kMul;
  return hash ^ (hash >> 47);
}

/// Positions in a table of 2^bits slots: each entry at home where it can, else at the next free slot after its home.
class Table {
 public:
  explicit Table(int bits) : bits_(bits), slots_(size_t{1} << bits, nullptr) {}

  void insert(const MapNode::Entry* entry) {
    size_t home = home_of(entry);
    const MapNode::Entry* guest = slots_[home];
    if (guest && home_of(guest) == home) return void(slots_[next_free(home)] = entry);
    if (guest) slots_[next_free(home_of(guest))] = guest;  // a guest makes room for the owner
    slots_[home] = entry;
  }
  const std::vector<const MapNode::Entry*>& slots() const { return slots_; }

 private:
  size_t home_of(const MapNode::Entry* entry) const {
    uint64_t spread = hash_of(static_cast<const StringNode*>(entry->first.get())->text) * 11400714819323198485ull;
    return spread >> (64 - bits_);
  }
  size_t next_free(size_t home) const {
    size_t at = home;
    while (slots_[at]) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  int bits_;
  std::vector<const MapNode::Entry*> slots_;
};

}  // namespace

std::vector<MapNode::Entry> printing_order(const MapNode* map) {
  return map->entries.size() <= 4 ? map->entries : table_order(map);
}

std::vector<MapNode::Entry> table_order(const MapNode* map) {
  for (const auto& [key, _] : map->entries)
    if (!key.as<StringNode>()) return map->entries;
  int bits = 3;
  Table table(bits);
  size_t count = 0;
  for (const MapNode::Entry& entry : map->entries) {
    if (count + 1 >= table.slots().size()) {  // one slot stays free
      Table larger(++bits);
      for (const MapNode::Entry* known : table.slots())
        if (known) larger.insert(known);
      table = std::move(larger);
    }
    table.insert(&entry);
    ++count;
  }
  std::vector<MapNode::Entry> out;
  for (const MapNode::Entry* entry : table.slots())
    if (entry) out.push_back(*entry);
  return out;
}

}  // namespace tessera

// All operators. They are made when the library is loaded, family by family.

#include <vector>

#include "op/records.h"

namespace tessera::op {
namespace {

struct Families {
  std::vector<void (*)()> records, more_slots;
  bool are_made = false;
};
Families& families() {
  static auto* all = new Families;
  return *all;
}

bool make_all() {
  for (auto& fill : families().records) fill();
  for (auto& fill : families().more_slots) fill();
  return families().are_made = true;
}

}  // namespace

OpFamily::OpFamily(void (*fill)(), FillOrder order) {
  if (families().are_made) fill();
  else (order == FillOrder::Records ? families().records : families().more_slots).push_back(fill);
}

void make_operators() { [[maybe_unused]] static const bool made = make_all(); }

[[maybe_unused]] static const bool made_at_start = (make_operators(), true);

}  // namespace tessera::op

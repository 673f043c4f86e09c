#pragma once
// How a file adds its operators to the table, and how all of them are made.

#include "op/record.h"

namespace tessera::op {

/// Records come first, then what fills slots of operators that records elsewhere made: gradients, implementations for a target.
enum class FillOrder { Records, MoreSlots };

/// A function that makes records or fills slots, noted by the file that defines it, so that no list names it:
///   [[gnu::init_priority(kFamilies)]] static const OpFamily conv_family{conv_records};
/// Families are noted before any other object of the library is made. One that is noted after the operators were made, by
/// another library, is made at once.
class OpFamily {
 public:
  explicit OpFamily(void (*fill)(), FillOrder order = FillOrder::Records);
};
inline constexpr int kFamilies = 1000;

/// Makes all operators, the first time it is called.
void make_operators();

}  // namespace tessera::op

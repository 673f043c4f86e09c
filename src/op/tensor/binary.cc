// Operators of two tensors that are stretched to each other.

#include "op/records.h"
#include "op/rules.h"
#include "runtime/registry.h"

namespace tessera::op {
namespace {

struct Row {
  const char* name;
  int support_level;
  TypeRule rule;
  const char* doc;
};

const Row kRows[] = {
    {"add", 1, broadcast, "lhs + rhs."},
    {"subtract", 1, broadcast, "lhs - rhs."},
    {"multiply", 1, broadcast, "lhs * rhs."},
    {"divide", 1, broadcast, "lhs / rhs; on integers towards zero."},
    {"floor_divide", 1, broadcast, "lhs / rhs, rounded down."},
    {"trunc_divide", 1, broadcast, "lhs / rhs, rounded towards zero."},
    {"mod", 1, broadcast, "The remainder of division towards zero."},
    {"floor_mod", 1, broadcast, "The remainder of division rounded down: it has the sign of rhs."},
    {"trunc_mod", 1, broadcast, "The remainder of division towards zero: it has the sign of lhs."},
    {"power", 4, broadcast, "lhs to the power of rhs."},
    {"maximum", 4, broadcast, "The greater of both."},
    {"minimum", 4, broadcast, "The lesser of both."},
    {"left_shift", 4, broadcast, "lhs << rhs."},
    {"right_shift", 4, broadcast, "lhs >> rhs."},
    {"logical_and", 4, broadcast, "True where both are."},
    {"logical_or", 4, broadcast, "True where one is."},
    {"logical_xor", 4, broadcast, "True where exactly one is."},
    {"bitwise_and", 4, broadcast, "lhs & rhs."},
    {"bitwise_or", 4, broadcast, "lhs | rhs."},
    {"bitwise_xor", 4, broadcast, "lhs ^ rhs."},
    {"equal", 4, broadcast_compare, "lhs == rhs."},
    {"not_equal", 4, broadcast_compare, "lhs != rhs."},
    {"less", 4, broadcast_compare, "lhs < rhs."},
    {"less_equal", 4, broadcast_compare, "lhs <= rhs."},
    {"greater", 4, broadcast_compare, "lhs > rhs."},
    {"greater_equal", 4, broadcast_compare, "lhs >= rhs."},
};

}  // namespace

void binary_records() {
  for (const Row& row : kRows) {
    OpRecord(row.name)
        .doc(row.doc)
        .input("lhs", "the left operand")
        .input("rhs", "the right operand")
        .support_level(row.support_level)
        .type(row.rule == broadcast ? "Broadcast" : "BroadcastComp", row.rule)
        .fusion(Fusion::Broadcast)
        .stateful(false)
        .compute([name = std::string("topi.") + row.name](const Attrs&, const Array<te::Tensor>& in, const Type&) {
          return Array<te::Tensor>{get_global(name)(in[0], in[1]).to<te::Tensor>()};
        });
  }
}

}  // namespace tessera::op

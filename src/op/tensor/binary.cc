// Operators of two tensors that are broadcast to each other.

#include "op/evaluate/evaluate.h"
#include "op/layout_rules.h"
#include "op/qnn/quantized_forms.h"
#include "op/records.h"
#include "op/rules.h"
#include "op/tensor/follows.h"
#include "runtime/registry.h"

namespace tessera::op {
namespace {

struct BinaryRow {
  const char* name;
  int support_level;
  TypeRule rule;
  const char* doc;
  void (*more)(OpRecord&) = nullptr;  // what is true of some of them only
};

void follows_and_evaluates(OpRecord& op) { op.precision(Precision::Follow).evaluate(evaluate_arithmetic); }
/// `op` as one of integers that stand for floats.
void has_integer_form(OpRecord& op, const char* integer_op) {
  follows_and_evaluates(op);
  op.quantized(quantized_binary(integer_op));
}

const BinaryRow kBinaryRows[] = {
    {"add", 1, broadcast, "lhs + rhs.", [](OpRecord& op) { has_integer_form(op.commutative().neutral(0), "qnn.add"); }},
    {"subtract", 1, broadcast, "lhs - rhs.", [](OpRecord& op) { has_integer_form(op.neutral(0), "qnn.subtract"); }},
    {"multiply", 1, broadcast, "lhs * rhs.",
     [](OpRecord& op) { has_integer_form(op.commutative().neutral(1), "qnn.mul"); }},
    {"divide", 1, broadcast, "lhs / rhs; on integers towards zero.",
     [](OpRecord& op) { follows_and_evaluates(op.neutral(1)); }},
    {"floor_divide", 1, broadcast, "lhs / rhs, rounded down."},
    {"trunc_divide", 1, broadcast, "lhs / rhs, rounded towards zero."},
    {"mod", 1, broadcast, "The remainder of division towards zero."},
    {"floor_mod", 1, broadcast, "The remainder of division rounded down: it has the sign of rhs."},
    {"trunc_mod", 1, broadcast, "The remainder of division towards zero: it has the sign of lhs."},
    {"power", 4, broadcast, "lhs to the power of rhs.", [](OpRecord& op) { op.precision(Precision::Never); }},
    {"maximum", 4, broadcast, "The greater of both.", follows_and_evaluates},
    {"minimum", 4, broadcast, "The lesser of both.", follows_and_evaluates},
    {"left_shift", 4, broadcast, "lhs << rhs."},
    {"right_shift", 4, broadcast, "lhs >> rhs."},
    {"logical_and", 4, broadcast, "True where both are."},
    {"logical_or", 4, broadcast, "True where one is."},
    {"logical_xor", 4, broadcast, "True where exactly one is."},
    {"bitwise_and", 4, broadcast, "lhs & rhs."},
    {"bitwise_or", 4, broadcast, "lhs | rhs."},
    {"bitwise_xor", 4, broadcast, "lhs ^ rhs."},
    {"equal", 4, broadcast_compare, "lhs == rhs.", follows},
    {"not_equal", 4, broadcast_compare, "lhs != rhs.", follows},
    {"less", 4, broadcast_compare, "lhs < rhs.", follows},
    {"less_equal", 4, broadcast_compare, "lhs <= rhs.", follows},
    {"greater", 4, broadcast_compare, "lhs > rhs.", follows},
    {"greater_equal", 4, broadcast_compare, "lhs >= rhs.", follows},
};

}  // namespace

static void binary_records() {
  for (const BinaryRow& row : kBinaryRows) {
    OpRecord record(row.name);
    record.doc(row.doc)
        .input("lhs", "the left operand")
        .input("rhs", "the right operand")
        .support_level(row.support_level)
        .type(row.rule == broadcast ? "Broadcast" : "BroadcastComp", row.rule)
        .fusion(Fusion::Broadcast)
        .layout(layout::binary)
        .stateful(false)
        .compute([name = std::string("topi.") + row.name](const Attrs&, const Array<te::Tensor>& in, const Type&) {
          return Array<te::Tensor>{get_global(name)(in[0], in[1]).to<te::Tensor>()};
        });
    if (row.more) row.more(record);
  }
}

[[gnu::init_priority(kFamilies)]] static const OpFamily binary_family{binary_records};

}  // namespace tessera::op

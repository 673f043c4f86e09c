// The strategy of each operator that is computed: a function that may differ by target, whose default is the operator's
// own compute with the target's rule of blocks (or the schedule slot, where a user filled it).

#include <fmt/format.h>

#include "ir/target/generic_func.h"
#include "op/records.h"
#include "relay/slots.h"
#include "relay/strategy.h"
#include "runtime/registry.h"

namespace tessera::kernel {
namespace {

/// What the strategy of an operator is called: "conv2d" of "nn.conv2d". Empty for one that has none.
std::string strategy_base(const Op& op) {
  if (Any said = op.slot(relay::kStrategyName); !said.is_null()) return said.to<String>().str();
  const std::string& name = op->name.str();
  for (const char* family : {"nn.", "vision.", "random."})
    if (name.starts_with(family)) return name.substr(name.rfind('.') + 1);
  return name;  // operators that share one kind of schedule
}

relay::OpStrategy native_strategy(const Op& op, const std::string& base, const Attrs& attrs,
                                  const Array<te::Tensor>& inputs, const Type& type, const Target& target) {
  Any compute = op.slot(relay::kCompute), schedule = op.slot(relay::kSchedule);
  if (compute.is_null()) throw Error(NotImplementedError) << "the operator " << op->name << " has no compute";
  std::string where = target && !target->keys.empty() ? target->keys[0].str() : "generic";
  relay::OpStrategy out = make(relay::OpStrategyNode());
  relay::add_implementation(out, compute.to<PackedFunc>(),
                            schedule.is_null() ? PackedFunc() : schedule.to<PackedFunc>(),
                            String(fmt::format("{}.{}", base, where)), 10);
  if (Any more = op.slot(relay::kMoreImplementations); !more.is_null() && schedule.is_null())
    more.to<PackedFunc>()(out, attrs, inputs, type, target);
  return out;
}

void fill_strategies() {
  for (const std::string& name : Op::names()) {
    Op op = Op::get(name);
    std::string base = strategy_base(op);
    if (!op.has(relay::kCompute) || op.has(relay::kStrategy) || base.empty()) continue;
    GenericFunc strategy = global_generic_func(base + "_strategy");
    strategy.edit()->fallback =
        typed(base + "_strategy", [op, base](Attrs attrs, Array<te::Tensor> inputs, Type type, Target target) {
          return native_strategy(op, base, attrs, inputs, type, target);
        });
    op.set(relay::kStrategy, strategy);
  }
}

[[maybe_unused]] const bool filled = [] {
  op::make_operators();
  fill_strategies();
  return true;
}();

}  // namespace
}  // namespace tessera::kernel

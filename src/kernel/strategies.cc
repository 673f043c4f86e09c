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

/// Operators whose compute only stands in for a pass, and has no strategy.
bool has_no_strategy(const std::string& name) {
  for (const char* prefix : {"annotation.bitpack_", "annotation.compiler_", "annotation.stop_fusion", "debug"})
    if (name.starts_with(prefix)) return true;
  return false;
}

/// "conv2d" of "nn.conv2d", "nms" of "vision.non_max_suppression": what strategies are called.
std::string strategy_base(const std::string& op) {
  static const std::unordered_map<std::string, std::string> kOther{
      {"nn.contrib_conv2d_NCHWc", "conv2d_NCHWc"},
      {"nn.contrib_depthwise_conv2d_NCHWc", "depthwise_conv2d_NCHWc"},
      {"nn.contrib_conv2d_winograd_without_weight_transform", "conv2d_winograd_without_weight_transform"},
      {"nn.contrib_conv2d_gemm_without_weight_transform", "conv2d_gemm_without_weight_transform"},
      {"nn.contrib_conv3d_winograd_without_weight_transform", "conv3d_winograd_without_weight_transform"},
      {"nn.contrib_dense_pack", "dense_pack"},
      {"nn.internal.sparse_dense_padded", "sparse_dense_padded"},
      {"vision.non_max_suppression", "nms"},
      {"vision.all_class_non_max_suppression", "all_class_nms"},
  };
  // of these, the operators with a strategy of their own; the others share one kind of schedule and keep their full name
  static const char* const kOwn[] = {"nn.",   "vision.", "random.", "image.dilation2d", "argsort", "sort",
                                     "topk",  "scatter", "cum",     "unique",           "einsum",  "argwhere",
                                     "trilu", "stft",    "search",  "invert_",          "sparse_"};
  if (auto it = kOther.find(op); it != kOther.end()) return it->second;
  for (const char* prefix : kOwn)
    if (op.starts_with(prefix)) return op.substr(op.rfind('.') + 1);
  return op;
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
    if (!op.has(relay::kCompute) || op.has(relay::kStrategy) || has_no_strategy(name)) continue;
    std::string base = strategy_base(name);
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

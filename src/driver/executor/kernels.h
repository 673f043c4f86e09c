#pragma once
// The kernels of a model: loop programs of its primitive functions, each distinct one once.

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "driver/executor/in_place.h"
#include "driver/executor/kept_kernels.h"
#include "driver/executor/kernel_rules.h"
#include "ir/target/target.h"
#include "relay/strategy.h"
#include "tir/function.h"

namespace tessera::relay {

/// The tensors that a value of this type consists of, tuples opened; an error when it holds anything else.
std::vector<TensorType> tensors_of(const Type& type);
/// Where the tensors of field `index` lie among those of a tuple: the first, and one past the last.
std::pair<size_t, size_t> tensors_of_field(const TupleType* tuple, int index);

/// A primitive function as tensors. Tuples among parameters and results stand for their fields. The anchor is the most
/// complex operator, the last of equals: its implementation decides how the whole is scheduled.
struct KernelTensors {
  Array<te::Tensor> inputs, outputs;
  Op anchor;  // empty when nothing is called
  Attrs anchor_attrs;
  OpImplementation implementation;
  KernelRule rule;  // decides instead, where the function has one
};
KernelTensors kernel_tensors(const Function& primitive, const Target& target);

/// The scheduled program of a primitive function: by the TE schedule of the anchor's implementation where it has one,
/// else by the target's rule of blocks.
PrimFunc schedule_kernel(const KernelTensors& tensors, const Target& target, const std::string& name);
/// "fused_nn_conv2d_add_nn_relu": the operators in order of evaluation, shortened with a hash where that gets long.
std::string kernel_name(const Function& primitive);

/// The nodes of the model that a kernel computes, as lines (see runtime/package/model_names.h); empty where nobody knows them. It is
/// no part of the kernel: nodes with equal programs share one.
std::string source_nodes(const Function& primitive);

/// A kernel of a model and what it was made from.
struct KernelEntry {
  Function primitive;
  Target target;
  std::string name;
  bool overlaps = false;  // is called with results over arguments
  std::string key;        // by which it is kept; empty where it is not
  std::string unit;       // machine code of an earlier compilation; empty where it is to be compiled
};

/// The scheduled program of a kernel, as it goes into the library.
PrimFunc program_of(const KernelEntry& kernel);

/// Gives each primitive function a name that is unique in the model and starts with `prefix`, and schedules it for its
/// target when it is new and `kept` does not have it.
class KernelTable {
 public:
  explicit KernelTable(std::string prefix, KeptKernels kept = {})
      : prefix_(std::move(prefix)), kept_(std::move(kept)) {}
  /// The name of the function that is compiled from `primitive` for `target`; equal functions have one.
  const std::string& add(const Function& primitive, const Target& target);
  /// Which results of the kernel of that name may be written over which of its arguments.
  const std::vector<InPlace>& in_place(const std::string& name);
  /// The kernel of that name is called with results over arguments.
  void allow_overlap(const std::string& name);
  /// To be called when all is known of all kernels: schedules those that were kept, but not as they are called now.
  void settle();
  /// All scheduled programs by target, under their names; those of kernels with machine code are not there.
  const Map<Target, IRModule>& programs() const { return programs_; }
  const std::deque<KernelEntry>& entries() const { return entries_; }

 private:
  /// The programs for the kernel's target; null where there are none.
  IRModule programs_with(const std::string& name) const {
    return programs_.get_or_null(entries_[by_name_.at(name)].target);
  }

  void schedule(KernelEntry& kernel);

  std::string prefix_;
  KeptKernels kept_;
  NameSupply names_;
  Map<Target, IRModule> programs_;
  std::deque<KernelEntry> entries_;  // references into it stay
  std::unordered_multimap<int64_t, size_t> by_hash_;
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<std::string, std::vector<InPlace>> in_place_;
};

}  // namespace tessera::relay

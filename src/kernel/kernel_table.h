#pragma once
// The kernels of a model: loop programs of its primitive functions, each distinct one once.

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernel/cached_kernels.h"
#include "kernel/environment.h"
#include "kernel/workload.h"
#include "tir/function.h"

namespace tessera::kernel {

/// A kernel of a model and what it was made from.
struct KernelEntry {
  relay::Function primitive;
  Target target;
  std::string name;
  bool overlaps = false;  // is called with results over arguments
  std::string key;        // by which it is cached; empty where it is not
  std::string unit;       // machine code of an earlier compilation; empty where it is to be compiled
  std::string rule;       // by which it was scheduled
};

/// The scheduled program of a kernel, as it goes into the library.
PrimFunc program_of(const KernelEntry& kernel, const CompileEnvironment& environment);

/// Gives each primitive function a name that is unique in the model and starts with `prefix`, and schedules it for its
/// target when it is new and the cache does not have it.
class KernelTable {
 public:
  KernelTable(std::string prefix, CompileEnvironment environment, CachedKernels cached = {})
      : prefix_(std::move(prefix)), environment_(std::move(environment)), cached_(std::move(cached)) {}
  /// The name of the function that is compiled from `primitive` for `target`; equal functions have one.
  const std::string& add(const relay::Function& primitive, const Target& target);
  /// Which results of the kernel of that name may be written over which of its arguments.
  const std::vector<InPlace>& in_place(const std::string& name);
  /// The rules by which it was scheduled.
  const std::string& rule(const std::string& name) const { return entries_[by_name_.at(name)].rule; }
  /// The kernel of that name is called with results over arguments.
  void allow_overlap(const std::string& name);
  /// To be called when all is known of all kernels: schedules those that were cached, but not as they are called now.
  void finalize();
  /// All scheduled programs by target, under their names; those of kernels with machine code are not there.
  const Map<Target, IRModule>& programs() const { return programs_; }
  const std::deque<KernelEntry>& entries() const { return entries_; }
  const CompileEnvironment& environment() const { return environment_; }

 private:
  /// The programs for the kernel's target; null where there are none.
  IRModule programs_with(const std::string& name) const {
    return programs_.get_or_null(entries_[by_name_.at(name)].target);
  }

  void schedule(KernelEntry& kernel);

  std::string prefix_;
  CompileEnvironment environment_;
  CachedKernels cached_;
  NameSupply names_;
  Map<Target, IRModule> programs_;
  std::deque<KernelEntry> entries_;  // references into it stay
  std::unordered_multimap<int64_t, size_t> by_hash_;
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<std::string, std::vector<InPlace>> in_place_;
};

}  // namespace tessera::kernel

#pragma once
// The kernels of a model: loop programs of its primitive functions, each distinct one once.

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernel/cached_kernels.h"
#include "kernel/environment.h"
#include "kernel/external.h"
#include "kernel/schedule_kernel.h"
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
/// The same with decisions that are made already; an error where they do not fit.
PrimFunc program_of(const KernelEntry& kernel, const CompileEnvironment& environment, const KernelChoice& choice);

/// The kernels of a model, in order.
struct KernelSet {
  std::vector<KernelEntry> entries;
  Map<Target, IRModule> programs;      // scheduled, of those that are to be compiled
  CompileEnvironment environment;      // that of the default target
  std::vector<ExternalCode> external;  // what external code generators made

  /// The scheduled programs of all, also of those that the cache had.
  Map<Target, IRModule> all_programs() const;
};

/// Gives each primitive function a name that is unique in the model and starts with `prefix`, and schedules those that are new and
/// that the cache does not have, on all cores. Names and programs do not depend on how many there are. Functions for external code
/// generators keep their symbols and are compiled when they are added.
class KernelTable {
 public:
  /// `targets`: all of the build, among them those with the options of external code generators.
  KernelTable(std::string prefix, CompileEnvironment environment, CachedKernels cached = {}, Array<Target> targets = {})
      : prefix_(std::move(prefix)),
        environment_(std::move(environment)),
        cached_(std::move(cached)),
        targets_(std::move(targets)) {}
  /// The name of the function that is compiled from `primitive` for `target`; equal functions have one.
  const std::string& add(const relay::Function& primitive, const Target& target);
  /// Schedules what was added since the last time; the questions that follow are about kernels for which that was done.
  void schedule();
  /// Which results of the kernel of that name may be written over which of its arguments.
  const std::vector<InPlace>& in_place(const std::string& name);
  /// The rules by which it was scheduled.
  const std::string& rule(const std::string& name) const;
  /// The kernel of that name is called with results over arguments.
  void allow_overlap(const std::string& name);
  /// To be called when all is known of all kernels: schedules those that were cached, but not as they are called now.
  KernelSet finish();

 private:
  /// A function that an external code generator has compiled.
  struct External {
    relay::Function function;
    std::string name, rule;
  };
  const std::string& add_external(const relay::Function& function, const Target& target);

  std::string prefix_;
  CompileEnvironment environment_;
  CachedKernels cached_;
  Array<Target> targets_;
  NameSupply names_;
  std::deque<KernelEntry> entries_;  // references into it stay
  std::vector<PrimFunc> programs_;   // of each entry, once it is scheduled
  std::vector<size_t> pending_;      // entries that are to be
  std::unordered_multimap<int64_t, size_t> by_hash_;
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<std::string, std::vector<InPlace>> in_place_;
  std::unordered_map<std::string, External> externals_;  // by symbol
  std::vector<ExternalCode> external_code_;
};

}  // namespace tessera::kernel

#pragma once
// Kernels of earlier compilations, found by what they are made from: a model that was compiled before is neither scheduled nor
// lowered again. (codegen/kernel_cache.h also knows kernels by their lowered programs, which different models share.)

#include <optional>
#include <string>
#include <vector>

#include "kernel/environment.h"
#include "kernel/in_place.h"
#include "relay/expr.h"

namespace tessera::kernel {

struct CachedKernel {
  std::string rule;               // by which it was scheduled
  std::vector<InPlace> in_place;  // which results may be written over which arguments
  std::string unit;               // the machine code; empty where only the former is known
};

class CachedKernels {
 public:
  /// Has nothing and takes nothing.
  CachedKernels() = default;
  /// For kernels of this environment on the host's CPU; off where the environment is not all that they depend on.
  explicit CachedKernels(const CompileEnvironment& environment);

  bool is_on() const { return !common_.empty(); }
  /// What identifies the kernel; `symbol` is its name in the library. Only where it is on.
  std::string key_of(const relay::Function& primitive, const std::string& symbol) const;
  /// `overlaps`: it is called with results over arguments.
  static std::optional<CachedKernel> find(const std::string& key, bool overlaps);
  static void add(const std::string& key, bool overlaps, const CachedKernel& kernel);

 private:
  std::string common_;  // what all keys begin with
};

}  // namespace tessera::kernel

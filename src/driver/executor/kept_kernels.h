#pragma once
// Kernels of earlier compilations, found by what they are made from: a model that was compiled before is neither scheduled nor
// lowered again. (codegen/kernel_cache.h also knows kernels by their lowered programs, which different models share.)

#include <optional>
#include <string>
#include <vector>

#include "driver/executor/in_place.h"
#include "ir/target/virtual_device.h"
#include "relay/expr.h"

namespace tessera::relay {

struct KeptKernel {
  std::vector<InPlace> in_place;  // which results may be written over which arguments
  std::string unit;               // the machine code; empty where only the former is known
};

class KeptKernels {
 public:
  /// Keeps nothing.
  KeptKernels() = default;
  /// For kernels of these targets under the current pass context. Keeps nothing where that is not all they depend on: for
  /// several targets or devices, with passes or instruments of users, and when users have extended the compiler.
  explicit KeptKernels(const CompilationConfig& config);

  bool is_on() const { return !common_.empty(); }
  /// What identifies the kernel; `symbol` is its name in the library. Only where it is on.
  std::string key_of(const Function& primitive, const std::string& symbol) const;
  /// `overlaps`: it is called with results over arguments.
  static std::optional<KeptKernel> find(const std::string& key, bool overlaps);
  static void keep(const std::string& key, bool overlaps, const KeptKernel& kernel);

 private:
  std::string common_;  // what all keys begin with
};

}  // namespace tessera::relay

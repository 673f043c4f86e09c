#pragma once
// Regions between compiler_begin and compiler_end.

#include <string>
#include <unordered_map>
#include <vector>

#include "relay/expr.h"

namespace tessera::relay {

inline constexpr const char* kDefaultCompiler = "default";  // what no external code generator takes

Expr compiler_begin(const Expr& value, const std::string& compiler);
Expr compiler_end(const Expr& value, const std::string& compiler);
/// The code generator that a compiler_begin or compiler_end names; empty for other expressions.
std::string begun_compiler(const Expr& expr);
std::string ended_compiler(const Expr& expr);

/// The expressions of each region: what lies between the ends it gives and the begins it takes.
class CompilerRegions {
 public:
  explicit CompilerRegions(const Expr& root);
  /// The region an expression lies in; -1 outside of all.
  int of(const Object* expr) const;
  const std::string& compiler(int region) const { return compilers_[static_cast<size_t>(find(region))]; }
  int find(int region) const;
  /// Makes two regions one; both must be of one code generator.
  void merge(int a, int b);
  size_t size() const { return compilers_.size(); }

 private:
  std::unordered_map<const Object*, int> region_;
  mutable std::vector<int> parent_;
  std::vector<std::string> compilers_;
};

}  // namespace tessera::relay

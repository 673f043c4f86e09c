#pragma once
// Operators of one kind that read the same tensor become one larger operator, and so do their equal epilogues.

#include <unordered_map>
#include <vector>

#include "relay/expr.h"

namespace tessera::relay {

/// An operator and the element-wise ones that follow it one after the other, each the only user of the one before.
using Branch = std::vector<const Call*>;
/// Who uses an expression; a null one is the result of the function.
using Users = std::unordered_map<const Object*, std::vector<Expr>>;

class ParallelCombiner {
 public:
  ParallelCombiner(std::string_view op, int min_branches) : op_(op), min_branches_(min_branches) {}
  virtual ~ParallelCombiner() = default;
  Expr operator()(const Expr& root);

 protected:
  virtual bool is_supported(const Call* call) const = 0;
  /// Two supported calls of the same first argument.
  virtual bool can_combine(const Call* a, const Call* b) const = 0;
  /// Argument `i` of two calls that follow: can those of all branches be concatenated?
  virtual bool can_combine_argument(const Call* a, const Call* b, size_t i) const = 0;
  /// Whether it is worth it, of branches that can be combined.
  virtual bool pays(const std::vector<Branch>& branches, const Users& users) const {
    return (void)users, static_cast<int>(branches.size()) >= min_branches_;
  }
  virtual Expr combined(const std::vector<Branch>& branches) = 0;
  /// Argument `i` of the calls at `depth`, concatenated.
  virtual Expr combined_argument(const std::vector<Branch>& branches, size_t depth, size_t i) const = 0;
  /// The part of a combined value for each branch.
  virtual Array<Expr> parts(const Expr& combined, const std::vector<Branch>& branches) const = 0;

 private:
  void combine(const std::vector<Branch>& branches);
  bool is_level_alike(const std::vector<Branch>& branches, size_t depth, size_t parent) const;
  /// True when `expr` is computed from `source`.
  bool depends_on(const Expr& expr, const Expr& source) const;

  std::string op_;
  int min_branches_;
  std::unordered_map<const Object*, size_t> index_;  // operands before users
  std::unordered_map<const Object*, Expr> replaced_;
};

/// The rest of such a pass.
Function combine_parallel(ParallelCombiner&& combiner, const Function& function);

/// Dense layers of one tensor become one wider layer.
Function widen_parallel_dense(const Function& function, int min_branches);

}  // namespace tessera::relay

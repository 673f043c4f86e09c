#pragma once
// Operators that a pass puts into one kernel before FuseOps looks for groups of its own: who reads a value, and the call of
// a primitive function in place of a group.

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "relay/slots.h"

namespace tessera::relay {

namespace attr {
/// Of a primitive function: the rule by which its kernel is scheduled, in place of that of its most complex operator.
inline constexpr const char* kKernelRule = "tessera.rule";
}  // namespace attr

/// True for reductions that the rule "rows" computes.
inline bool goes_by_rows(Reduction kind) {
  return kind == Reduction::Sum || kind == Reduction::Mean || kind == Reduction::Max || kind == Reduction::Variance;
}

/// The expressions of a function's body, and the calls, tuples and tuple items that read each.
class Consumers {
 public:
  explicit Consumers(const Expr& body);
  /// The consumers, each once; a null one stands for a use that must find the value in memory.
  const std::vector<const RelayExprNode*>& of(const Expr& expr) const;
  /// The only consumer, or null.
  const RelayExprNode* only(const Expr& expr) const;
  /// Every expression, operands before consumers.
  const std::vector<Expr>& expressions() const { return order_; }
  /// The index of an expression among them.
  size_t position(const Expr& expr) const { return position_.at(expr.get()); }

 private:
  std::vector<Expr> order_;
  std::unordered_map<const Object*, size_t> position_;
  std::unordered_map<const Object*, std::vector<const RelayExprNode*>> consumers_;
};

/// Calls, tuple items and tuples of one kernel, and constants that its rule wants to see; only `root` is read from outside.
struct KernelGroup {
  const RelayExprNode* root = nullptr;
  std::unordered_set<const Object*> members;
  const char* rule = nullptr;
};

/// The body with each group replaced by a call of a function with the attributes Primitive and kKernelRule. What a group
/// reads from outside becomes a parameter, except constants without dimensions. Groups have no members in common.
Expr close_groups(const Expr& body, const std::vector<KernelGroup>& groups);

}  // namespace tessera::relay

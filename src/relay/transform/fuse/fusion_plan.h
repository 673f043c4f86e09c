#pragma once
// Which expressions of a function become one kernel.

#include <memory>
#include <unordered_map>
#include <vector>

#include "relay/expr.h"

namespace tessera::relay {

struct FusionLimits {
  int level = 2;                // 0: every operator on its own
  int max_depth = 256;          // operators in one kernel
  bool link_constants = false;  // constants stay inside kernels
};

/// The expressions of one kernel. `root` is the one whose value leaves it.
struct FusionGroup {
  const Object* root = nullptr;
};

/// A number of any type, which kernels hold however many read it; v0.10 passes those of 8 and 16 bits, and those that
/// several kernels read, to them as tensors.
bool is_number(const Constant* constant);
/// True when the shape of the result is found by the operator's own shape function, which needs the arguments, or
/// their shapes, before the call: they must not be inside its kernel.
bool computes_its_shape(const Call* call, const Op& op);

/// Groups the expressions of a typed function body with v0.10's rules, along the tree of post-dominators: an
/// element-wise or broadcast operator fuses with what it feeds where all paths there are no more than injective; a
/// convolution takes along the element-wise operators behind it; then injective operators follow, and tuples last.
class FusionPlan {
 public:
  FusionPlan(const Expr& body, const FusionLimits& limits);
  /// Two expressions are fused when they have the same group.
  const FusionGroup* group(const Expr& expr) const { return groups_.at(expr.get()); }

 private:
  std::unordered_map<const Object*, const FusionGroup*> groups_;
  std::vector<std::unique_ptr<FusionGroup>> storage_;
};

}  // namespace tessera::relay

#pragma once
// What evaluating an expression does besides giving its value.

#include <unordered_map>

#include "ir/prim/expr.h"

namespace tessera {

/// The strongest effect in `e`: Pure when it neither reads nor writes anything.
CallEffect side_effect(const PrimExpr& e);

/// The same for many expressions that share parts: each node is looked at once.
class SideEffects {
 public:
  CallEffect operator()(const PrimExpr& e);

 private:
  std::unordered_map<const Object*, std::pair<PrimExpr, CallEffect>> known_;  // the key is kept alive
};

}  // namespace tessera

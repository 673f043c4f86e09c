#pragma once
// Which variables are still needed, let by let, of a program in A-normal form.

#include <unordered_map>
#include <vector>

#include "relay/pattern.h"

namespace tessera::relay {

/// Variables in the order in which they were found.
using VarList = std::vector<Var>;

/// What is read when the value of a let is computed (of a branch, its condition), or behind it; and what behind it alone.
struct LiveVars {
  VarList in, out;
};

/// Of every let of a function, in branches and clauses too. Inner functions count as one value that reads what they capture.
std::unordered_map<const Object*, LiveVars> liveness(const FunctionNode* function);

}  // namespace tessera::relay

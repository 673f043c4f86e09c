#pragma once
// Is a piece of program what a description says? Up to names, and to where its buffers lie.

#include <string>
#include <unordered_map>

#include "schedule/state.h"

namespace tessera::schedule {

/// A buffer of the description is the program's `buffer` seen from `base`: one index per dimension of the latter.
struct BufferView {
  Buffer buffer;
  Array<PrimExpr> base;
};

struct ProgramMatch {
  std::string difference;                                   // empty when they match; else what the two disagree about
  std::unordered_map<const BufferNode*, BufferView> views;  // by buffer of the description
};

/// Compares `program` with `desc`, loop for loop and expression for expression. Variables bound in the description
/// stand for those bound instead. Dimensions that a buffer of the program has in front of the description's are
/// single points. The regions that blocks state are not compared: the statements in them are.
ProgramMatch match_program(const Stmt& program, const Stmt& desc);

}  // namespace tessera::schedule

#pragma once
// When the allocations of a program are in use, and which of them may be done in the memory of another.

#include <vector>

#include "tir/stmt.h"

namespace tessera {

/// One allocation with its life: the first and last step at which it is used.
struct Life {
  const Allocate* allocate;
  const Object* owner = nullptr;  // the statement it is to stand in, null for the function
  int first = -1, last = -1;
  bool is_pinned = false;  // its size is known only where it stands
};

/// A step that might be done in place: a store, or a loop with the time of its end.
struct Step {
  const BufferStore* store = nullptr;
  const Object* region = nullptr;
  int end = -1;
};

struct Lives {
  std::vector<Life> lives;  // in order of appearance
  std::vector<Step> steps;  // step i happens at time i + 1
};

/// Numbers the statements that touch memory, and finds when each allocation is used. A use inside a loop of memory from
/// outside it counts for the whole loop.
Lives find_lives(const Stmt& body);

/// True when `store` writes `target` and reads `source` only at the very elements it writes, so that both may be the
/// same memory.
bool can_be_in_place(const BufferStore* store, const VarNode* target, const VarNode* source);

/// The same for a nest of loops around one store, when the loops reach each element once.
bool nest_can_be_in_place(const Object* region, const VarNode* target, const VarNode* source);

}  // namespace tessera

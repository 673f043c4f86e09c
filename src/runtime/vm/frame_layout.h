#pragma once
// Which tensors of a function live and die inside one call of it, and when: what a memory plan needs to know of the code.

#include "runtime/vm/executable.h"

namespace tessera::vm {

/// Found by walking the code once, which is exact because jumps go forwards: each instruction runs at most once a call, and
/// positions in the code are points in time on every way through it.
///
/// A tensor that is returned, or handed to another function, a tuple or a closure, is left out: nobody here knows when it dies.
struct FrameLayout {
  struct Slot {
    uint32_t made_at = 0, last_use = 0;  // instructions
  };
  std::vector<Slot> slots;  // in the order of the code
  std::vector<int32_t>
      index_at;         // by instruction: of an allocation its slot, of a ShapeFunc its number among those that only
                        // the parameters decide; else -1
  uint32_t shapes = 0;  // how many such there are
  std::vector<uint32_t> params;  // parameters whose extents decide all sizes of slots and all these shapes
  int32_t device = 0;            // where the slots are

  bool is_empty() const { return slots.empty() && shapes == 0; }
};

FrameLayout frame_layout(const Program& program, const Function& function);

}  // namespace tessera::vm

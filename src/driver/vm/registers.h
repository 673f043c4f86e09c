#pragma once
// Registers of a function of the virtual machine: as many as values while code is written, few when it is done.

#include "runtime/vm/bytecode.h"

namespace tessera::vm {

/// Code in the making: each value has a register of its own (parameters the first ones), and jumps lead to labels,
/// whose positions are filled in at the end. A value that branches give is written once in each.
struct Draft {
  Function function;
  int32_t registers = 0;
  int32_t source = -1;            // of instructions that are emitted now
  std::vector<int32_t> label_at;  // by label, the instruction it stands before; jumps hold labels until `finish`

  int32_t fresh() { return registers++; }
  int32_t new_label() {
    label_at.push_back(-1);
    return static_cast<int32_t>(label_at.size()) - 1;
  }
  void bind_label(int32_t label) { label_at[static_cast<size_t>(label)] = static_cast<int32_t>(function.code.size()); }
  Instruction& emit(Opcode op, int32_t dst = -1, int32_t a = 0, int32_t b = 0, int32_t c = 0,
                    const std::vector<int64_t>& operands = {});
};

/// The function with values emptied after their last use, registers shared by values that do not live together, and
/// jumps as distances. Linear in the code, but for what lives across branches.
Function finish(Draft draft);

}  // namespace tessera::vm

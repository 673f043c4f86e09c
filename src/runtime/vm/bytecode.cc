#include "runtime/vm/bytecode.h"

namespace tessera::vm {

std::string_view opcode_name(Opcode op) {
  static constexpr std::string_view names[kNumOpcodes] = {
      "move",
      "ret",
      "invoke",
      "invoke_closure",
      "invoke_packed",
      "alloc_tensor",
      "alloc_tensor_reg",
      "alloc_adt",
      "alloc_closure",
      "get_field",
      "if",
      "load_const",
      "goto",
      "get_tag",
      "load_consti",
      "fatal",
      "alloc_storage",
      "shape_of",
      "reshape_tensor",
      "device_copy",
      "kill_register",
      "set_field",
      "shape_func",
      "append",
  };
  return names[static_cast<int>(op)];
}

}  // namespace tessera::vm

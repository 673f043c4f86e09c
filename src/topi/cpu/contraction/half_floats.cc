#include "topi/cpu/contraction/half_floats.h"

namespace tessera::topi {
namespace {

bool has(const Machine& machine, std::string_view wanted) {
  for (const String& feature : machine->features)
    if (std::string_view(feature) == wanted) return true;
  return false;
}

}  // namespace

bool widens_when_read(const Machine& machine, DataType dtype) {
  if (!is_half_float(dtype)) return false;
  const bool is_x86 = machine->isa == "avx512" || machine->isa == "avx2";
  const bool is_arm = machine->isa == "neon" || is_sve(machine->isa.str());
  if (dtype.is_bfloat()) return is_x86 || is_arm;
  return (is_x86 && has(machine, "f16c")) || is_arm;
}

bool multiplies_bf16(const Machine& machine) {
  const bool is_arm = machine->isa == "neon" || is_sve(machine->isa.str());
  return has(machine, is_arm ? "bf16" : "avx512bf16") && (is_arm || machine->isa == "avx512");
}

}  // namespace tessera::topi

#include "topi/cpu/narrow_floats.h"

namespace tessera::topi {
namespace {

bool has(const Machine& machine, std::string_view wanted) {
  for (const String& feature : machine->features)
    if (std::string_view(feature) == wanted) return true;
  return false;
}

}  // namespace

bool widens_when_read(const Machine& machine, DataType dtype) {
  if (!is_narrow_float(dtype)) return false;
  const bool is_x86 = machine->isa == "avx512" || machine->isa == "avx2";
  if (dtype.is_bfloat()) return is_x86 || machine->isa == "neon";
  return (is_x86 && has(machine, "f16c")) || machine->isa == "neon";
}

bool multiplies_bfloats(const Machine& machine) {
  return (machine->isa == "avx512" && has(machine, "avx512bf16")) || (machine->isa == "neon" && has(machine, "bf16"));
}

}  // namespace tessera::topi

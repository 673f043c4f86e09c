#pragma once
// What a schedule has to know about a CPU to choose its tiles.

#include "ir/target/target.h"

namespace tessera::topi {

/// Tiles of `b` that cover `a` elements.
inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// A family of vector instructions.
struct Isa {
  const char* name;
  int vector_bytes;  // of one register
  int registers;     // that hold vectors
};
/// SVE of one length.
inline bool is_sve(std::string_view isa) { return isa.starts_with("sve"); }
/// The suffix of families whose dot products of int8 take signed elements only.
inline constexpr const char* kSignedDots = "-sdot";
/// The family of that name; an unknown one is an error that lists those there are.
const Isa& find_isa(std::string_view name);

/// Cache sizes are in bytes and those of one core; `l3_bytes` is 0 where there is none. What the machine does not tell
/// is assumed: small rather than large, because a tile that is too small costs little.
struct MachineNode : Object {
  String isa, arch, cpu;
  int32_t vector_bytes = 16, vector_registers = 16, cores = 1;
  int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;
  int32_t cache_line_bytes = 64, l1_ways = 8;
  int32_t sums_in_flight = 8;  // independent multiply-adds that keep the units busy: latency times units
  Array<String> features;
  static constexpr NodeInfo info{"topi.cpu.Machine", &Object::info};
  static void fields(auto f) {
    f("isa", &MachineNode::isa);
    f("arch", &MachineNode::arch);
    f("cpu", &MachineNode::cpu);
    f("vector_bytes", &MachineNode::vector_bytes);
    f("vector_registers", &MachineNode::vector_registers);
    f("cores", &MachineNode::cores);
    f("l1_bytes", &MachineNode::l1_bytes);
    f("l2_bytes", &MachineNode::l2_bytes);
    f("l3_bytes", &MachineNode::l3_bytes);
    f("cache_line_bytes", &MachineNode::cache_line_bytes);
    f("l1_ways", &MachineNode::l1_ways);
    f("sums_in_flight", &MachineNode::sums_in_flight);
    f("features", &MachineNode::features);
  }
};
using Machine = Ref<MachineNode>;

/// True where one instruction interleaves the elements of two whole vectors; on x86 it does so in each 16 bytes.
bool interleaves_vectors(const Machine& machine);

/// The machine that a CPU target means: this one where the target does not name another (its caches are read from the
/// system), else what is known about CPUs of that name. -num-cores counts before anything else.
Machine machine_of(const Target& target);

}  // namespace tessera::topi

#pragma once
// What a schedule has to know about a GPU to choose its tiles and threads.

#include "ir/target/target.h"

namespace tessera::topi {

/// Sizes are in bytes. What neither the target nor the device tells is that of the architecture, or of a small device.
struct GpuMachineNode : Object {
  String kind, arch;             // of the target: "cuda", "sm_90"
  int32_t multiprocessors = 16;  // that blocks of threads are given to
  int32_t warp = 1;              // threads that run together, and may exchange registers
  int32_t max_threads = 256;     // of a block
  int64_t shared_bytes = 0;      // that a block may have: without asking for more, where it has to ask
  int64_t dynamic_shared_bytes = 0;
  int64_t multiprocessor_shared_bytes = 0;
  int32_t registers = 0;  // of 32 bits, of a multiprocessor
  int32_t multiprocessor_threads = 0;
  int32_t access_bytes = 16;       // of the widest load of a thread
  double bandwidth = 0;            // bytes of device memory a cycle, of all multiprocessors
  double fma = 0, matrix_fma = 0;  // multiply-adds a cycle of a multiprocessor: float32, and matrix units with fp16
  bool has_matrix_units = false;   // mma.sync and cp.async
  bool has_wgmma = false;          // and the copy engine: sm_90a
  bool allows_tf32 = false;        // float32 may be multiplied with 10 bits of mantissa
  static constexpr NodeInfo info{"topi.gpu.Machine", &Object::info};
  static void fields(auto f) {
    f("kind", &GpuMachineNode::kind);
    f("arch", &GpuMachineNode::arch);
    f("multiprocessors", &GpuMachineNode::multiprocessors);
    f("warp", &GpuMachineNode::warp);
    f("max_threads", &GpuMachineNode::max_threads);
    f("shared_bytes", &GpuMachineNode::shared_bytes);
    f("dynamic_shared_bytes", &GpuMachineNode::dynamic_shared_bytes);
    f("multiprocessor_shared_bytes", &GpuMachineNode::multiprocessor_shared_bytes);
    f("registers", &GpuMachineNode::registers);
    f("multiprocessor_threads", &GpuMachineNode::multiprocessor_threads);
    f("access_bytes", &GpuMachineNode::access_bytes);
    f("bandwidth", &GpuMachineNode::bandwidth);
    f("fma", &GpuMachineNode::fma);
    f("matrix_fma", &GpuMachineNode::matrix_fma);
    f("has_matrix_units", &GpuMachineNode::has_matrix_units);
    f("has_wgmma", &GpuMachineNode::has_wgmma);
    f("allows_tf32", &GpuMachineNode::allows_tf32);
  }
};
using GpuMachine = Ref<GpuMachineNode>;

/// The GPU that a target means: what the target says, then what a table knows of its -arch, then, where this machine has a
/// device of that architecture, what the device says. Other kinds than GPUs are an error.
GpuMachine gpu_machine_of(const Target& target);

}  // namespace tessera::topi

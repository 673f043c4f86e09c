#pragma once
// From an optimised module to a graph of kernel calls.

#include "ir/target/virtual_device.h"
#include "kernel/kernel_table.h"
#include "runtime/ndarray.h"

namespace tessera::relay {

/// The memory of a graph on the devices of one target, in bytes.
struct DeviceUse {
  Target target;
  uint64_t io_bytes = 0;            // inputs that are not parameters, and results
  uint64_t constant_bytes = 0;      // parameters
  uint64_t intermediate_bytes = 0;  // storages that hold anything else
};

struct GraphProgram {
  std::string json;             // what the graph executor reads
  Map<String, NDArray> params;  // constants of the model, under the names of the graph's inputs
  kernel::KernelSet kernels;
  std::vector<DeviceUse> devices;
};

/// The graph of a fused, first-order function: calls of primitive functions, copies between devices, tuples, constants
/// and parameters, in graph or let form. Each value is on its `virtual_device_`, the default device of the
/// configuration where it has none. Anything that needs a decision at run time (control flow, closures, data types) is
/// an error that says to use the virtual machine.
GraphProgram compile_graph(const Function& main, const CompilationConfig& config, const PassContext& passes,
                           const std::string& model_name);

/// The extents of a type, which must be known.
std::vector<int64_t> fixed_shape(const TensorType& type);

}  // namespace tessera::relay

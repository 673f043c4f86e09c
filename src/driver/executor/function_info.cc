#include "driver/executor/function_info.h"

#include "ir/prim/ops.h"
#include "tir/analysis/memory_size.h"

namespace tessera::relay {
namespace {

constexpr int64_t kAlignment = 16;  // v0.10's default of "workspace-byte-alignment"

ObjectRef number(uint64_t value) { return int_imm(DataType::Int(64), static_cast<int64_t>(value)); }

uint64_t bytes_of(const Type& type) {
  uint64_t bytes = 0;
  for (const TensorType& tensor : kernel::tensors_of(type)) bytes += tensor_bytes(fixed_shape(tensor), tensor->dtype);
  return bytes;
}

uint64_t io_bytes(const Function& function) {
  uint64_t bytes = bytes_of(checked_type(function->body));
  for (const Var& param : function->params) bytes += bytes_of(checked_type(param));
  return bytes;
}

}  // namespace

Map<String, FunctionInfo> function_infos(const GraphProgram& graph, const Function& main,
                                         const Map<Target, IRModule>& lowered) {
  Map<String, FunctionInfo> out;
  std::unordered_map<const Object*, uint64_t> most;  // workspace of a kernel, by target
  for (const kernel::KernelEntry& kernel : graph.kernels.entries) {
    auto program = downcast<PrimFunc>(lowered[kernel.target].lookup(kernel.name));
    int64_t workspace = workspace_bytes(program, kAlignment);
    most[kernel.target.get()] = std::max(most[kernel.target.get()], static_cast<uint64_t>(workspace));
    FunctionInfoNode info;
    info.workspace_sizes.set(kernel.target, number(static_cast<uint64_t>(workspace)));
    info.io_sizes.set(kernel.target, number(io_bytes(kernel.primitive)));
    info.constant_sizes.set(kernel.target, number(static_cast<uint64_t>(constant_bytes(program, kAlignment))));
    info.tir_primfuncs.set(kernel.target, program);
    info.relay_primfuncs.set(kernel.target, kernel.primitive);
    out.set(String(kernel.name), make(std::move(info)));
  }
  FunctionInfoNode whole;
  for (const DeviceUse& use : graph.devices) {
    whole.workspace_sizes.set(use.target, number(use.intermediate_bytes + most[use.target.get()]));
    whole.io_sizes.set(use.target, number(use.io_bytes));
    whole.constant_sizes.set(use.target, number(use.constant_bytes));
    whole.relay_primfuncs.set(use.target, main);
  }
  out.set("__tvm_main__", make(std::move(whole)));
  return out;
}

static register_types<FunctionInfoNode> function_info_types;

}  // namespace tessera::relay

#include "topi/gpu/machine.h"

#include <algorithm>
#include <string>

#include "runtime/device_api.h"
#include "runtime/registry.h"

namespace tessera::topi {
namespace {

register_types<GpuMachineNode> gpu_machine_types;

constexpr int64_t kKilobyte = 1 << 10;

/// NVIDIA's, by compute capability: NVIDIA's tables of features and of throughput of instructions, and data sheets for the
/// number of multiprocessors and the bandwidth of the largest device of it.
struct Architecture {
  int version;  // 90 of sm_90
  int multiprocessors, threads;
  int64_t shared_kilobytes, block_kilobytes;  // of a multiprocessor; of a block that asks for it
  double bandwidth;                           // bytes a cycle
  double fma, matrix_fma;
};
constexpr Architecture kArchitectures[] = {
    {60, 56, 2048, 64, 48, 500, 64, 0},         {70, 80, 2048, 96, 96, 600, 64, 512},
    {75, 40, 1024, 64, 64, 220, 64, 512},       {80, 108, 2048, 164, 163, 1100, 64, 1024},
    {86, 84, 1536, 100, 99, 500, 128, 512},     {89, 128, 1536, 100, 99, 420, 128, 512},
    {90, 132, 2048, 228, 227, 2400, 128, 2048}, {100, 148, 2048, 228, 227, 4200, 128, 4096},
    {120, 170, 1536, 100, 99, 750, 128, 512},
};
constexpr int kFirstWithMma = 80;
constexpr int64_t kAssumedSharedBytes = 32 * kKilobyte;  // what OpenCL and Vulkan promise at least

const Architecture& architecture_of(int version) {
  const Architecture* out = kArchitectures;
  for (const Architecture& row : kArchitectures)
    if (row.version <= version) out = &row;
  return *out;
}

/// 90 of "sm_90" and "sm_90a"; 0 of other names.
int version_of(const std::string& arch) {
  return arch.starts_with("sm_") ? static_cast<int>(std::strtol(arch.c_str() + 3, nullptr, 10)) : 0;
}

/// The number of multiprocessors of the device of this machine, where it is of that architecture.
int multiprocessors_here(int version) {
  const DLDevice device = make_device(kDLCUDA, 0);
  DeviceAPI* api = find_device_api(kDLCUDA);
  if (!api || api->get_attr(device, DeviceAttr::Exist).to<int>() == 0) return 0;
  auto here = api->get_attr(device, DeviceAttr::ComputeVersion).to<std::string>();
  std::erase(here, '.');
  if (std::strtol(here.c_str(), nullptr, 10) != version) return 0;
  return api->get_attr(device, DeviceAttr::MultiProcessorCount).to<int>();
}

void set_cuda(GpuMachineNode* out, int version) {
  const Architecture& row = architecture_of(version);
  out->multiprocessors = row.multiprocessors;
  out->multiprocessor_threads = row.threads;
  out->multiprocessor_shared_bytes = row.shared_kilobytes * kKilobyte;
  out->shared_bytes = 48 * kKilobyte;
  out->dynamic_shared_bytes = row.block_kilobytes * kKilobyte;
  out->registers = 1 << 16;
  out->bandwidth = row.bandwidth;
  out->fma = row.fma;
  out->matrix_fma = row.matrix_fma;
  out->has_matrix_units = version >= kFirstWithMma;
  if (const int here = multiprocessors_here(version)) out->multiprocessors = here;
}

}  // namespace

GpuMachine gpu_machine_of(const Target& target) {
  if (!target.has_key("gpu"))
    throw Error(ValueError) << "target \"" << target.str() << "\" is no GPU: its kind is " << target->kind->name;
  GpuMachineNode out;
  out.kind = target->kind->name;
  out.arch = String(target.option("arch").value_or(target.option("mcpu").value_or("")));
  out.warp = static_cast<int32_t>(target.int_option("thread_warp_size", 1));
  const int64_t threads = target.int_option("max_num_threads", 256);
  out.max_threads = static_cast<int32_t>(std::min(threads, target.int_option("max_threads_per_block", threads)));
  out.shared_bytes = out.dynamic_shared_bytes = out.multiprocessor_shared_bytes =
      target.int_option("max_shared_memory_per_block", kAssumedSharedBytes);
  out.registers = 1 << 15;
  out.multiprocessor_threads = 1024;
  out.bandwidth = 250;
  out.fma = 64;
  const int version = version_of(out.arch.str());
  if (version) set_cuda(&out, version);
  out.has_wgmma = out.arch.str() == "sm_90a";
  if (target->kind->name != "cuda") {  // no cp.async, no ldmatrix, and no memory whose size a launch says
    out.has_matrix_units = out.has_wgmma = false;
    out.dynamic_shared_bytes = out.shared_bytes;
  }
  return make(std::move(out));
}

namespace {

Globals gpu_machine_globals{{"topi.gpu.machine_of", gpu_machine_of}};

}  // namespace
}  // namespace tessera::topi

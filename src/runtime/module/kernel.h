#pragma once
// Kernels of a device as the host calls them: what their arguments are, how many threads a call launches, and how a
// module of them is written to files and into libraries. OpenCL and CUDA share this.

#include <map>
#include <span>

#include "runtime/module/module.h"

namespace tessera {

/// A kernel's signature. A call passes its arguments and then one number for each launch tag ("blockIdx.x", ...).
/// A kernel that checks indices from data takes one more argument, which the device's module gives: IndexErrorRecords, one
/// for each text of `checked_indices`.
struct KernelInfo {
  std::string name;
  std::vector<DataType> arg_types;
  std::vector<std::string> launch_tags;
  std::vector<std::string> checked_indices;
  std::vector<std::string> tensor_maps;  // of CUDA, which are made at a launch (cuda/tensor_map.h)
};
using KernelTable = std::map<std::string, KernelInfo>;

/// The tag by which a call says how many bytes of dynamic shared memory it needs.
inline constexpr const char* kDynamicSharedMemoryTag = "tir.use_dyn_shared_memory";

struct LaunchSize {
  size_t grid[3] = {1, 1, 1};   // blocks
  size_t block[3] = {1, 1, 1};  // threads of a block
  size_t dynamic_shared_bytes = 0;

  bool is_empty() const { return grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2] == 0; }
};

/// The launch that the last arguments of a call ask for. A wrong number of arguments is an error.
LaunchSize launch_size(const KernelInfo& info, Args args);

/// The bytes of argument `i` as the kernel takes them, in the low bytes of the word.
uint64_t kernel_argument(const KernelInfo& info, Args args, size_t i);

/// As v0.10 writes it into libraries: u64 count, then name, argument types and tags of each. Texts of checked indices
/// and of tensor maps are tags behind the others, with a word in front.
void write_kernels(const KernelTable& kernels, ByteWriter& out);
KernelTable read_kernels(ByteReader& in);

/// `path` with ".tvm_meta.json" in place of its suffix: the table of kernels beside a file of device code.
void write_kernel_file(const std::string& path, const std::string& code, const KernelTable& kernels);
std::pair<std::string, KernelTable> read_kernel_file(const std::string& path);

}  // namespace tessera

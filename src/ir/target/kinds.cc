// The target kinds and their options, one a row.

#include "ir/target/target.h"

#include <algorithm>

#include "ir/expr.h"
#include "ir/target/virtual_device.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

using enum OptionType;
using Options = std::vector<std::pair<std::string, OptionType>>;
using Defaults = std::vector<std::pair<std::string, Any>>;

constexpr int kCPU = 1, kCUDA = 2, kOpenCL = 4, kAOCL = 5, kVulkan = 7, kMetal = 8, kROCm = 10, kExtDev = 12,
              kHexagon = 14, kWebGPU = 15;

TargetKind kind(const char* name, int device, std::vector<String> keys, Options options = {}, Defaults defaults = {}) {
  TargetKindNode node;
  node.name = name;
  node.default_device_type = device;
  node.default_keys = Array<String>(keys);
  node.options = std::move(options);
  node.defaults = std::move(defaults);
  return make(std::move(node));
}

Options vulkan_options() {
  Options out{{"mattr", TextList}};
  for (const char* name :
       {"supports_float16", "supports_float32", "supports_float64", "supports_int8", "supports_int16", "supports_int32",
        "supports_int64", "supports_8bit_buffer", "supports_16bit_buffer", "supports_storage_buffer_storage_class",
        "supports_push_descriptor", "supports_dedicated_allocation", "supports_integer_dot_product"})
    out.emplace_back(name, Bool);
  for (const char* name :
       {"supported_subgroup_operations", "max_num_threads", "max_threads_per_block", "thread_warp_size",
        "max_block_size_x", "max_block_size_y", "max_block_size_z", "max_push_constants_size",
        "max_uniform_buffer_range", "max_storage_buffer_range", "max_per_stage_descriptor_storage_buffer",
        "max_shared_memory_per_block", "driver_version", "vulkan_api_version", "max_spirv_version"})
    out.emplace_back(name, Int);
  for (const char* name : {"device_type", "device_name", "driver_name"}) out.emplace_back(name, Text);
  return out;
}

std::vector<TargetKind> make_kinds() {
  Any yes = Any::of_object(bool_imm(true).get());
  return {
      kind("llvm", kCPU, {"cpu"},
           {{"mattr", TextList},
            {"mcpu", Text},
            {"mtriple", Text},
            {"mfloat-abi", Text},
            {"mabi", Text},
            {"num-cores", Int},
            {"vector-width", Int},
            {"fast-math", Bool},
            {"fast-math-nnan", Bool},
            {"fast-math-ninf", Bool},
            {"fast-math-nsz", Bool},
            {"fast-math-arcp", Bool},
            {"fast-math-contract", Bool},
            {"fast-math-reassoc", Bool},
            {"opt-level", Int},
            {"cl-opt", TextList}}),
      kind("c", kCPU, {"cpu"},
           {{"mcpu", Text}, {"march", Text}, {"workspace-byte-alignment", Int}, {"constants-byte-alignment", Int}}),
      kind("cuda", kCUDA, {"cuda", "gpu"},
           {{"mcpu", Text},
            {"arch", Text},
            {"max_shared_memory_per_block", Int},
            {"max_threads_per_block", Int},
            {"thread_warp_size", Int},
            {"registers_per_block", Int},
            {"max_num_threads", Int}},
           {{"thread_warp_size", 32}, {"max_num_threads", 1024}}),
      kind("nvptx", kCUDA, {"cuda", "gpu"},
           {{"mcpu", Text}, {"mtriple", Text}, {"max_num_threads", Int}, {"thread_warp_size", Int}},
           {{"max_num_threads", 1024}, {"thread_warp_size", 32}, {"mtriple", "nvptx64-nvidia-cuda"}}),
      kind("rocm", kROCm, {"rocm", "gpu"},
           {{"mcpu", Text},
            {"mtriple", Text},
            {"mattr", TextList},
            {"max_num_threads", Int},
            {"max_threads_per_block", Int},
            {"max_shared_memory_per_block", Int},
            {"thread_warp_size", Int}},
           {{"max_num_threads", 256},
            {"max_threads_per_block", 256},
            {"max_shared_memory_per_block", 65536},
            {"thread_warp_size", 64},
            {"mtriple", "amdgcn-amd-amdhsa-hcc"}}),
      kind("opencl", kOpenCL, {"opencl", "gpu"},
           {{"max_num_threads", Int}, {"thread_warp_size", Int}, {"texture_spatial_limit", Int}},
           {{"max_num_threads", 256}, {"thread_warp_size", 1}, {"texture_spatial_limit", 16384}}),
      kind("metal", kMetal, {"metal", "gpu"},
           {{"max_num_threads", Int}, {"thread_warp_size", Int}, {"max_function_args", Int}},
           {{"max_num_threads", 256}, {"thread_warp_size", 16}, {"max_function_args", 31}}),
      kind("vulkan", kVulkan, {"vulkan", "gpu"}, vulkan_options(),
           {{"supports_float32", yes},
            {"supports_int32", yes},
            {"max_num_threads", 256},
            {"max_threads_per_block", 256},
            {"thread_warp_size", 1}}),
      kind("webgpu", kWebGPU, {"webgpu", "gpu"}, {{"max_num_threads", Int}}, {{"max_num_threads", 256}}),
      kind("sdaccel", kOpenCL, {"sdaccel", "hls"}), kind("aocl", kAOCL, {"aocl", "hls"}),
      kind("aocl_sw_emu", kAOCL, {"aocl", "hls"}),
      kind("hexagon", kHexagon, {"hexagon"},
           {{"mattr", TextList}, {"mcpu", Text}, {"mtriple", Text}, {"llvm-options", TextList}, {"num-cores", Int}}),
      kind("stackvm", kCPU, {}), kind("hybrid", kCPU, {}), kind("test", kCPU, {}), kind("ext_dev", kExtDev, {}),
      kind("composite", kCPU, {}, {{"devices", TargetList}}),
      // Kinds of external code generators.
      kind("tensorrt", kCUDA, {},
           {{"tensorrt_version", IntList},
            {"use_implicit_batch", Bool},
            {"remove_no_mac_subgraphs", Bool},
            {"max_workspace_size", Int},
            {"use_fp16", Bool},
            {"use_uint8", Bool}},
           {{"use_implicit_batch", 1},
            {"remove_no_mac_subgraphs", 0},
            {"max_workspace_size", 1 << 30},
            {"use_fp16", 0},
            {"use_uint8", 0}}),
      kind("cutlass", kCUDA, {},
           {{"sm", Int},
            {"use_3xtf32", Bool},
            {"split_k_slices", IntList},
            {"profile_all_alignments", Bool},
            {"find_first_valid", Bool},
            {"use_multiprocessing", Bool},
            {"threads", Int},
            {"use_fast_math", Bool},
            {"tmp_dir", Text}},
           {{"sm", 80},
            {"use_3xtf32", 1},
            {"profile_all_alignments", 0},
            {"find_first_valid", 0},
            {"use_multiprocessing", 0},
            {"threads", -1},
            {"use_fast_math", 0},
            {"tmp_dir", "./tmp"}}),
      kind("cudnn", kCUDA, {}), kind("cublas", kCUDA, {}),
      kind("cmsis-nn", kCPU, {}, {{"mattr", TextList}, {"mcpu", Text}}), kind("ethos-u", kCPU, {}),
      kind("ccompiler", kCPU, {}, {{"header", Text}}, {{"header", ""}}),
      kind("example_target_hook", kCPU, {}, {{"example_attribute", Bool}}),
      kind("dnnl", kCPU, {}),  // v0.10 has the code generator without a kind, so that Collage cannot name it
  };
}

}  // namespace

namespace {

std::vector<TargetKind>& all_kinds() {
  static auto* kinds = new std::vector<TargetKind>(make_kinds());
  return *kinds;
}

/// Kinds that the table has from this one on are of external code generators, and all that are registered later.
constexpr const char* kFirstExternal = "tensorrt";

/// A kind with options that are read by a generator: name -> default, whose type is the option's.
void register_external_kind(const std::string& name, const Map<String, ObjectRef>& options) {
  if (find_target_kind(name)) return;
  Options known;
  Defaults defaults;
  for (const auto& [option, value] : options) {
    if (value.as<StringNode>()) known.emplace_back(option.str(), Text);
    else if (value.as<IntImm>()) known.emplace_back(option.str(), value.as<IntImm>()->dtype.is_bool() ? Bool : Int);
    else
      throw Error(TypeError) << "the option " << option << " of the target " << name << " is neither text nor a number";
    defaults.emplace_back(option.str(), Any::of_object(value.get()));
  }
  all_kinds().push_back(kind(name.c_str(), kCPU, {}, std::move(known), std::move(defaults)));
}

}  // namespace

std::vector<TargetKind> target_kinds() { return all_kinds(); }

TargetKind find_target_kind(std::string_view name) {
  for (const TargetKind& kind : all_kinds())
    if (std::string_view(kind->name) == name) return kind;
  return nullptr;
}

bool is_external(const TargetKind& kind) {
  bool found = false;
  for (const TargetKind& known : all_kinds()) {
    found |= known->name == kFirstExternal;
    if (known.same_as(kind)) return found;
  }
  return false;
}

static Globals kinds_globals{{"relay.backend.contrib.uma.RegisterTarget", register_external_kind}};

}  // namespace tessera

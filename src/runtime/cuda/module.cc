// Modules of CUDA kernels: source, PTX, or a binary. Source is compiled when code is first needed: at the first call, for
// the device at hand, or when the module is saved, for the architecture of its target.

#include "runtime/cuda/module.h"

#include <cstdlib>

#include "runtime/cuda/compile.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/tensor_map.h"
#include "runtime/module/kernel.h"
#include "runtime/registry.h"

namespace tessera::cuda {
namespace {

class CudaModule final : public ModuleBody {
 public:
  /// `form` is "ptx", "cubin" or "fatbin"; "cu" where there is only source yet.
  CudaModule(std::string code, std::string form, KernelTable kernels, std::string source, std::string arch)
      : code_(std::move(code)),
        form_(std::move(form)),
        kernels_(std::move(kernels)),
        source_(std::move(source)),
        arch_(std::move(arch)) {}
  ~CudaModule() override {
    for (const auto& [id, module] : loaded_) {
      try {
        CudaDevice::instance().enter(make_device(kDLCUDA, id));
        driver().cuModuleUnload(module);
      } catch (const Error&) {  // the driver is gone already
      }
    }
  }

  std::string type_key() const override { return "cuda"; }
  std::string format() override { return form_ == "cu" ? "ptx" : form_; }

  std::string get_source(const std::string& format) override {
    if (format == "ptx") return code_as_ptx();
    if (!format.empty() && format != "cu" && format != "cuda")
      throw Error(ValueError) << "a cuda module has no source in format \"" << format << "\"; it may be cu or ptx";
    if (!source_.empty()) return source_;
    return form_ == "ptx" ? code_ : "";
  }

  bool implements_function(const std::string& name, const Module&) override { return kernels_.count(name); }
  PackedFunc get_function(const std::string& name, const Module& self) override {
    auto it = kernels_.find(name);
    if (it == kernels_.end()) return nullptr;
    return PackedFunc([this, self, info = it->second](Args args, Any*) { launch(info, args); });
  }

  void save_to_file(const std::string& path, const std::string& format) override {
    size_t dot = path.rfind('.');
    std::string form = !format.empty() ? format : dot == path.npos ? "" : path.substr(dot + 1);
    if (form == "cu" && !source_.empty()) return write_kernel_file(path, source_, kernels_);
    if (form == form_) return write_kernel_file(path, code_, kernels_);
    if (form == "ptx") return write_kernel_file(path, code_as_ptx(), kernels_);
    if (form == "cubin" && !source_.empty()) return write_kernel_file(path, compile(source_, arch_, "cubin"), kernels_);
    throw Error(ValueError) << "a cuda module in form " << form_ << " cannot be saved as " << path
                            << "; it may be cu, ptx or cubin where its source is known";
  }

  void save_to_binary(ByteWriter& out) override {
    std::string form = form_, code = code_;
    if (form == "cu") {
      try {
        code = code_as_ptx();
        form = "ptx";
      } catch (const Error&) {  // without a compiler the source travels, for the compiler of the machine that runs it
        code = source_;
      }
    }
    out.write(form);
    write_kernels(kernels_, out);
    out.write(code);
  }

 private:
  std::string code_as_ptx() {
    if (form_ == "ptx") return code_;
    if (source_.empty()) throw Error(ValueError) << "this cuda module is a " << form_ << "; its PTX is not known";
    std::lock_guard lock(mutex_);
    if (ptx_.empty()) ptx_ = compile(source_, arch_, "ptx");
    return ptx_;
  }

  /// An error for kernels that a device of this architecture does not have the instructions for.
  void check_arch(DLDevice device, const std::string& here) const {
    auto version = [](const std::string& arch) { return std::strtol(arch.c_str() + 3, nullptr, 10); };
    const bool is_special = arch_.ends_with('a');  // instructions of that architecture alone
    if (is_special ? version(arch_) == version(here) : version(arch_) <= version(here)) return;
    throw Error(RuntimeError) << "the kernels are for " << arch_ << ", and " << device_text(device) << " is " << here
                              << "; compile them for it: -arch=" << here;
  }

  CUmodule load_on(DLDevice device) {
    CUmodule& module = loaded_[device.device_id];
    if (module) return module;
    const Driver& cu = driver();
    std::string code = code_;
    const std::string here = CudaDevice::instance().arch(device);
    // From source comes a binary for this very device: no second compilation by the driver.
    if (!source_.empty() && (form_ == "cu" || form_ == "ptx")) {
      check_arch(device, here);
      code = compile(source_, here, "cubin");
    }
    CUresult result = cu.cuModuleLoadDataEx(&module, code.c_str(), 0, nullptr, nullptr);
    if (result != kSuccess) module = nullptr;
    if (result == kUnsupportedPtxVersion)
      throw Error(RuntimeError) << "CUDA: the driver is older than the compiler that made this PTX; update the driver, "
                                   "or save a cubin instead";
    check(result, "loading kernels (" + form_ + ") on " + device_text(device) + ", which is " + here + ",");
    return module;
  }

  struct Found {
    CUfunction function = nullptr;
    size_t shared_bytes = 0;
    std::shared_ptr<IndexErrors> index_errors;  // where the kernel checks indices
    std::vector<TensorMap> tensor_maps;
  };

  const Found& function_on(DLDevice device, const KernelInfo& info, size_t dynamic_shared_bytes) {
    std::lock_guard lock(mutex_);
    Found& found = functions_[{device.device_id, info.name}];
    if (!found.index_errors && !info.checked_indices.empty())
      found.index_errors = CudaDevice::instance().watch_indices(device, info.checked_indices);
    if (!found.function) {
      check(driver().cuModuleGetFunction(&found.function, load_on(device), info.name.c_str()), "finding " + info.name);
      for (const std::string& text : info.tensor_maps) {
        found.tensor_maps.push_back(read_tensor_map(text));
        const auto argument = static_cast<size_t>(found.tensor_maps.back().argument);
        if (argument >= info.arg_types.size() || !info.arg_types[argument].is_handle())
          throw Error(ValueError) << "kernel " << info.name << " has no argument for the tensor map \"" << text << "\"";
      }
    }
    // More than 48 kB are to be asked for, those of the kernel's own arrays among them.
    if (dynamic_shared_bytes > found.shared_bytes) {
      check(driver().cuFuncSetAttribute(found.function, kMaxDynamicSharedSize, static_cast<int>(dynamic_shared_bytes)),
            "asking for " + std::to_string(dynamic_shared_bytes) + " bytes of shared memory");
      found.shared_bytes = dynamic_shared_bytes;
    }
    return found;
  }

  void launch(const KernelInfo& info, Args args) {
    CudaDevice& devices = CudaDevice::instance();
    DLDevice device = devices.current();
    devices.enter(device);
    LaunchSize size = launch_size(info, args);
    if (size.is_empty()) return;
    const Found& found = function_on(device, info, size.dynamic_shared_bytes);
    std::vector<uint64_t> values;
    for (size_t i = 0; i < info.arg_types.size(); ++i) values.push_back(kernel_argument(info, args, i));
    if (found.index_errors) values.push_back(reinterpret_cast<uint64_t>(found.index_errors->records));
    std::vector<void*> pointers;
    for (uint64_t& value : values) pointers.push_back(&value);
    std::vector<TensorDescriptor> descriptors;
    for (const TensorMap& map : found.tensor_maps)
      descriptors.push_back(descriptor_of(map, values[static_cast<size_t>(map.argument)]));
    for (TensorDescriptor& descriptor : descriptors) pointers.push_back(&descriptor);
    auto part = [](size_t n) { return static_cast<unsigned>(n); };
    CUresult code = driver().cuLaunchKernel(found.function, part(size.grid[0]), part(size.grid[1]), part(size.grid[2]),
                                            part(size.block[0]), part(size.block[1]), part(size.block[2]),
                                            part(size.dynamic_shared_bytes), devices.stream_of(device, nullptr),
                                            pointers.data(), nullptr);
    check(code, "launching " + info.name + " over " + text(size.grid) + " blocks of " + text(size.block) + " threads");
  }

  static std::string text(const size_t* sizes) {
    return std::to_string(sizes[0]) + "x" + std::to_string(sizes[1]) + "x" + std::to_string(sizes[2]);
  }

  std::string code_, form_;
  KernelTable kernels_;
  std::string source_, arch_, ptx_;
  std::mutex mutex_;
  std::map<int, CUmodule> loaded_;
  std::map<std::pair<int, std::string>, Found> functions_;
};

Module make_cuda_module(std::string code, std::string form, KernelTable kernels) {
  bool is_source = form == "cu";
  std::string source = is_source ? code : "";
  return make_module<CudaModule>(is_source ? "" : std::move(code), std::move(form), std::move(kernels), source,
                                 "sm_75");
}

Module load_file(const std::string& path, const std::string& format) {
  auto [code, kernels] = read_kernel_file(path);
  return make_cuda_module(std::move(code), format, std::move(kernels));
}

Module load_binary(void* stream) {
  auto& in = *static_cast<ByteReader*>(stream);
  std::string form = in.read_string("the form of CUDA code");
  if (form != "ptx" && form != "cubin" && form != "fatbin" && form != "cu")
    in.fail("the form of CUDA code", "is \"" + form + "\"");
  KernelTable kernels = read_kernels(in);
  return make_cuda_module(in.read_string("CUDA code"), form, std::move(kernels));
}

Globals module_globals{
    {"runtime.cuda_module_create", create_module}, {"runtime.module.loadfile_ptx", load_file},
    {"runtime.module.loadfile_cubin", load_file},  {"runtime.module.loadfile_fatbin", load_file},
    {"runtime.module.loadfile_cu", load_file},     {"runtime.module.loadbinary_cuda", load_binary},
};

}  // namespace

Module create_module(std::string code, std::string form, const Bytes& table, std::string source, std::string arch) {
  ByteReader in(table.str(), "kernels");
  return make_module<CudaModule>(std::move(code), std::move(form), read_kernels(in), std::move(source),
                                 std::move(arch));
}

}  // namespace tessera::cuda

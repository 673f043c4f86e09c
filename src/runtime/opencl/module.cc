// Modules of OpenCL kernels: source that the driver compiles at the first call on a device.

#include "runtime/opencl/module.h"
#include "runtime/module/kernel.h"
#include "runtime/opencl/device.h"
#include "runtime/registry.h"

namespace tessera::opencl {
namespace {

/// The program on one device. Setting arguments and launching is one step that threads take in turn.
struct Program {
  std::mutex mutex;
  cl_program program = nullptr;
  std::map<std::string, cl_kernel> kernels;
  std::map<std::string, std::shared_ptr<IndexErrors>> index_errors;  // of kernels that check indices
};

class OpenCLModule final : public ModuleBody {
 public:
  OpenCLModule(std::string source, KernelTable kernels) : source_(std::move(source)), kernels_(std::move(kernels)) {}
  ~OpenCLModule() override {
    const Library* cl = find_library();
    for (const auto& [id, on] : programs_) {
      for (const auto& [name, kernel] : on->kernels) cl->clReleaseKernel(kernel);
      if (on->program) cl->clReleaseProgram(on->program);
    }
  }

  std::string type_key() const override { return "opencl"; }
  std::string format() override { return "cl"; }
  std::string get_source(const std::string& format) override {
    if (!format.empty() && format != "cl")
      throw Error(ValueError) << "an opencl module has no source in format \"" << format << "\"; it may be cl";
    return source_;
  }
  bool implements_function(const std::string& name, const Module&) override { return kernels_.count(name); }

  PackedFunc get_function(const std::string& name, const Module& self) override {
    auto it = kernels_.find(name);
    if (it == kernels_.end()) return nullptr;
    return PackedFunc([this, self, info = it->second](Args args, Any*) { launch(info, args); });
  }

  void save_to_file(const std::string& path, const std::string&) override {
    write_kernel_file(path, source_, kernels_);
  }
  void save_to_binary(ByteWriter& out) override {
    out.write("cl");
    write_kernels(kernels_, out);
    out.write(source_);
  }

 private:
  Program& program_on(DLDevice device) {
    std::lock_guard lock(mutex_);
    auto& out = programs_[device.device_id];
    if (!out) out = std::make_unique<Program>();
    return *out;
  }

  void compile(Program& program, Device& on) {
    const Library& cl = *find_library();
    const char* text = source_.c_str();
    size_t length = source_.size();
    cl_int code = CL_SUCCESS;
    program.program = cl.clCreateProgramWithSource(on.context, 1, &text, &length, &code);
    check(code, "reading a program");
    code = cl.clBuildProgram(program.program, 1, &on.id, "", nullptr, nullptr);
    if (code == CL_SUCCESS) return;
    size_t size = 0;
    cl.clGetProgramBuildInfo(program.program, on.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    cl.clGetProgramBuildInfo(program.program, on.id, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    cl.clReleaseProgram(std::exchange(program.program, nullptr));
    throw Error(RuntimeError) << "OpenCL: the driver cannot compile the kernels (" << error_name(code) << "):\n"
                              << log.c_str() << "\nin the source\n"
                              << source_;
  }

  void launch(const KernelInfo& info, Args args) {
    OpenCLDevice& devices = OpenCLDevice::instance();
    DLDevice device = devices.current();
    Device& on = devices.get(device);
    const Library& cl = *find_library();
    LaunchSize size = launch_size(info, args);
    if (size.is_empty()) return;
    Program& program = program_on(device);
    std::lock_guard lock(program.mutex);
    if (!program.program) compile(program, on);
    cl_kernel& kernel = program.kernels[info.name];
    cl_int code = CL_SUCCESS;
    if (!kernel) kernel = cl.clCreateKernel(program.program, info.name.c_str(), &code);
    check(code, "finding kernel " + info.name);
    for (size_t i = 0; i < info.arg_types.size(); ++i) {
      uint64_t bits = kernel_argument(info, args, i);
      DataType dtype = info.arg_types[i];
      if (dtype.is_handle()) {
        auto* memory = reinterpret_cast<Memory*>(bits);
        cl_mem buffer = memory ? memory->buffer : nullptr;
        code = cl.clSetKernelArg(kernel, static_cast<cl_uint>(i), sizeof buffer, &buffer);
      } else {
        code = cl.clSetKernelArg(kernel, static_cast<cl_uint>(i), static_cast<size_t>(dtype.bytes()), &bits);
      }
      check(code, "argument " + std::to_string(i) + " of kernel " + info.name);
    }
    cl_command_queue queue = devices.queue_of(device, nullptr);
    if (!info.checked_indices.empty()) {
      auto& errors = program.index_errors[info.name];
      if (!errors) errors = std::make_shared<IndexErrors>(on.context, info.checked_indices);
      code = cl.clSetKernelArg(kernel, static_cast<cl_uint>(info.arg_types.size()), sizeof errors->buffer,
                               &errors->buffer);
      check(code, "the records of indices of kernel " + info.name);
      devices.watch_indices(queue, errors);
    }
    size_t global[3];
    for (size_t i = 0; i < 3; ++i) global[i] = size.grid[i] * size.block[i];
    code = cl.clEnqueueNDRangeKernel(queue, kernel, 3, nullptr, global, size.block, 0, nullptr, nullptr);
    check(code, "launching kernel " + info.name + " over " + text(size.grid) + " groups of " + text(size.block));
  }

  static std::string text(const size_t* sizes) {
    return std::to_string(sizes[0]) + "x" + std::to_string(sizes[1]) + "x" + std::to_string(sizes[2]);
  }

  std::string source_;
  KernelTable kernels_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Program>> programs_;
};

Module load_file(const std::string& path, const std::string&) {
  auto [source, kernels] = read_kernel_file(path);
  return make_module<OpenCLModule>(std::move(source), std::move(kernels));
}

Module load_binary(void* stream) {
  auto& in = *static_cast<ByteReader*>(stream);
  std::string format = in.read_string("the form of OpenCL code");
  if (format != "cl") in.fail("the form of OpenCL code", "is \"" + format + "\"; only source can be loaded");
  KernelTable kernels = read_kernels(in);
  return make_module<OpenCLModule>(in.read_string("OpenCL source"), std::move(kernels));
}

Globals module_globals{
    {"runtime.opencl_module_create", create_module},
    {"runtime.module.loadfile_cl", load_file},
    {"runtime.module.loadbinary_opencl", load_binary},
};

}  // namespace

Module create_module(std::string code, const Bytes& table) {
  ByteReader in(table.str(), "kernels");
  return make_module<OpenCLModule>(std::move(code), read_kernels(in));
}

}  // namespace tessera::opencl

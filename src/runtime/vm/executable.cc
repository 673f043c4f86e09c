// The program as a module, under the names v0.10 gives its functions.

#include "runtime/vm/executable.h"
#include "runtime/executable/module.h"

#include <iterator>

#include "runtime/archive/files.h"
#include "runtime/package/params.h"
#include "runtime/registry.h"
#include "runtime/vm/machine.h"

namespace tessera::vm {
namespace {

constexpr const char* kTypeKey = "VMExecutable";

Array<ObjectRef> strings(const std::vector<std::string>& items) {
  Array<ObjectRef> out;
  for (const std::string& item : items) out.push_back(String(item));
  return out;
}

std::string read_file(const std::string& path) { return std::string(MappedFile(path, "the executable").bytes()); }

class ExecutableModule final : public ModuleBody {
 public:
  explicit ExecutableModule(Program program) : program_(std::make_shared<Program>(std::move(program))) {}

  std::string type_key() const override { return kTypeKey; }
  std::shared_ptr<const Program> program() const { return program_; }

  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (name == "get_lib") return typed(name, [self] { return vm::library_of(self); });
    if (name == "get_bytecode") return typed(name, [self, this] { return program_text(*program_); });
    if (name == "get_stats") return typed(name, [self, this] { return program_stats(*program_); });
    if (name == "get_constants") return typed(name, [self, this] { return constants_text(); });
    if (name == "get_virtual_devices") return typed(name, [self, this] { return devices_text(); });
    if (name == "get_primitives") return typed(name, [self, this] { return primitives_text(); });
    if (name == "get_primitive_names") return typed(name, [self, this] { return strings(program_->primitives); });
    if (name == "get_globals") return typed(name, [self, this] { return globals(); });
    if (name == "get_function_arity")
      return typed(name, [self, this](std::string function) {
        return program_->functions[program_->index_of(function)].params.size();
      });
    if (name == "get_function_params")
      return typed(name, [self, this](std::string function) {
        Array<ObjectRef> out;
        for (const Parameter& param : program_->functions[program_->index_of(function)].params)
          out.push_back(String(param.name));
        return out;
      });
    if (name == "get_function_param_name")
      return typed(name, [self, this](std::string function, int index) {
        const auto& params = program_->functions[program_->index_of(function)].params;
        if (index < 0 || static_cast<size_t>(index) >= params.size())
          throw Error(IndexError) << "parameter " << index << " of " << function << ", which takes " << params.size();
        return params[static_cast<size_t>(index)].name;
      });
    if (name == "save") return typed(name, [self, this] { return Bytes(save_program(*program_)); });
    if (name == "vm_load_executable") return typed(name, [self] { return make_machine(self); });
    if (name == "vm_profiler_load_executable") return typed(name, [self] { return make_machine(self); });
    if (name == "default")
      return PackedFunc([self](Args args, Any* result) {
        std::vector<DLDevice> devices;
        for (int i = 0; i < args.size(); ++i) devices.push_back(args[i].to<DLDevice>());
        std::unique_ptr<Executable> executable = make_executable(self, devices);
        *result = Any(make_executor_module(std::move(executable), devices[0]));
      });
    if (name == "get_late_bound_consts")
      return typed(name, [self, this](int64_t limit) { return large_constants(limit); });
    if (name == "move_late_bound_consts")
      return typed(name, [self, this](std::string path, int64_t limit) {
        Map<String, NDArray> large = large_constants(limit);
        write_whole_file(path, [&](const Sink& out) { write_params(out, large); });
        for (size_t i = 0; i < program_->constants.size(); ++i)
          if (large.count(String(program_->constant_names[i]))) program_->constants[i] = NDArray();
      });
    if (name == "load_late_bound_consts")
      return typed(name, [self, this](std::string path) { bind(load_params(read_file(path))); });
    if (name == "load_late_bound_consts_from_map")
      return typed(name, [self, this](Map<String, NDArray> constants) { bind(constants); });
    return nullptr;
  }

  void save_to_binary(ByteWriter& out) override {
    write_sized(out, [&](ByteWriter& to) { write_program(to, *program_); });
  }
  void save_to_file(const std::string& path, const std::string&) override {
    write_whole_file(path, [&](const Sink& out) {
      ByteWriter bytes(out);
      write_program(bytes, *program_);
      bytes.flush();
    });
  }

 private:
  Map<String, NDArray> large_constants(int64_t limit) const {
    if (limit < 0) throw Error(ValueError) << "the limit in bytes must not be negative";
    Map<String, NDArray> out;
    for (size_t i = 0; i < program_->constants.size(); ++i)
      if (program_->constants[i] && program_->constants[i].bytes() >= static_cast<size_t>(limit))
        out.set(String(program_->constant_names[i]), program_->constants[i]);
    return out;
  }

  void bind(const Map<String, NDArray>& given) {
    for (size_t i = 0; i < program_->constants.size(); ++i) {
      if (program_->constants[i]) continue;
      program_->constants[i] = given.get_or_null(String(program_->constant_names[i]));
      if (!program_->constants[i])
        throw Error(ValueError) << "the constant " << program_->constant_names[i] << " is not among those given";
    }
  }

  Array<ObjectRef> globals() const {
    Array<ObjectRef> out;
    for (const Function& function : program_->functions) out.push_back(String(function.name));
    return out;
  }

  std::string constants_text() const {
    std::string out;
    for (size_t i = 0; i < program_->constants.size(); ++i) {
      const NDArray& constant = program_->constants[i];
      out += "VM Const[" + std::to_string(i) + "]: " +
             (constant ? "NDArray" + describe(constant.tensor()) : "late bound " + program_->constant_names[i]) + "\n";
    }
    return out;
  }

  std::string devices_text() const {
    std::string out;
    for (size_t i = 0; i < program_->device_types.size(); ++i)
      out += "VM VirtualDevice[" + std::to_string(i) + "]: device type " + std::to_string(program_->device_types[i]) +
             "\n";
    return out;
  }

  std::string primitives_text() const {
    std::string out;
    for (size_t i = 0; i < program_->primitives.size(); ++i)
      out += "VM PackedFunc[" + std::to_string(i) + "]: " + program_->primitives[i] + "\n";
    return out;
  }

  std::shared_ptr<Program> program_;
};

}  // namespace

Module make_executable(Program program, const Module& library) {
  program.check();
  Module out = make_module<ExecutableModule>(std::move(program));
  if (library) out.import_module(library);
  return out;
}

std::shared_ptr<const Program> program_of(const Module& executable) {
  auto* body = executable ? dynamic_cast<ExecutableModule*>(executable.operator->()) : nullptr;
  if (!body)
    throw Error(TypeError) << "expected a VM executable, got " << (executable ? executable->type_key() : "no module");
  return body->program();
}

Module library_of(const Module& executable) {
  return executable.imports().empty() ? Module(nullptr) : Module(executable.imports()[0]);
}

static Globals executable_globals{
    {"runtime.Load_Executable",
     [](Bytes code, Module library) { return make_executable(load_program(code.str()), library); }},
    {"runtime.module.loadbinary_VMExecutable",
     [](void* stream) {
       std::string code = static_cast<ByteReader*>(stream)->read_string("the VM executable");
       return make_executable(load_program(code), nullptr);
     }},
    {"runtime.module.loadfile_VMExecutable",
     [](std::string path, std::string) { return make_executable(load_program(read_file(path), path), nullptr); }},
};

}  // namespace tessera::vm

// target.build.nvptx and target.build.rocm: kernels as assembly, with the LLVM IR they were made from.

#include "codegen/llvm/context.h"
#include "codegen/llvm/kernels.h"
#include "codegen/llvm/machine/emit.h"
#include "codegen/llvm/machine/link.h"
#include "codegen/llvm/machine/llvm_module.h"
#include "runtime/cuda/module.h"
#include "runtime/module/kernel.h"
#include "tir/analysis/checked_index_texts.h"
#include "tir/attrs.h"

namespace tessera::codegen {
namespace {

struct KernelText {
  std::string type_key;  // of the runtime that loads it: "cuda" or "hip"
  std::string format;    // what it loads: "ptx" or "hsaco"
  std::string ir, assembly, object;
  KernelTable kernels;
};

/// Kernels that can be read and saved. Running them is the work of the module that a runtime for the device gives.
class KernelModule : public ModuleBody {
 public:
  KernelModule(KernelText text, Module runner) : text_(std::move(text)), runner_(std::move(runner)) {}

  std::string type_key() const override { return text_.type_key; }
  std::string format() override { return text_.format; }

  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (runner_) return runner_.get_function(name);
    if (implements_function(name, self))
      throw Error(RuntimeError) << "kernel " << name << " cannot run: this build has no runtime for " << text_.type_key
                                << " devices. get_source(\"" << text_.format << "\") and save give its code";
    return nullptr;
  }
  bool implements_function(const std::string& name, const Module&) override { return text_.kernels.count(name) > 0; }

  std::string get_source(const std::string& format) override {
    if (format.empty() || format == "ll" || format == "llvm") return text_.ir;
    if (format == "asm" || format == "s" || (format == "ptx" && text_.format == "ptx")) return text_.assembly;
    throw Error(ValueError) << "kernels of type " << text_.type_key << " have no source in format \"" << format
                            << "\"; it may be ll or " << (text_.format == "ptx" ? "ptx" : "asm");
  }

  void save_to_binary(ByteWriter& out) override {
    out.write(text_.format);
    write_kernels(text_.kernels, out);
    out.write(text_.format == "ptx" ? text_.assembly : link_device_code(text_.object));
  }

  void save_to_file(const std::string& path, const std::string& format) override {
    std::string form = format.empty() ? path.substr(path.rfind('.') + 1) : format;
    const bool is_object = form == "o" || form == "obj", is_linked = form == "hsaco" || form == "co";
    if ((is_object || is_linked) && text_.object.empty())
      throw Error(ValueError) << "kernels in PTX have no object file; save them as .ptx or .ll";
    write_kernel_file(path,
                      is_object   ? text_.object
                      : is_linked ? link_device_code(text_.object)
                                  : get_source(form),
                      text_.kernels);
  }

 private:
  KernelText text_;
  Module runner_;
};

/// NVIDIA's kernels run through the CUDA driver; for others there is no runtime yet.
Module runner_of(const KernelText& text, const Machine& machine) {
  if (!machine.is_nvptx()) return nullptr;
  ByteWriter table;
  write_kernels(text.kernels, table);
  return cuda::create_module(text.assembly, "ptx", Bytes(table.take()), "", machine.cpu);
}

KernelInfo describe(const GlobalVar& var, const PrimFunc& kernel) {
  ObjectRef symbol = kernel->attrs.get_attr(attr::kGlobalSymbol);
  KernelInfo out{
      .name = symbol ? downcast<String>(symbol).str() : var->name_hint.str(), .arg_types = {}, .launch_tags = {}};
  for (const Var& param : kernel->params) out.arg_types.push_back(param->dtype);
  for (const IterVar& axis : downcast<Array<IterVar>>(kernel->attrs.get_attr(attr::kDeviceThreadAxis)))
    out.launch_tags.push_back(axis->thread_tag.str());
  out.checked_indices = checked_index_texts(kernel->body);
  return out;
}

Module build_kernels(IRModule mod, Target target) {
  Machine machine = read_machine(target);
  std::unique_ptr<llvm::TargetMachine> target_machine = make_target_machine(machine);
  std::unique_ptr<llvm::LLVMContext> context = make_context();
  KernelCodeGen codegen(*context, *target_machine, machine);
  KernelText text;
  std::vector<GlobalVar> vars;
  for (const auto& [var, function] : mod.sorted_functions()) {
    PrimFunc kernel = downcast<PrimFunc>(function);
    codegen.declare(var, kernel);
    vars.push_back(var);
    KernelInfo info = describe(var, kernel);
    text.kernels[info.name] = info;
  }
  for (const GlobalVar& var : vars) codegen.define(var);
  std::unique_ptr<llvm::Module> module = codegen.finish();
  verify(*module);
  optimize(*module, *target_machine, machine);
  text.ir = emit_text(*module);
  text.assembly = emit_assembly(*module, machine);
  text.type_key = machine.is_nvptx() ? "cuda" : "hip";
  text.format = machine.is_nvptx() ? "ptx" : "hsaco";
  if (!machine.is_nvptx()) text.object = emit_object(*module, machine);
  Module runner = runner_of(text, machine);
  return make_module<KernelModule>(std::move(text), std::move(runner));
}

Globals kernel_module_globals{{"target.build.nvptx", build_kernels}, {"target.build.rocm", build_kernels}};

}  // namespace
}  // namespace tessera::codegen

// target.build.c, and the runtime module of type "c": source that a linker's compiler takes.

#include "codegen/c/printer.h"
#include "codegen/c/source_module.h"
#include "runtime/archive/files.h"
#include "runtime/module/module.h"
#include "runtime/registry.h"
#include "tir/attrs.h"

namespace tessera::codegen {
namespace {

class CSourceModule : public ModuleBody {
 public:
  CSourceModule(std::string source, std::string format, Array<String> names, Array<String> const_vars)
      : source_(std::move(source)), format_(std::move(format)), names_(names), const_vars_(const_vars) {}

  std::string type_key() const override { return "c"; }
  std::string format() override { return format_; }
  bool is_dso_exportable() const override { return true; }
  std::string get_source(const std::string&) override { return source_; }

  PackedFunc get_function(const std::string& name, const Module&) override {
    auto answer = [](auto value) { return PackedFunc([value](Args, Any* result) { *result = Any(value); }); };
    if (name == "get_func_names") return answer(names_);
    if (name == "get_const_vars") return answer(const_vars_);
    if (name == "get_symbol" && !names_.empty()) return answer(names_[0]);
    if (implements_function(name, {}) || (name == kModuleMain && !names_.empty()))
      throw Error(RuntimeError) << "function " << name << " is C source and cannot be called yet: "
                                << "export_library(\"lib.so\") compiles it, load_module(\"lib.so\") loads it";
    return nullptr;
  }
  bool implements_function(const std::string& name, const Module&) override {
    for (const String& known : names_)
      if (known == name) return true;
    return false;
  }

  void save_to_file(const std::string& path, const std::string&) override { write_whole_file(path, source_); }

 private:
  std::string source_, format_;
  Array<String> names_, const_vars_;
};

Module build_c(IRModule mod, Target target) {
  CPrinter printer(target);
  auto functions = prim_funcs(mod);
  std::vector<std::string> packed;
  std::string entry;
  Array<String> names;
  for (const auto& [var, function] : functions) {
    printer.declare(var, function);
    String symbol = downcast_or_null<String>(function->attrs.get_attr(attr::kGlobalSymbol));
    if (!symbol) continue;
    names.push_back(symbol);
    if (function->attrs.is_true(attr::kIsEntryFunc)) entry = symbol.str();
    if (function->attrs.get_int(attr::kCallingConv, 0) == static_cast<int>(CallingConv::CPackedFunc))
      packed.push_back(symbol.str());
  }
  for (const auto& [var, function] : functions) printer.define_function(var);
  if (entry.empty() && packed.size() == 1) entry = packed[0];
  if (!entry.empty()) printer.set_entry(entry);
  return make_c_source(printer.finish(), "c", names, {});
}

Globals build_globals{
    {"target.build.c", build_c},
    {"runtime.CSourceModuleCreate",
     [](std::string source, std::string format, Array<String> names, Array<String> const_vars) {
       return make_c_source(source, format, names ? names : Array<String>(), const_vars ? const_vars : Array<String>());
     }},
};

}  // namespace

Module make_c_source(std::string source, std::string format, Array<String> names, Array<String> const_vars) {
  return make_module<CSourceModule>(std::move(source), std::move(format), std::move(names), std::move(const_vars));
}

}  // namespace tessera::codegen

#include "codegen/llvm/machine/llvm_module.h"

#include "codegen/llvm/machine/emit.h"
#include "codegen/llvm/machine/link.h"
#include "runtime/archive/files.h"
#include "runtime/cpu/features.h"
#include "runtime/module/compiled_code.h"
#include "runtime/package/file_seal.h"

namespace tessera::codegen {
namespace {

std::string suffix_of(const std::string& path) {
  size_t dot = path.rfind('.');
  return dot == path.npos || path.find('/', dot) != path.npos ? "" : path.substr(dot + 1);
}

}  // namespace

LLVMModule::LLVMModule(NamedFunctions functions, Machine machine, std::string entry)
    : machine_(std::move(machine)),
      entry_(std::move(entry)),
      functions_(std::move(functions)),
      units_(compile_units(functions_, machine_, entry_)) {
  for (const Unit& unit : units_)
    for (const Symbol& symbol : unit.symbols) symbols_[symbol.name] = symbol.kind;
}

LLVMModule::LLVMModule(NamedFunctions functions, Machine machine, std::vector<Unit> cached,
                       std::function<NamedFunctions()> source)
    : machine_(std::move(machine)), functions_(std::move(functions)), source_(std::move(source)) {
  if (!functions_.empty()) units_ = compile_units(functions_, machine_, entry_);
  units_.insert(units_.end(), std::make_move_iterator(cached.begin()), std::make_move_iterator(cached.end()));
  for (const Unit& unit : units_)
    for (const Symbol& symbol : unit.symbols) symbols_[symbol.name] = symbol.kind;
}

LLVMModule::LLVMModule(OwnedModule module, Machine machine) : machine_(std::move(machine)), whole_(std::move(module)) {
  units_.push_back({defined_symbols(*whole_.module), emit_object(*whole_.module, machine_)});
  for (const Symbol& symbol : units_[0].symbols) symbols_[symbol.name] = symbol.kind;
}

LLVMModule::~LLVMModule() = default;

const llvm::Module& LLVMModule::whole() {
  if (!whole_.module) {
    NamedFunctions all = functions_;
    if (source_)
      for (const auto& function : source_()) all.push_back(function);
    whole_ = generate_llvm(all, machine_, entry_);
  }
  return *whole_.module;
}

JitCode& LLVMModule::linked(const ModuleNode* self) {
  if (!jit_) {
    if (!machine_.is_host())
      throw Error(RuntimeError) << "code for target \"" << machine_.text << "\" (" << machine_.triple
                                << ") cannot run on this machine; export it and load it where it belongs";
    auto jit = std::make_unique<JitCode>(units_, "tessera");
    for (const auto& [name, kind] : symbols_)
      if (name.starts_with(kCpuFeaturesSymbol))
        check_cpu_features(static_cast<const char*>(jit->find(name)), "the module");
    fill_context([&](const char* name) { return symbols_.count(name) ? jit->find(name) : nullptr; }, self);
    jit_ = std::move(jit);
  }
  return *jit_;
}

void* LLVMModule::address_of(const std::string& symbol, const Module& self) {
  if (!symbols_.count(symbol)) return nullptr;
  std::lock_guard lock(mutex_);
  return linked(self.get()).find(symbol);
}

bool LLVMModule::implements_function(const std::string& name, const Module&) {
  auto it = symbols_.find(name);
  return it != symbols_.end() && (it->second != Symbol::Data || name == kModuleMain);
}

PackedFunc LLVMModule::get_function(const std::string& name, const Module& self) {
  if (name == "_get_target_string")
    return PackedFunc([text = machine_.text](Args, Any* result) { *result = Any(text); });
  if (name == "__tvm_is_system_module") return PackedFunc([](Args, Any* result) { *result = Any(false); });
  if (name == "get_func_names") {
    Array<String> names;
    for (const Unit& unit : units_)
      for (const Symbol& symbol : unit.symbols)
        if (symbol.kind != Symbol::Data) names.push_back(symbol.name);
    return PackedFunc([names](Args, Any* result) { *result = Any(names); });
  }
  if (auto it = symbols_.find(name); it != symbols_.end() && it->second == Symbol::Plain)
    throw Error(TypeError) << "function " << name << " is a plain C function and cannot be called by name; "
                           << "MakePackedAPI makes functions that can";
  return find_compiled([&](const char* symbol) { return address_of(symbol, self); }, name, self);
}

std::string LLVMModule::get_source(const std::string& format) {
  std::lock_guard lock(mutex_);
  if (format.empty() || format == "ll") return emit_text(whole());
  if (format == "s" || format == "asm") return emit_assembly(whole(), machine_);
  throw Error(ValueError) << "an llvm module has no source in format \"" << format << "\"; it may be ll, s or asm";
}

void LLVMModule::save_to_file(const std::string& path, const std::string& format) {
  std::string form = format.empty() ? suffix_of(path) : format;
  std::string bytes;
  {
    std::lock_guard lock(mutex_);
    if (form == "o" || form == "obj") {
      std::vector<std::string> objects;
      for (const Unit& unit : units_) objects.push_back(unit.object);
      bytes = merge_objects(objects);
      if (bytes.starts_with("\177ELF")) bytes += seal_of(bytes);
    } else if (form == "s" || form == "asm") {
      bytes = emit_assembly(whole(), machine_);
    } else if (form == "ll") {
      bytes = emit_text(whole());
    } else if (form == "bc") {
      bytes = emit_bitcode(whole());
    } else {
      throw Error(ValueError) << "an llvm module cannot be saved as \"" << path << "\" in format \"" << form
                              << "\"; it may be o, s, ll or bc";
    }
  }
  write_whole_file(path, bytes);
}

}  // namespace tessera::codegen

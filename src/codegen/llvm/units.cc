#include "codegen/llvm/units.h"

#include <atomic>
#include <numeric>

#include "base/progress.h"
#include "base/run_tasks.h"
#include "codegen/kernel_cache.h"
#include "codegen/llvm/machine/emit.h"
#include "ir/json/json.h"

namespace tessera::codegen {
namespace {

/// Six parameters and a status: the signature of compiled functions.
bool is_packed(const llvm::Function& function) {
  const llvm::FunctionType* type = function.getFunctionType();
  if (type->getNumParams() != 6 || !type->getReturnType()->isIntegerTy(32)) return false;
  for (unsigned i = 0; i < 6; ++i)
    if (i == 2 ? !type->getParamType(i)->isIntegerTy(32) : !type->getParamType(i)->isPointerTy()) return false;
  return true;
}

// ---- which functions belong together -----------------------------------------------------------------------------

class Groups {
 public:
  explicit Groups(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t of(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void unite(size_t a, size_t b) { parent_[std::max(of(a), of(b))] = std::min(of(a), of(b)); }

 private:
  std::vector<size_t> parent_;
};

std::vector<NamedFunctions> group(const NamedFunctions& functions) {
  std::unordered_map<std::string, size_t> by_symbol;
  for (size_t i = 0; i < functions.size(); ++i) {
    by_symbol[functions[i].first->name_hint.str()] = i;
    if (ObjectRef symbol = functions[i].second->attrs.get_attr(attr::kGlobalSymbol))
      by_symbol[downcast<String>(symbol).str()] = i;
  }
  Groups groups(functions.size());
  if (functions.size() > 1) {
    for (size_t i = 0; i < functions.size(); ++i) {
      auto refer = [&](const String& symbol) {
        if (auto it = by_symbol.find(symbol.str()); it != by_symbol.end()) groups.unite(i, it->second);
      };
      walk(
          functions[i].second->body, [&](const StringImm* text) { refer(text->value); },
          [&](const Call* call) {
            if (auto* var = call->op.as<GlobalVarNode>()) refer(var->name_hint);
          });
    }
  }
  std::vector<NamedFunctions> out;
  std::unordered_map<size_t, size_t> index_of;
  for (size_t i = 0; i < functions.size(); ++i) {
    auto [it, is_new] = index_of.emplace(groups.of(i), out.size());
    if (is_new) out.emplace_back();
    out[it->second].push_back(functions[i]);
  }
  return out;
}

// ---- a unit in the cache -----------------------------------------------------------------------------------------

/// All that the object depends on.
std::string key_of(const NamedFunctions& functions, const Machine& machine, const std::string& entry) {
  std::string key = "llvm object\n" + compiler_build_id() + "\n";
  llvm::raw_string_ostream flags(key);
  flags << machine.text << "\n" << machine.triple << "\n" << machine.cpu << "\n" << machine.features << "\n";
  flags << machine.abi << "\n" << machine.opt_level << "\n" << machine.float_abi << "\n" << machine.sve_bits << "\n";
  machine.fast_math.print(flags);
  flags << "\n" << entry << "\n";
  Array<ObjectRef> content;
  for (const auto& [var, function] : functions) {
    content.push_back(var->name_hint);
    content.push_back(function);
  }
  flags << save_json(content);
  return key;
}

Unit compile(const NamedFunctions& functions, const Machine& machine, const std::string& entry) {
  KernelCache& cache = KernelCache::get();
  std::string key = cache.is_on() ? key_of(functions, machine, entry) : "";
  if (std::optional<std::string> cached = cache.find(key)) return from_bytes(*cached);
  OwnedModule generated = generate_llvm(functions, machine, entry);
  Unit out{defined_symbols(*generated.module), emit_object(*generated.module, machine)};
  cache.add(key, to_bytes(out));
  return out;
}

bool defines(const NamedFunctions& functions, const std::string& symbol) {
  for (const auto& [var, function] : functions) {
    ObjectRef name = function->attrs.get_attr(attr::kGlobalSymbol);
    if (name && downcast<String>(name).str() == symbol) return true;
  }
  return false;
}

}  // namespace

/// One line for each symbol, an empty line, the object.
std::string to_bytes(const Unit& unit) {
  std::string out;
  for (const Symbol& symbol : unit.symbols) out += static_cast<char>(symbol.kind) + symbol.name + "\n";
  return out + "\n" + unit.object;
}

Unit from_bytes(const std::string& bytes) {
  Unit out;
  size_t at = 0;
  while (at < bytes.size() && bytes[at] != '\n') {
    size_t end = bytes.find('\n', at);
    out.symbols.push_back({bytes.substr(at + 1, end - at - 1), static_cast<Symbol::Kind>(bytes[at])});
    at = end + 1;
  }
  out.object = bytes.substr(at + 1);
  return out;
}

std::vector<Symbol> defined_symbols(const llvm::Module& module) {
  std::vector<Symbol> out;
  auto add = [&](const llvm::GlobalValue& value, Symbol::Kind kind) {
    if (!value.isDeclaration() && !value.hasLocalLinkage()) out.push_back({value.getName().str(), kind});
  };
  for (const llvm::Function& function : module) add(function, is_packed(function) ? Symbol::Packed : Symbol::Plain);
  for (const llvm::GlobalVariable& variable : module.globals()) add(variable, Symbol::Data);
  return out;
}

std::vector<Unit> compile_units(const NamedFunctions& functions, const Machine& machine, const std::string& entry) {
  initialize_llvm();
  std::vector<NamedFunctions> parts = group(functions);
  if (parts.empty()) parts.emplace_back();  // a library without functions is one too
  std::vector<Unit> out(parts.size());
  std::atomic<size_t> done{0};
  run_tasks(parts.size(), compile_threads(), [&](size_t i) {
    out[i] = compile(parts[i], machine, defines(parts[i], entry) ? entry : "");
    report_progress(++done, parts.size(), "kernels");
  });
  return out;
}

}  // namespace tessera::codegen

#include "kernel/external.h"

#include "relay/walk.h"
#include "runtime/external/const_loader.h"
#include "runtime/registry.h"
#include "tir/attrs.h"

namespace tessera::kernel {
namespace {

/// The target of an external generator is the current one while it runs.
class TargetScope {
 public:
  TargetScope(const std::string& compiler, const Array<Target>& targets) {
    for (const Target& target : targets)
      if (!entered_ && target->kind->name == compiler) {
        Target::enter(target);
        entered_ = true;
      }
  }
  ~TargetScope() {
    if (entered_) Target::exit();
  }
  TargetScope(const TargetScope&) = delete;
  TargetScope& operator=(const TargetScope&) = delete;

 private:
  bool entered_ = false;
};

[[noreturn]] void throw_no_generator(const std::string& compiler) {
  std::string known;
  for (const std::string& name : global_names()) {
    const bool is_generator = name.starts_with("relay.ext.") && name.find('.', 10) == name.npos;
    if (is_generator) known += (known.empty() ? "" : ", ") + name.substr(10);
  }
  throw Error(ValueError) << "no external code generator is called \"" << compiler << "\": relay.ext." << compiler
                          << " is not registered. There are " << (known.empty() ? "none" : known)
                          << "; register yours with tvm.register_func, or leave the partitioning out";
}

/// A hook that gives loops; that of a UMA backend, which may have a generator of C as well, comes after the generator.
PackedFunc hook_of(const std::string& compiler) {
  PackedFunc hook = find_global("relay.ext." + compiler + ".relay_to_tir");
  if (hook || find_global("relay.ext." + compiler)) return hook;
  return find_global("relay.ext.uma." + compiler + ".relay_to_tir");
}

GlobalVar named(const std::string& symbol) {
  GlobalVarNode var;
  var.name_hint = String(symbol);
  return make(std::move(var));
}

/// What the hook gives for a function alone in a module.
Map<String, PrimFunc> programs_of(const PackedFunc& hook, const relay::Function& function, const std::string& symbol) {
  IRModule mod;
  mod.update(named(symbol), function);
  ObjectRef made = hook(mod).to<ObjectRef>();
  Map<String, PrimFunc> out;
  if (made.as<PrimFuncNode>()) {
    out.set(String(symbol), downcast<PrimFunc>(made));
  } else if (made.as<IRModuleNode>()) {
    for (const auto& [var, program] : downcast<IRModule>(made).sorted_functions())
      if (program.as<PrimFuncNode>()) out.set(var->name_hint, downcast<PrimFunc>(program));
  }
  if (!out.count(String(symbol)))
    throw Error(TypeError) << "relay_to_tir gave no PrimFunc for " << symbol
                           << "; return one, or a module that has one of that name";
  return out;
}

/// The constants of a function by v0.10's names, which generators of C source use: <symbol>_const_0, ...
Map<String, NDArray> constants_of(const PackedFunc& updater, const relay::Function& function,
                                  const std::string& symbol) {
  if (updater) return updater(function, symbol).to<Map<String, NDArray>>();
  Map<String, NDArray> out;
  relay::post_order(function, [&](const relay::Expr& expr) {
    if (auto* constant = expr.as<relay::Constant>())
      out.set(String(symbol + "_const_" + std::to_string(out.size())), constant->data);
  });
  return out;
}

}  // namespace

std::string external_compiler(const relay::Function& function) {
  String compiler = downcast_or_null<String>(function->attrs.get_attr(relay::attr::kCompiler));
  return compiler && compiler != "default" ? compiler.str() : "";
}

ExternalCode compile_external(const relay::Function& function, const std::string& symbol,
                              const Array<Target>& targets) {
  ExternalCode out;
  out.compiler = external_compiler(function);
  TargetScope scope(out.compiler, targets);
  relay::FunctionNode named_node(*function.get());
  named_node.attrs = named_node.attrs.with(attr::kGlobalSymbol, String(symbol));
  relay::Function named_function(make(std::move(named_node)));
  if (PackedFunc hook = hook_of(out.compiler)) {
    out.programs = programs_of(hook, named_function, symbol);
    return out;
  }
  PackedFunc generate = find_global("relay.ext." + out.compiler);
  if (!generate) throw_no_generator(out.compiler);
  Any made = generate(named_function);
  if (made.code() == kTesseraNull)
    throw Error(TypeError) << "relay.ext." << out.compiler << " gave nothing for " << symbol
                           << "; it has to return a runtime module";
  out.module = made.to<Module>();
  out.constants = constants_of(find_global("relay.ext." + out.compiler + ".constant_updater"), named_function, symbol);
  return out;
}

Module with_external(const Module& library, const std::vector<ExternalCode>& external) {
  std::vector<Module> modules;
  LateConstants needed;
  for (const ExternalCode& code : external) {
    if (!code.module) continue;
    modules.push_back(code.module);
    PackedFunc symbol = code.module.get_function("get_symbol"), names = code.module.get_function("get_const_vars");
    if (!symbol || !names) continue;
    Array<String> wanted = names().to<Array<String>>();
    if (wanted.empty()) continue;
    for (const String& name : wanted) {
      if (!code.constants.count(name))
        throw Error(ValueError) << "code of relay.ext." << code.compiler << " asks for the constant " << name
                                << ", which its function does not have; relay.ext." << code.compiler
                                << ".constant_updater can give it";
      needed.values.set(name, code.constants[name]);
    }
    needed.names.set(symbol().to<String>(), wanted);
  }
  if (modules.empty()) return library;
  Module root = needed.names.empty() ? library : make_const_loader(std::move(needed));
  if (!root.same_as(library)) root.import_module(library);
  for (const Module& module : modules) root.import_module(module);
  return root;
}

}  // namespace tessera::kernel

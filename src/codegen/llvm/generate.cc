#include "codegen/llvm/generate.h"

#include "codegen/llvm/codegen.h"
#include "codegen/llvm/context.h"
#include "codegen/llvm/machine/needed_features.h"
#include "codegen/schedule_rule_symbol.h"
#include "runtime/cpu/features.h"

namespace tessera::codegen {
namespace {

void add_text(llvm::Module& module, const std::string& symbol, const std::string& text) {
  auto* data = llvm::ConstantDataArray::getString(module.getContext(), text);
  new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::WeakAnyLinkage, data, symbol);
}

void record_target(llvm::Module& module, const llvm::TargetMachine& target, const Machine& machine) {
  module.addModuleFlag(llvm::Module::Warning, kTargetFlag, llvm::MDString::get(module.getContext(), machine.text));
  std::string features = needed_features(module, target, machine);
  if (!features.empty()) add_text(module, cpu_features_symbol(features), features);
}

void record_rules(llvm::Module& module, const NamedFunctions& functions) {
  for (const auto& [var, function] : functions) {
    const std::string name(var->name_hint);
    if (ObjectRef rule = function->attrs.get_attr(kScheduleRule))
      add_text(module, kScheduleRuleSymbol + name, downcast<String>(rule).str());
    ObjectRef plans = function->attrs.get_attr(kSchedulePlans);
    if (!plans) continue;
    std::string lines;
    for (const String& plan : downcast<Array<String>>(plans)) lines += plan.str() + "\n";
    add_text(module, kSchedulePlansSymbol + name, lines);
  }
}

}  // namespace

OwnedModule generate_llvm(const NamedFunctions& functions, const Machine& machine, const std::string& entry) {
  llvm::TargetMachine& target = target_machine_of_thread(machine);
  OwnedModule out{make_context(), nullptr};
  {
    CodeGen codegen(*out.context, target, machine, "tessera");
    for (const auto& [var, function] : functions) codegen.declare(var, function);
    for (const auto& [var, function] : functions) codegen.define(var);
    if (!entry.empty()) codegen.set_entry(entry);
    out.module = codegen.finish();
  }
  record_target(*out.module, target, machine);
  record_rules(*out.module, functions);
  verify(*out.module);
  optimize(*out.module, target, machine);
  return out;
}

}  // namespace tessera::codegen

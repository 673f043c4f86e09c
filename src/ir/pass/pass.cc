// Passes and sequences of passes, and how Python makes and runs them.

#include "ir/pass/pass.h"

#include <cstdio>

#include "ir/pass/pass_scope.h"
#include "ir/pass/table.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// A pass named in `required`: a registered constructor by that name, alone or in one of the rooms' namespaces.
Pass find_pass(const String& name) {
  for (std::string prefix : {"", "tir.transform.", "relay._transform.", "transform."}) {
    if (PackedFunc make_pass = find_pass_constructor(prefix, name.str())) return make_pass().to<Pass>();
  }
  throw Error(ValueError) << "no pass named " << name << " is registered, but another pass requires it";
}

IRModule run_sequence(const SequentialNode* sequence, IRModule mod, const PassContext& context) {
  for (const Pass& pass : sequence->passes) {
    const PassInfo& info = pass->pass_info;
    if (!context.pass_enabled(info)) continue;
    for (const String& name : info->required) mod = find_pass(name)(std::move(mod), context);
    mod = pass(std::move(mod), context);
  }
  return mod;
}

Pass sequence_of(Array<Pass> passes, int opt_level, String name, Array<String> required) {
  return sequential(std::move(passes), make_pass_info(opt_level, std::move(name), std::move(required)));
}

Pass module_pass_of(PackedFunc function, PassInfo info) {
  return module_pass(std::move(info), [function](IRModule mod, const PassContext& context) -> IRModule {
    Any out = function(mod, context);
    if (out.is_null()) throw Error(TypeError) << "a module pass returned None; it has to return the module";
    return out.to<IRModule>();
  });
}

}  // namespace

PassInfo make_pass_info(int opt_level, String name, Array<String> required, bool traceable) {
  return make(PassInfoNode{
      .opt_level = opt_level, .name = std::move(name), .required = std::move(required), .traceable = traceable});
}

IRModule Pass::operator()(IRModule mod, const PassContext& context) const {
  const PassInfo& info = (*this)->pass_info;
  if (!mod) throw Error(TypeError) << info->name << ": expected an IRModule, got None";
  PassScope scope;
  if (!context.before_pass(mod, info)) return mod;
  IRModule out = (*this)->run(std::move(mod), context);
  context.after_pass(out, info);
  return out;
}

Pass module_pass(PassInfo info, std::function<IRModule(IRModule, const PassContext&)> run) {
  ModulePassNode node;
  node.pass_info = std::move(info);
  node.run = std::move(run);
  return Ref<PassNode>(make(std::move(node)));
}

Pass module_pass(String name, std::function<IRModule(IRModule)> run) {
  return module_pass(make_pass_info(0, std::move(name)),
                     [run](IRModule mod, const PassContext&) { return run(std::move(mod)); });
}

Pass sequential(Array<Pass> passes, PassInfo info) {
  SequentialNode node;
  node.pass_info = std::move(info);
  node.passes = std::move(passes);
  Ref<SequentialNode> out = make(std::move(node));
  out.edit()->run = [sequence = out.get()](IRModule mod, const PassContext& context) {
    return run_sequence(sequence, std::move(mod), context);
  };
  return Ref<PassNode>(out);
}
Pass sequential(Array<Pass> passes) { return sequential(std::move(passes), make_pass_info(0, "sequential")); }

Pass print_ir(String header, bool show_meta_data) {
  return module_pass("PrintIR", [header, show_meta_data](IRModule mod) {
    std::string text = "PrintIR(" + header.str() + "):\n" + to_text(mod) + "\n";
    (void)show_meta_data;  // the text form has no metadata section of its own yet
    std::fputs(text.c_str(), stderr);
    return mod;
  });
}

static Globals pass_globals{
    {"transform.PassInfo", [](int opt_level, String name, Array<String> required,
                              bool traceable) { return make_pass_info(opt_level, name, required, traceable); }},
    {"transform.Info", [](Pass pass) { return pass->pass_info; }},
    {"transform.MakeModulePass", module_pass_of},
    {"transform.RunPass", [](Pass pass, IRModule mod) { return pass(mod); }},
    {"transform.Sequential", sequence_of},
    {"transform.PrintIR", print_ir},
    {"transform.PassContext",
     [](int opt_level, Array<String> required, Array<String> disabled, Array<PassInstrument> instruments,
        Map<String, ObjectRef> config) {
       return PassContext::create({.opt_level = opt_level,
                                   .required_pass = required,
                                   .disabled_pass = disabled,
                                   .config = config,
                                   .instruments = instruments});
     }},
    {"transform.EnterPassContext", [](PassContext context) { context.enter(); }},
    {"transform.ExitPassContext", [](PassContext context) { context.exit(); }},
    {"transform.GetCurrentPassContext", [] { return PassContext::current(); }},
    {"transform.OverrideInstruments",
     [](PassContext context, Array<PassInstrument> instruments) { context.override_instruments(instruments); }},
    {"transform.ListConfigs",
     [] {
       Map<String, Map<String, String>> out;
       for (const ConfigKey* key : all_config_keys()) out.set(key->name, {{"type", key->type_key}});
       return out;
     }},
};

}  // namespace tessera

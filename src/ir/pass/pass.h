#pragma once
// Passes over modules, and the context they run in: options, required and disabled passes, instruments.

#include <functional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "runtime/packed_func.h"

namespace tessera {

/// What is known of a pass before it runs. `required` names passes that a Sequential runs just before it.
struct PassInfoNode : Object {
  int32_t opt_level = 0;
  String name;
  Array<String> required;
  bool traceable = false;
  static constexpr NodeInfo info{"transform.PassInfo", &Object::info};
  static void fields(auto f) {
    f("opt_level", &PassInfoNode::opt_level);
    f("name", &PassInfoNode::name);
    f("required", &PassInfoNode::required);
    f("traceable", &PassInfoNode::traceable);
  }
};
using PassInfo = Ref<PassInfoNode>;
PassInfo make_pass_info(int opt_level, String name, Array<String> required = {}, bool traceable = false);

/// Is told when a context is entered and left and before and after each pass, and may keep a pass from running.
/// Callbacks that are not set do nothing.
struct PassInstrumentNode : Object {
  String name;
  std::function<void()> enter_pass_ctx, exit_pass_ctx;
  std::function<bool(const IRModule&, const PassInfo&)> should_run;
  std::function<void(const IRModule&, const PassInfo&)> run_before_pass, run_after_pass;
  static constexpr NodeInfo info{"instrument.PassInstrument", &Object::info, Role::Identity};
  static void fields(auto f) { f("name", &PassInstrumentNode::name); }
};
using PassInstrument = Ref<PassInstrumentNode>;

/// Changes on purpose: instruments are replaced in place by `override_instruments`.
struct PassContextNode : Object {
  int32_t opt_level = 2;
  Array<String> required_pass, disabled_pass;
  Map<String, ObjectRef> config;  // checked against the registered keys when the context is made
  Array<PassInstrument> instruments;
  static constexpr NodeInfo info{"transform.PassContext", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("opt_level", &PassContextNode::opt_level);
    f("required_pass", &PassContextNode::required_pass);
    f("disabled_pass", &PassContextNode::disabled_pass);
    f("config", &PassContextNode::config);
    f("instruments", &PassContextNode::instruments);
  }
};

class PassContext : public Ref<PassContextNode> {
 public:
  using Ref::Ref;
  PassContext(const Ref<PassContextNode>& ref) : Ref(ref) {}
  /// A context with default options and no instruments.
  PassContext() : Ref(make(PassContextNode{})) {}
  /// Checks `node.config`; throws AttributeError on an unknown key or a value of the wrong type.
  static PassContext create(PassContextNode node);
  /// The innermost context entered by this thread, or this thread's default one.
  static PassContext current();

  /// Entering tells the instruments. When one of them throws, those already entered are left again, all instruments are
  /// dropped and the error goes on.
  void enter() const;
  void exit() const;
  void override_instruments(Array<PassInstrument> instruments) const;

  bool pass_enabled(const PassInfo& info) const;
  bool before_pass(const IRModule& mod, const PassInfo& info) const;  // false: the pass is to be skipped
  void after_pass(const IRModule& mod, const PassInfo& info) const;

  /// The option under `key`, empty when it was not given.
  ObjectRef get_config(const String& key) const;
  bool flag(const String& key, bool otherwise = false) const;
  /// A structured option: the one given, or the struct's defaults.
  template <class T>
  Ref<T> options(const String& key) const {
    Ref<T> given = downcast<Ref<T>>(get_config(key));
    return given ? given : make(T{});
  }
};

/// Enters a context for the life of the guard.
class WithPassContext {
 public:
  explicit WithPassContext(PassContext context) : context_(std::move(context)) { context_.enter(); }
  ~WithPassContext() noexcept(false) { context_.exit(); }
  WithPassContext(const WithPassContext&) = delete;
  WithPassContext& operator=(const WithPassContext&) = delete;

 private:
  PassContext context_;
};

struct PassNode : Object {
  PassInfo pass_info;
  std::function<IRModule(IRModule, const PassContext&)> run;
  static constexpr NodeInfo info{"transform.Pass", &Object::info, Role::Identity};
  static void fields(auto f) { f("pass_info", &PassNode::pass_info); }
};

/// A function from module to module. The module it is given is not changed.
class Pass : public Ref<PassNode> {
 public:
  using Ref::Ref;
  Pass() = default;
  Pass(const Ref<PassNode>& ref) : Ref(ref) {}
  IRModule operator()(IRModule mod) const { return (*this)(std::move(mod), PassContext::current()); }
  IRModule operator()(IRModule mod, const PassContext& context) const;
};

struct ModulePassNode : PassNode {
  static constexpr NodeInfo info{"transform.ModulePass", &PassNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Runs its passes in order: those whose level the context reaches or that it requires, without those it disables.
struct SequentialNode : PassNode {
  Array<Pass> passes;
  static constexpr NodeInfo info{"transform.Sequential", &PassNode::info, Role::Identity};
  static void fields(auto f) { f("passes", &SequentialNode::passes); }
};

Pass module_pass(PassInfo info, std::function<IRModule(IRModule, const PassContext&)> run);
Pass module_pass(String name, std::function<IRModule(IRModule)> run);
Pass sequential(Array<Pass> passes, PassInfo info);
Pass sequential(Array<Pass> passes);
/// Writes the module's text to the standard error stream and hands it on.
Pass print_ir(String header, bool show_meta_data);

// ---- configuration keys ------------------------------------------------------------------------------------

/// One key that a PassContext's config may hold: the type key of its value, and the check that also turns what a user
/// wrote (an int for a flag, a dict for a struct) into it. The check returns an empty reference for a wrong value.
struct ConfigKey {
  std::string name, type_key;
  std::function<ObjectRef(const ObjectRef&)> check;
};
ConfigKey config_flag(std::string name);
ConfigKey config_int(std::string name);
ConfigKey config_string(std::string name);
ConfigKey config_array(std::string name);
ConfigKey config_struct(std::string name, const TypeInfo* type);
template <class T>
ConfigKey config_struct(std::string name) {
  return config_struct(std::move(name), &type_of<T>);
}

/// For use at namespace scope: `static ConfigKeys keys{config_flag("tir.noalias"), ...};`
struct ConfigKeys {
  ConfigKeys(std::initializer_list<ConfigKey> keys);
};
const ConfigKey* find_config_key(std::string_view name);
std::vector<const ConfigKey*> all_config_keys();  // by name

}  // namespace tessera

// The context passes run in: who is enabled, who is told.

#include <algorithm>

#include "ir/pass/names.h"
#include "ir/pass/pass.h"

namespace tessera {
namespace {

struct Stack {
  PassContext fallback;
  std::vector<PassContext> entered;
};
Stack& stack() {
  thread_local Stack contexts;
  return contexts;
}

bool contains(const Array<String>& names, const PassInfo& info) {
  return std::any_of(names.begin(), names.end(), [&](const String& name) { return names_pass(name, info->name); });
}

[[noreturn]] void throw_unknown_key(const String& name) {
  std::string have;
  for (const ConfigKey* key : all_config_keys()) have += (have.empty() ? "" : ", ") + key->name;
  throw Error(AttributeError) << "Invalid config option '" << name << "' candidates are: " << have;
}

void enter_all(const PassContextNode* context) {
  std::vector<PassInstrument> entered;
  try {
    for (const PassInstrument& instrument : context->instruments) {
      if (instrument->enter_pass_ctx) instrument->enter_pass_ctx();
      entered.push_back(instrument);
    }
  } catch (...) {
    const_cast<PassContextNode*>(context)->instruments = {};
    for (const PassInstrument& instrument : entered)
      if (instrument->exit_pass_ctx) instrument->exit_pass_ctx();
    throw;
  }
}

void exit_all(const PassContextNode* context) {
  try {
    for (const PassInstrument& instrument : context->instruments)
      if (instrument->exit_pass_ctx) instrument->exit_pass_ctx();
  } catch (...) {
    const_cast<PassContextNode*>(context)->instruments = {};
    throw;
  }
}

}  // namespace

PassContext PassContext::create(PassContextNode node) {
  Map<String, ObjectRef> config;
  for (const auto& [name, value] : node.config) {
    const ConfigKey* key = find_config_key(std::string_view(name));
    if (!key) throw_unknown_key(name);
    ObjectRef checked = key->check(value);
    if (!checked)
      throw Error(AttributeError) << "expect config " << name << " to have type " << key->type_key
                                  << ", but instead get " << (value ? value->type_key() : "None");
    config.set(name, checked);
  }
  node.config = config;
  return make(std::move(node));
}

PassContext PassContext::current() { return stack().entered.empty() ? stack().fallback : stack().entered.back(); }

void PassContext::enter() const {
  stack().entered.push_back(*this);
  try {
    enter_all(get());
  } catch (...) {
    stack().entered.pop_back();
    throw;
  }
}

void PassContext::exit() const {
  auto& entered = stack().entered;
  if (entered.empty() || !entered.back().same_as(*this))
    throw Error(RuntimeError) << "PassContext: the context left is not the one entered last in this thread";
  entered.pop_back();
  exit_all(get());
}

void PassContext::override_instruments(Array<PassInstrument> instruments) const {
  exit_all(get());
  edit()->instruments = std::move(instruments);
  enter_all(get());
}

bool PassContext::pass_enabled(const PassInfo& info) const {
  if (contains((*this)->disabled_pass, info)) return false;
  if (contains((*this)->required_pass, info)) return true;
  return (*this)->opt_level >= info->opt_level;
}

bool PassContext::before_pass(const IRModule& mod, const PassInfo& info) const {
  Array<PassInstrument> instruments = (*this)->instruments;
  if (!contains((*this)->required_pass, info)) {
    bool should_run = true;
    for (const PassInstrument& instrument : instruments)
      if (instrument->should_run && !instrument->should_run(mod, info)) should_run = false;
    if (!should_run) return false;
  }
  for (const PassInstrument& instrument : instruments)
    if (instrument->run_before_pass) instrument->run_before_pass(mod, info);
  return true;
}

void PassContext::after_pass(const IRModule& mod, const PassInfo& info) const {
  Array<PassInstrument> instruments = (*this)->instruments;
  for (const PassInstrument& instrument : instruments)
    if (instrument->run_after_pass) instrument->run_after_pass(mod, info);
}

ObjectRef PassContext::get_config(const String& key) const {
  ICHECK(find_config_key(std::string_view(key))) << "config key " << key << " is not registered";
  return (*this)->config.get_or_null(key);
}

bool PassContext::flag(const String& key, bool otherwise) const {
  ObjectRef value = get_config(key);
  return value ? Any::of_object(value.get()).to<bool>() : otherwise;
}

}  // namespace tessera

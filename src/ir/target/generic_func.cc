#include "ir/target/generic_func.h"

#include <mutex>

#include "runtime/extension.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

register_types<GenericFuncNode> generic_func_types;

std::string title(const GenericFunc& function) { return function->name.empty() ? "this function" : function->name; }

GenericFunc make_generic(const std::string& name) {
  GenericFuncNode node;
  node.name = name;
  return make(std::move(node));
}

void set_default(GenericFunc function, PackedFunc value, bool allow_override) {
  if (function->fallback && !allow_override)
    throw Error(ValueError) << title(function) << " has a default already; pass allow_override=True";
  if (function->fallback) note_extension();
  function.edit()->fallback = std::move(value);
}

void add(GenericFunc function, PackedFunc value, Array<String> keys, bool allow_override) {
  note_extension();
  for (const String& key : keys) {
    PackedFunc& slot = function.edit()->by_key[key.str()];
    if (slot && !allow_override)
      throw Error(ValueError) << title(function) << " is registered already for \"" << key << "\"";
    slot = value;
  }
}

}  // namespace

GenericFunc global_generic_func(const std::string& name) {
  static std::mutex mutex;
  static auto& table = *new std::unordered_map<std::string, GenericFunc>();
  std::lock_guard lock(mutex);
  GenericFunc& entry = table[name];
  if (!entry) entry = make_generic(name);
  return entry;
}

PackedFunc implementation_for(const GenericFunc& function, const Target& target) {
  if (target)
    for (const String& key : target->keys)
      if (auto it = function->by_key.find(key.str()); it != function->by_key.end()) return it->second;
  if (!function->fallback)
    throw Error(ValueError) << title(function) << " has no default and none for target " << to_text(target);
  return function->fallback;
}

static Globals generic_func_globals{
    {"target.GenericFuncCreate", [] { return make_generic(""); }},
    {"target.GenericFuncGetGlobal", [](std::string name) { return global_generic_func(name); }},
    {"target.GenericFuncGetName", [](GenericFunc function) { return String(function->name); }},
    {"target.GenericFuncSetDefault", set_default},
    {"target.GenericFuncRegisterFunc", add},
    {"target.GenericFuncGetPackedFunc",
     [](GenericFunc function) { return implementation_for(function, Target::current()); }},
    {"target.GenericFuncCallFunc", PackedFunc([](Args args, Any* result) {
       if (args.count < 1) throw_argument_count("target.GenericFuncCallFunc", 1, args.count);
       PackedFunc chosen = implementation_for(args[0].to<GenericFunc>(), Target::current());
       chosen.call_packed({args.values + 1, args.codes + 1, args.count - 1}, result);
     })},
};

}  // namespace tessera

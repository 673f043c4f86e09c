// Functions, their attributes and modules by name, as Python calls them.

#include "ir/module_types.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// A copy of `function`, whatever its kind, with other attributes.
BaseFunc with_attrs(const BaseFunc& function, DictAttrs attrs) {
  BaseFunc copy(static_cast<const BaseFuncNode*>(function->type()->copy(function.get())));
  copy.edit()->attrs = std::move(attrs);
  return copy;
}

IRModule new_module(Map<GlobalVar, BaseFunc> functions, const Map<GlobalTypeVar, TypeData>& type_definitions,
                    const ObjectRef& attrs) {
  IRModule mod;
  for (const auto& [var, function] : functions) {
    if (mod.find_global_var(var->name_hint))
      throw Error(ValueError) << "the module has two functions named \"" << var->name_hint << "\"";
    mod.update(var, function);
  }
  for (const auto& [var, data] : type_definitions) update_type(mod, var, data);
  if (auto* dict = attrs.as<DictAttrsNode>()) mod.edit()->attrs = DictAttrs(dict);
  if (auto* map = attrs.as<MapNode>()) mod.edit()->attrs = DictAttrs(Map<String, ObjectRef>(map));
  return mod;
}

/// `name_or_var` as a global of `mod`: a name is looked up, or made where there is none and `create` is set.
GlobalVar global_of(const IRModule& mod, const AnyView& name_or_var, bool create) {
  if (auto* var = cast_or_null<GlobalVarNode>(name_or_var.object())) return GlobalVar(var);
  auto name = name_or_var.to<String>();
  if (!create) return mod.get_global_var(name);
  if (GlobalVar known = mod.find_global_var(name)) return known;
  GlobalVarNode var;
  var.name_hint = name;
  return make(std::move(var));
}

void add_function(const IRModule& mod, const AnyView& name_or_var, const BaseFunc& function, bool replace) {
  GlobalVar var = global_of(mod, name_or_var, true);
  if (!function) throw Error(TypeError) << "a module holds functions; \"" << var->name_hint << "\" was given None";
  if (!replace && mod.find_global_var(var->name_hint))
    throw Error(ValueError) << "the module has a function \"" << var->name_hint << "\" already";
  mod.update(var, function);
}

BaseFunc lookup(const IRModule& mod, const AnyView& name_or_var) {
  GlobalVar var = global_of(mod, name_or_var, false);
  if (BaseFunc found = mod->functions.get_or_null(var)) return found;
  throw Error(ValueError) << "no function of the module belongs to the GlobalVar \"" << var->name_hint
                          << "\"; look it up by name, or with mod.get_global_var";
}

Array<GlobalVar> global_vars(const IRModule& mod) {
  Array<GlobalVar> out;
  for (const auto& [var, _] : mod->functions) out.push_back(var);
  return out;
}

void add_type(const IRModule& mod, const GlobalTypeVar& var, const TypeData& data, bool replace) {
  if (!replace && var && find_type_var(mod, var->name_hint))
    throw Error(ValueError) << "the module has a data type \"" << var->name_hint << "\" already";
  update_type(mod, var, data);
}

TypeData lookup_type_by(const IRModule& mod, const AnyView& name_or_var) {
  if (auto* var = cast_or_null<GlobalTypeVarNode>(name_or_var.object())) return lookup_type(mod, GlobalTypeVar(var));
  return lookup_type(mod, get_type_var(mod, name_or_var.to<String>()));
}

Array<GlobalTypeVar> type_vars(const IRModule& mod) {
  Array<GlobalTypeVar> out;
  for (const auto& [var, _] : mod->type_definitions) out.push_back(downcast<GlobalTypeVar>(var));
  return out;
}

IRModule module_from_expr(const BaseFunc& function, const Map<GlobalVar, BaseFunc>& others,
                          const Map<GlobalTypeVar, TypeData>& types) {
  if (!function) throw Error(TypeError) << "IRModule.from_expr needs a function";
  IRModule mod(others.defined() ? others : Map<GlobalVar, BaseFunc>());
  for (const auto& [var, data] : types) update_type(mod, var, data);
  ObjectRef symbol = function->attrs.get_attr(attr::kGlobalSymbol);
  String name = symbol ? downcast<String>(symbol) : String("main");
  mod.update(global_of(mod, AnyView(Any(name)), true), function);
  return mod;
}

Globals module_globals{
    {"ir.IRModule", new_module},
    {"ir.Module_Add", add_function},
    {"ir.Module_GetGlobalVar", [](IRModule mod, String name) { return mod.get_global_var(name); }},
    {"ir.Module_ContainGlobalVar", [](IRModule mod, String name) { return mod.find_global_var(name).defined(); }},
    {"ir.Module_GetGlobalVars", global_vars},
    {"ir.Module_GetGlobalTypeVars", type_vars},
    {"ir.Module_GetGlobalTypeVar", [](IRModule mod, String name) { return get_type_var(mod, name); }},
    {"ir.Module_ContainGlobalTypeVar", [](IRModule mod, String name) { return find_type_var(mod, name).defined(); }},
    {"ir.Module_AddDef", add_type},
    {"ir.Module_LookupDef", lookup_type_by},
    {"ir.Module_LookupTag", [](IRModule mod, int tag) { return constructor_with_tag(mod, tag); }},
    {"ir.Module_Lookup", lookup},
    {"ir.Module_Lookup_str", lookup},
    {"ir.Module_Remove", [](IRModule mod, AnyView key) { mod.remove(global_of(mod, key, false)); }},
    {"ir.Module_Update", update_all},
    {"ir.Module_UpdateFunction", [](IRModule mod, GlobalVar var, BaseFunc function) { mod.update(var, function); }},
    {"ir.Module_FromExpr", module_from_expr},
    {"ir.Module_Copy", [](IRModule mod) { return mod.copy(); }},
    {"ir.Module_WithAttr",
     [](IRModule mod, String key, Any value) {
       IRModule out = mod.copy();
       out.edit()->attrs = mod->attrs.with(key, box(value));
       return out;
     }},
    {"ir.Module_GetAttr", [](IRModule mod, String key) { return mod->attrs.get_attr(key); }},
    {"ir.BaseFunc_Attrs", [](BaseFunc function) { return function->attrs; }},
    {"ir.BaseFuncWithAttr", [](BaseFunc function, String key,
                               Any value) { return with_attrs(function, function->attrs.with(key, box(value))); }},
    {"ir.BaseFuncWithoutAttr",
     [](BaseFunc function, String key) { return with_attrs(function, function->attrs.without(key)); }},
    {"ir.BaseFuncCopy", [](BaseFunc function) { return with_attrs(function, function->attrs); }},
    {"ir.DictAttrs", [](Map<String, ObjectRef> dict) { return DictAttrs(dict); }},
    {"ir.DictAttrsGetDict", [](DictAttrs attrs) { return attrs->dict; }},
};

}  // namespace
}  // namespace tessera

#include "ir/module_types.h"

#include <algorithm>

namespace tessera {

GlobalTypeVar find_type_var(const IRModule& mod, const String& name) {
  for (const auto& [key, _] : mod->type_definitions)
    if (auto var = downcast_or_null<GlobalTypeVar>(key); var && var->name_hint == name) return var;
  return nullptr;
}

GlobalTypeVar get_type_var(const IRModule& mod, const String& name) {
  if (GlobalTypeVar found = find_type_var(mod, name)) return found;
  std::string names;
  for (const TypeData& data : sorted_types(mod)) names += (names.empty() ? "" : ", ") + data->header->name_hint.str();
  throw Error(ValueError) << "no data type \"" << name << "\" in the module; it has "
                          << (names.empty() ? "none" : names);
}

TypeData find_type(const IRModule& mod, const GlobalTypeVar& var) {
  return downcast_or_null<TypeData>(mod->type_definitions.get_or_null(var));
}

TypeData lookup_type(const IRModule& mod, const GlobalTypeVar& var) {
  if (TypeData found = find_type(mod, var)) return found;
  throw Error(ValueError) << "the data type \"" << (var ? var->name_hint : String("(nullptr)"))
                          << "\" has no definition in this module";
}

void update_type(const IRModule& mod, const GlobalTypeVar& var, const TypeData& data) {
  if (!var || !data) throw Error(TypeError) << "a type definition needs a GlobalTypeVar and a TypeData";
  // The first byte of a tag comes from the name of the type, so that tags tell most types apart as well.
  uint32_t hash = 2166136261u;
  for (unsigned char c : var->name_hint.str()) hash = (hash ^ c) * 16777619u;
  auto prefix = static_cast<int32_t>((hash & 0x7f) << 24);
  for (size_t i = 0; i < data->constructors.size(); ++i) data->constructors[i]->tag = prefix | static_cast<int32_t>(i);
  GlobalTypeVar known = find_type_var(mod, var->name_hint);
  IRModuleNode* node = mod.edit();
  if (known && !known.same_as(var)) node->type_definitions.erase(known);
  node->type_definitions.set(var, data);
}

Constructor constructor_with_tag(const IRModule& mod, int32_t tag) {
  for (const TypeData& data : sorted_types(mod))
    for (const Constructor& constructor : data->constructors)
      if (constructor->tag == tag) return constructor;
  throw Error(ValueError) << "There is no constructor with the tag " << tag;
}

std::vector<TypeData> sorted_types(const IRModule& mod) {
  std::vector<TypeData> out;
  for (const auto& [_, data] : mod->type_definitions) out.push_back(downcast<TypeData>(data));
  std::sort(out.begin(), out.end(),
            [](const TypeData& a, const TypeData& b) { return a->header->name_hint < b->header->name_hint; });
  return out;
}

void update_all(const IRModule& mod, const IRModule& other) {
  for (const TypeData& data : sorted_types(other))
    if (!find_type(mod, data->header)) update_type(mod, data->header, data);
  mod.update(other);
}

}  // namespace tessera

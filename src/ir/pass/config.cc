// The keys of PassContext options.

#include <map>
#include <mutex>

#include "ir/pass/pass.h"

namespace tessera {
namespace {

std::map<std::string, ConfigKey, std::less<>>& table() {
  static auto* keys = new std::map<std::string, ConfigKey, std::less<>>();
  return *keys;
}

/// Fills a struct's fields from a dictionary; a name the struct does not have is an error that lists those it has.
ObjectRef struct_from_map(const std::string& name, const TypeInfo* type, const MapNode* values) {
  ObjectRef out(type->create());
  for (const auto& [key, value] : values->entries) {
    auto* text = key.as<StringNode>();
    const Field* field = text ? type->find(text->text) : nullptr;
    if (!field) {
      std::string have;
      for (const Field& f : type->fields()) have += (have.empty() ? "" : ", ") + std::string(f.name);
      throw Error(AttributeError) << "config " << name << " has no option " << to_text(key) << "; its options are "
                                  << have;
    }
    set_field(out.edit(), *field, Any::of_object(value.get()));
  }
  return out;
}

}  // namespace

ConfigKey config_int(std::string name) {
  return {std::move(name), "IntImm", [](const ObjectRef& value) -> ObjectRef {
            int64_t ignored;
            return value && number_boxes.unbox_int(value.get(), &ignored) ? value : nullptr;
          }};
}
ConfigKey config_flag(std::string name) { return config_int(std::move(name)); }

ConfigKey config_string(std::string name) {
  return {std::move(name), "runtime.String",
          [](const ObjectRef& value) -> ObjectRef { return value.as<StringNode>() ? value : nullptr; }};
}

ConfigKey config_array(std::string name) {
  return {std::move(name), "Array",
          [](const ObjectRef& value) -> ObjectRef { return value.as<ArrayNode>() ? value : nullptr; }};
}

ConfigKey config_struct(std::string name, const TypeInfo* type) {
  auto check = [name, type](const ObjectRef& value) -> ObjectRef {
    if (value && value->is_a(*type->node)) return value;
    if (auto* map = value.as<MapNode>()) return struct_from_map(name, type, map);
    return nullptr;
  };
  return {std::move(name), type->node->key, check};
}

ConfigKeys::ConfigKeys(std::initializer_list<ConfigKey> keys) {
  for (const ConfigKey& key : keys) {
    bool is_new = table().emplace(key.name, key).second;
    ICHECK(is_new) << "config key " << key.name << " is registered twice";
  }
}

const ConfigKey* find_config_key(std::string_view name) {
  auto found = table().find(name);
  return found == table().end() ? nullptr : &found->second;
}

std::vector<const ConfigKey*> all_config_keys() {
  std::vector<const ConfigKey*> out;
  for (const auto& [name, key] : table()) out.push_back(&key);
  return out;
}

static ConfigKeys keys{config_flag("testing.immutable_module")};

}  // namespace tessera

#include "frontend/torch/json_values.h"

#include "ir/expr.h"
#include "ir/prim/expr.h"

namespace tessera::torch {

void bad_graph(const std::string& what) { throw Error(ValueError) << "the program of PyTorch: " << what; }

ObjectRef find_entry(const ObjectRef& from, const char* key) {
  auto* map = from.as<MapNode>();
  if (!map) bad_graph(std::string("an object with \"") + key + "\" is needed");
  for (const auto& [name, value] : map->entries)
    if (auto* text = name.as<StringNode>(); text && text->text == key) return value;
  return nullptr;
}

std::string text_in(const ObjectRef& value, const char* what) {
  auto* text = value.as<StringNode>();
  if (!text) bad_graph(std::string(what) + " is no text");
  return text->text;
}

std::string text_entry(const ObjectRef& from, const char* key, bool needed) {
  ObjectRef value = find_entry(from, key);
  if (!value && !needed) return "";
  return text_in(value, key);
}

const std::vector<ObjectRef>& list_in(const ObjectRef& value, const char* what) {
  static const std::vector<ObjectRef> none;
  if (!value) return none;
  auto* array = value.as<ArrayNode>();
  if (!array) bad_graph(std::string(what) + " is no list");
  return array->items;
}

ObjectRef needed_entry(const ObjectRef& from, const char* key) {
  ObjectRef out = find_entry(from, key);
  if (!out) bad_graph(std::string("the entry \"") + key + "\" is missing");
  return out;
}

int64_t integer_in(const ObjectRef& value, const char* what) {
  auto* number = value.as<IntImm>();
  if (!number) bad_graph(std::string(what) + " is no integer");
  return number->value;
}

}  // namespace tessera::torch

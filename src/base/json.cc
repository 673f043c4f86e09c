#include "base/json.h"

#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 1000;

ObjectRef from_json(const json& value) {
  switch (value.type()) {
    case json::value_t::object: {
      Map<String, ObjectRef> out;
      for (const auto& [key, item] : value.items()) out.set(String(key), from_json(item));
      return out;
    }
    case json::value_t::array: {
      Array<ObjectRef> out;
      for (const json& item : value) out.push_back(from_json(item));
      return out;
    }
    case json::value_t::string: return String(value.get<std::string>());
    case json::value_t::boolean: return number_boxes.box_bool(value.get<bool>());
    case json::value_t::number_integer: return number_boxes.box_int(value.get<int64_t>());
    case json::value_t::number_unsigned:
      if (value.get<uint64_t>() > INT64_MAX) throw Error(ValueError) << "JSON: the number " << value.dump() << " is too large";
      return number_boxes.box_int(value.get<int64_t>());
    case json::value_t::number_float: return number_boxes.box_float(value.get<double>());
    default: return nullptr;
  }
}

json to_value(const ObjectRef& value) {
  if (!value) return nullptr;
  if (auto* text = value.as<StringNode>()) return text->text;
  if (auto* array = value.as<ArrayNode>()) {
    json out = json::array();
    for (const ObjectRef& item : array->items) out.push_back(to_value(item));
    return out;
  }
  if (auto* map = value.as<MapNode>()) {
    json out = json::object();
    for (const auto& [key, item] : map->entries) {
      auto* name = key.as<StringNode>();
      if (!name) throw Error(TypeError) << "JSON: map keys are strings, not " << key;
      out[name->text] = to_value(item);
    }
    return out;
  }
  int64_t integer;
  double number;
  if (number_boxes.unbox_int && number_boxes.unbox_int(value.get(), &integer)) return integer;
  if (number_boxes.unbox_float && number_boxes.unbox_float(value.get(), &number)) return number;
  throw Error(TypeError) << "JSON: no form for " << value->type_key();
}

}  // namespace

ObjectRef parse_json(std::string_view text) {
  try {
    auto limit_depth = [](int depth, json::parse_event_t, json&) {
      if (depth > kMaxDepth) throw Error(ValueError) << "JSON: nested deeper than " << kMaxDepth << " levels";
      return true;
    };
    return from_json(json::parse(text, limit_depth));
  } catch (const json::exception& error) {
    throw Error(ValueError) << "JSON: " << error.what();
  }
}

std::string to_json(const ObjectRef& value) {
  try {
    return to_value(value).dump();
  } catch (const json::exception& error) {
    throw Error(ValueError) << "JSON: " << error.what();
  }
}

}  // namespace tessera

#include "base/json.h"

#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using nlohmann::json;

constexpr size_t kMaxDepth = 1000;

/// Builds our values while the text is read: no second tree, no recursion, time linear in the text.
class Builder : public json::json_sax_t {
 public:
  ObjectRef result;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(number_boxes.box_bool(value)); }
  bool number_integer(number_integer_t value) override { return add(number_boxes.box_int(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > INT64_MAX) throw Error(ValueError) << "JSON: the number " << value << " is too large";
    return add(number_boxes.box_int(static_cast<int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t&) override { return add(number_boxes.box_float(value)); }
  bool string(string_t& value) override { return add(String(std::move(value))); }
  bool binary(binary_t&) override { return false; }  // not in text
  bool start_object(size_t) override { return open(make(MapNode{})); }
  bool start_array(size_t) override { return open(make(ArrayNode{})); }
  bool key(string_t& name) override {
    open_.back().key = String(std::move(name));
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const json::exception& error) override {
    throw Error(ValueError) << "JSON: " << error.what();
  }

 private:
  struct Level {
    ObjectRef value;
    String key = nullptr;
  };

  bool open(ObjectRef value) {
    if (open_.size() >= kMaxDepth) throw Error(ValueError) << "JSON: nested deeper than " << kMaxDepth << " levels";
    open_.push_back({std::move(value)});
    return true;
  }
  bool close() {
    ObjectRef value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }
  bool add(ObjectRef value) {
    if (open_.empty()) {
      result = std::move(value);
    } else if (auto* map = cast_or_null<MapNode>(open_.back().value.get())) {
      const_cast<MapNode*>(map)->set(open_.back().key, std::move(value));
    } else {
      static_cast<ArrayNode*>(open_.back().value.edit())->items.push_back(std::move(value));
    }
    return true;
  }

  std::vector<Level> open_;
};

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
  Builder builder;
  json::sax_parse(text, &builder);
  return builder.result;
}

std::string to_json(const ObjectRef& value) {
  try {
    return to_value(value).dump();
  } catch (const json::exception& error) {
    throw Error(ValueError) << "JSON: " << error.what();
  }
}

}  // namespace tessera

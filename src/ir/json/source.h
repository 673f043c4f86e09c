#pragma once
// Reading values out of parsed JSON that may be anything: each question is checked, and a wrong answer is an error that
// names the node it was found in.

#include <charconv>

#include "base/json.h"
#include "ir/expr.h"

namespace tessera {

class JsonSource {
 protected:
  int64_t parse_int(const std::string& text, std::string_view what) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      fail("has no integer in " + std::string(what) + ": ", quoted(text));
    return value;
  }
  double parse_double(const std::string& text, std::string_view what) {
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      fail("has no number in " + std::string(what) + ": ", quoted(text));
    return value;
  }

  ObjectRef find(const MapNode* map, const char* key) {  // these maps are small
    for (const auto& [name, value] : map->entries)
      if (static_cast<const StringNode*>(name.get())->text == key) return value;
    return nullptr;
  }
  ObjectRef find(const Ref<MapNode>& map, const char* key) { return find(map.get(), key); }
  ObjectRef member(const MapNode* map, const char* key) {
    ObjectRef value = find(map, key);
    if (!value) fail("has no ", quoted(key));
    return value;
  }
  ObjectRef member(const Ref<MapNode>& map, const char* key) { return member(map.get(), key); }
  Ref<MapNode> as_map(const ObjectRef& value, const char* what) {
    if (!value.as<MapNode>()) fail(std::string("has a wrong kind of value: an object is wanted for "), what);
    return Ref<MapNode>(value.as<MapNode>());
  }
  Ref<ArrayNode> as_array(const ObjectRef& value, const char* what) {
    if (!value.as<ArrayNode>()) fail("has a wrong kind of value: a list is wanted for ", what);
    return Ref<ArrayNode>(value.as<ArrayNode>());
  }
  std::string text_of(const ObjectRef& value, const char* what) {
    if (!value.as<StringNode>()) fail("has a wrong kind of value: a string is wanted for ", what);
    return value.as<StringNode>()->text;
  }
  int64_t as_number(const ObjectRef& value, const char* what) {
    if (!value.as<IntImm>()) fail("has a wrong kind of value: an integer is wanted for ", what);
    return value.as<IntImm>()->value;
  }

  [[noreturn]] void fail(const std::string& what, const std::string& detail = "") {
    throw Error(ValueError) << "load_json: " << (here_ == kNowhere ? "the text" : "node " + std::to_string(here_))
                            << " " << what << detail;
  }

  static constexpr size_t kNowhere = ~size_t{0};
  size_t here_ = kNowhere;  // the node being read, for messages
};

}  // namespace tessera

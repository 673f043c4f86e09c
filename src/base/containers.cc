#include "base/array.h"
#include "base/escape.h"
#include "base/map.h"
#include "base/string.h"

namespace tessera {

String::String(std::string text) : Ref(nullptr) {
  StringNode node;
  node.text = std::move(text);
  *this = String(make(std::move(node)).get());
}

const ArrayNode* empty_array() {
  static const auto* empty = new Ref<ArrayNode>(make(ArrayNode{}));
  return empty->get();
}

const MapNode* empty_map() {
  static const auto* empty = new Ref<MapNode>(make(MapNode{}));
  return empty->get();
}

Bytes::Bytes(std::string data) : Ref(nullptr) {
  BytesNode node;
  node.data = std::move(data);
  *this = Bytes(make(std::move(node)).get());
}

std::string escaped(std::string_view text, std::string_view control_prefix) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += control_prefix;
          out += kHex[(c >> 4) & 15];
          out += kHex[c & 15];
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

std::string quoted(std::string_view text) { return escaped(text, "\\x"); }

size_t MapNode::Hash::operator()(const Object* key) const {
  if (auto* text = cast_or_null<StringNode>(key)) return std::hash<std::string>()(text->text);
  return std::hash<const void*>()(key);
}

bool MapNode::Equal::operator()(const Object* a, const Object* b) const {
  if (a == b) return true;
  auto* x = cast_or_null<StringNode>(a);
  auto* y = cast_or_null<StringNode>(b);
  return x && y && x->text == y->text;
}

const ObjectRef* MapNode::find(const Object* key) const {
  auto it = index_.find(key);
  return it == index_.end() ? nullptr : &entries[it->second].second;
}

void MapNode::set(ObjectRef key, ObjectRef value) {
  auto [it, added] = index_.try_emplace(key.get(), entries.size());
  if (added) {
    entries.emplace_back(std::move(key), std::move(value));
  } else {
    entries[it->second].second = std::move(value);
  }
}

bool MapNode::erase(const Object* key) {
  auto it = index_.find(key);
  if (it == index_.end()) return false;
  size_t position = it->second;
  index_.erase(it);
  entries.erase(entries.begin() + static_cast<long>(position));
  for (auto& [_, at] : index_)
    if (at > position) --at;
  return true;
}

namespace {
register_types<StringNode, BytesNode, ArrayNode, MapNode> containers_types;
}  // namespace

}  // namespace tessera

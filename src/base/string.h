#pragma once
// An immutable counted string. Equality, hash and order are by content.

#include <string>
#include <string_view>

#include "base/object.h"

namespace tessera {

struct StringNode : Object {
  std::string text;
  static constexpr NodeInfo info{"runtime.String", &Object::info};
  static void fields(auto) {}
};

class String : public Ref<StringNode> {
 public:
  using Ref::Ref;
  String() : String(std::string_view()) {}
  String(std::nullptr_t) : Ref(nullptr) {}
  String(std::string text);
  String(std::string_view text) : String(std::string(text)) {}
  String(const char* text) : String(std::string(text)) {}

  const std::string& str() const { return checked()->text; }
  const char* c_str() const { return checked()->text.c_str(); }
  size_t size() const { return checked()->text.size(); }
  bool empty() const { return !node_ || node_->text.empty(); }
  operator std::string_view() const { return node_ ? std::string_view(node_->text) : std::string_view(); }

  friend bool operator==(const String& a, const String& b) { return std::string_view(a) == std::string_view(b); }
  friend bool operator==(const String& a, const char* b) { return std::string_view(a) == b; }
  friend bool operator==(const String& a, const std::string& b) { return std::string_view(a) == b; }
  friend auto operator<=>(const String& a, const String& b) { return std::string_view(a) <=> std::string_view(b); }
  friend std::string operator+(const String& a, std::string_view b) { return std::string(a.str()).append(b); }
};

inline std::string to_text(const String& text) { return std::string(std::string_view(text)); }

/// Raw bytes (a parameter blob, a file); Python sees a bytearray.
struct BytesNode : Object {
  std::string data;
  static constexpr NodeInfo info{"runtime.Bytes", &Object::info};
  static void fields(auto) {}
};
class Bytes : public Ref<BytesNode> {
 public:
  using Ref::Ref;
  explicit Bytes(std::string data);
  const std::string& str() const { return checked()->data; }
};

/// `text` as a quoted literal with \n, \t, \", \\ and \xNN escapes.
std::string quoted(std::string_view text);

}  // namespace tessera

template <>
struct std::hash<tessera::String> {
  size_t operator()(const tessera::String& s) const { return std::hash<std::string_view>()(s); }
};

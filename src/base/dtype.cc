#include "base/dtype.h"

#include <charconv>

#include "base/custom_type.h"
#include "base/error.h"

namespace tessera {
namespace {

struct Name {
  std::string_view text;
  int code;
  int default_bits;  // for a name given without bits; 0: bits are required
};

// "bfloat" must be tried before "float" is, and "uint" before "int".
constexpr Name kNames[] = {{"bfloat", DataType::kBFloat, 16},
                           {"float", DataType::kFloat, 32},
                           {"uint", DataType::kUInt, 32},
                           {"int", DataType::kInt, 32},
                           {"handle", DataType::kHandle, 64}};

[[noreturn]] void unknown(std::string_view text) {
  throw Error(RuntimeError) << "unknown type " << text
                            << "; a type is int, uint, float, bfloat or custom[name] with its bits, bool or handle, "
                               "and lanes as in float32x4";
}

/// Takes digits off the front of `rest`; -1 when there are none or too many.
int take_number(std::string_view& rest) {
  int value = -1;
  auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (status != std::errc()) return -1;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  return value;
}

/// "32" or "32x4" behind the name of a type.
DataType take_size(int code, int bits, std::string_view rest, std::string_view text) {
  int lanes = 1;
  if (!rest.empty() && rest[0] != 'x') bits = take_number(rest);
  if (bits <= 0 || bits > 255) unknown(text);
  if (!rest.empty()) {
    if (rest[0] != 'x') unknown(text);
    rest.remove_prefix(1);
    lanes = take_number(rest);
    if (lanes <= 0 || lanes > 65535 || !rest.empty()) unknown(text);
  }
  return {code, bits, lanes};
}

constexpr std::string_view kCustomPrefix = "custom[";

}  // namespace

DataType::DataType(std::string_view text) {
  if (text.empty() || text == "void") return;
  if (text == "bool") {
    *this = Bool();
    return;
  }
  for (const Name& name : kNames) {
    if (!text.starts_with(name.text)) continue;
    *this = take_size(name.code, name.default_bits, text.substr(name.text.size()), text);
    return;
  }
  size_t close = text.find(']');
  if (!text.starts_with(kCustomPrefix) || close == std::string_view::npos) unknown(text);
  int custom = custom_type_code(text.substr(kCustomPrefix.size(), close - kCustomPrefix.size()));
  *this = take_size(custom, 0, text.substr(close + 1), text);
}

std::string DataType::str() const {
  if (is_void()) return "void";
  std::string out;
  if (is_bool() && lanes == 1) {
    out = "bool";
  } else if (code == kHandle) {
    out = "handle";
  } else {
    switch (code) {
      case kInt: out = "int"; break;
      case kUInt: out = "uint"; break;
      case kFloat: out = "float"; break;
      case kBFloat: out = "bfloat"; break;
      default:
        out = "custom[" + (is_registered_type(code) ? custom_type_name(code) : std::to_string(code)) + "]";
        break;
    }
    out += std::to_string(bits);
  }
  if (lanes > 1) out += "x" + std::to_string(lanes);
  return out;
}

}  // namespace tessera

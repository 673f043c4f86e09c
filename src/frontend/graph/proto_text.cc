// Protobuf's text format:
//   layer { name: "conv1"  convolution_param { num_output: 8 kernel_size: [3, 3] } }  # a comment

#include <charconv>
#include <cstdlib>
#include <new>

#include "frontend/graph/proto_builder.h"

namespace tessera::frontend {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-' || c == '+';
}

class TextReader {
 public:
  TextReader(std::string_view text, const ProtoSource& source) : text_(text), source_(source) {}

  ObjectRef message(const ProtoMessage* type, char end) {
    if (++depth_ > kMaxProtoDepth) fail("messages lie inside each other deeper than 100 levels");
    ProtoBuilder out(source_, &parts_);
    while (!ends(end)) {
      const std::string name = field_name();
      const ProtoField* field = nullptr;
      if (type)
        for (const ProtoField& one : type->fields)
          if (name == one.name) field = &one;
      if (type && !field && !type->is_open) fail("a " + std::string(type->name) + " has no field " + name);
      const bool has_colon = take(':');
      if (peek() == '{' || peek() == '<') {
        const char close = text_[at_++] == '{' ? '}' : '>';
        if (field && field->kind != Proto::Message && field->kind != Proto::Ignored)
          fail("the field " + name + " is no message");
        const bool is_read = field && field->kind == Proto::Message;
        ObjectRef value = message(is_read ? field->message : nullptr, close);
        if (is_read) out.add(*field, value);
      } else if (!has_colon) {
        fail("a \":\" or a \"{\" is missing behind " + name);
      } else if (take('[')) {
        if (field && !field->is_repeated && field->kind != Proto::Floats && field->kind != Proto::Doubles &&
            field->kind != Proto::Ignored)
          fail("the field " + name + " has one value, no list");
        while (!take(']')) {
          value(field, name, &out);
          if (peek() != ']' && !take(',')) fail("a \",\" or a \"]\" is missing in the list " + name);
        }
      } else {
        value(field, name, &out);
      }
      if (!take(',')) take(';');
    }
    --depth_;
    return out.finish();
  }

 private:
  [[noreturn]] void fail(const std::string& how) const {
    int64_t line = 1;
    for (char c : text_.substr(0, at_)) line += c == '\n';
    damaged(source_, "line " + std::to_string(line) + ": " + how);
  }

  /// The next character that is no space and in no comment; 0 at the end.
  char peek() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      else if (is_space(text_[at_])) ++at_;
      else return text_[at_];
    }
    return 0;
  }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  /// True behind the end of a message, which `end` marks; 0: the file's.
  bool ends(char end) {
    if (peek() == 0 && at_ >= text_.size()) {
      if (end) fail("the text ends inside of a message");
      return true;
    }
    return end && take(end);
  }

  std::string word() {
    peek();
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == begin) fail(at_ < text_.size() ? std::string("\"") + text_[at_] + "\" is unexpected" : "the text ends");
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string field_name() {
    if (!take('[')) return word();  // else an extension, which no message here has
    std::string out = "[" + word() + "]";
    if (!take(']')) fail("a \"]\" is missing");
    return out;
  }

  std::string quoted_text() {
    std::string out;
    while (peek() == '"' || peek() == '\'') {  // texts that follow each other are one
      const char quote = text_[at_++];
      for (; at_ < text_.size() && text_[at_] != quote; ++at_) out += text_[at_] == '\\' ? escaped() : text_[at_];
      if (at_ >= text_.size()) fail("a text does not end");
      ++at_;
    }
    return out;
  }
  char escaped() {
    if (++at_ >= text_.size()) fail("a text does not end");
    const char c = text_[at_];
    if (c == 'x' || c == 'X') return digits(at_ + 1, 2, 16);
    if (c >= '0' && c <= '7') return digits(at_, 3, 8);
    constexpr std::string_view kNames = "abfnrtv", kValues = "\a\b\f\n\r\t\v";
    const size_t found = kNames.find(c);
    return found == kNames.npos ? c : kValues[found];
  }
  char digits(size_t begin, size_t most, int base) {
    int value = 0;
    const std::string_view given = text_.substr(std::min(begin, text_.size()), most);
    auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value, base);
    if (error != std::errc()) fail("an escape in a text has no digits");
    at_ = begin + static_cast<size_t>(end - given.data()) - 1;
    return static_cast<char>(value);
  }

  /// One value; without a field it is left out.
  void value(const ProtoField* field, const std::string& name, ProtoBuilder* out) {
    if (const char c = peek(); c == '"' || c == '\'') {
      String text(quoted_text());
      if (!field || field->kind == Proto::Ignored) return;
      if (field->kind != Proto::Text) fail("the field " + name + " is no text");
      return out->add(*field, text);
    }
    if (peek() == '{' && (!field || field->kind == Proto::Ignored || field->kind == Proto::Message)) {
      ++at_;
      ObjectRef inner = message(field ? field->message : nullptr, '}');
      if (field && field->kind == Proto::Message) out->add(*field, inner);
      return;
    }
    std::string given = word();
    if (given == "-") given += word();
    if (!field || field->kind == Proto::Ignored) return;
    switch (field->kind) {
      case Proto::Integer: return out->add_integer(*field, integer(given, name));
      case Proto::Enum:
        if (given[0] >= '0' && given[0] <= '9') return out->add_integer(*field, integer(given, name));
        for (const auto& [number, known] : field->values)
          if (given == known) return out->add(*field, String(given));
        fail("the field " + name + " cannot be " + given);
      case Proto::Text:
      case Proto::Message: fail("the field " + name + " cannot be " + given);
      default: return out->add_real(*field, real(given, name));
    }
  }

  int64_t integer(const std::string& given, const std::string& name) const {
    if (given == "true" || given == "True" || given == "t") return 1;
    if (given == "false" || given == "False" || given == "f") return 0;
    const bool is_negative = given[0] == '-', is_hex = given.compare(is_negative, 2, "0x") == 0;
    const char *begin = given.data() + is_negative + 2 * is_hex, *last = given.data() + given.size();
    uint64_t value = 0;
    auto [end, error] = std::from_chars(begin, last, value, is_hex ? 16 : 10);
    if (error != std::errc() || end != last || value > INT64_MAX) fail("the field " + name + " cannot be " + given);
    return is_negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
  }
  double real(const std::string& given, const std::string& name) const {
    std::string_view digits = given;
    if (digits.back() == 'f' && digits.size() > 1 && digits.find("inf") == digits.npos) digits.remove_suffix(1);
    if (!digits.empty() && digits[0] == '+') digits.remove_prefix(1);
    double value = 0;  // from_chars knows inf and nan
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::result_out_of_range) value = std::strtod(std::string(digits).c_str(), nullptr);
    else if (error != std::errc()) end = nullptr;
    if (end != digits.data() + digits.size()) fail("the field " + name + " cannot be " + given);
    return value;
  }

  std::string_view text_;
  const ProtoSource& source_;
  size_t at_ = 0;
  int depth_ = 0;
  int64_t parts_ = 0;
};

}  // namespace

Fields read_protobuf_text(std::string_view text, const ProtoMessage& message, const ProtoSource& source) {
  try {
    return Fields(TextReader(text, source).message(&message, 0));
  } catch (const std::bad_alloc&) {
    throw Error(ValueError) << source.name << " does not fit into memory";
  }
}

}  // namespace tessera::frontend

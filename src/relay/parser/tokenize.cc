#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "relay/parser/token.h"

namespace tessera::relay {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_in_name(char c) { return begins_name(c) || is_digit(c) || c == '/'; }

const std::unordered_map<std::string_view, Word>& keywords() {
  static const std::unordered_map<std::string_view, Word> table{
      {"let", Word::Let},          {"fn", Word::Fn},         {"def", Word::Def},          {"if", Word::If},
      {"else", Word::Else},        {"type", Word::Type},     {"match", Word::Match},      {"extern", Word::Extern},
      {"free_var", Word::FreeVar}, {"ref", Word::RefCreate}, {"ref_read", Word::RefRead}, {"ref_write", Word::RefWrite},
  };
  return table;
}

class Tokenizer {
 public:
  Tokenizer(std::string_view text, const SourceName& name, Diagnostics& diagnostics)
      : text_(text), name_(name), diagnostics_(diagnostics) {}

  std::vector<Token> run() {
    while (skip_blanks(), more()) {
      begin_ = here();
      reported_ = reported();
      next_word();
    }
    // What is missing at the end is missing after the last word.
    Token end;
    if (!tokens_.empty()) {
      const Token& last = tokens_.back();
      end.range = {last.range.end_line, last.range.end_column, last.range.end_line, last.range.end_column};
    }
    end.reported = end.range;
    tokens_.push_back(end);
    return std::move(tokens_);
  }

 private:
  bool more(size_t ahead = 0) const { return at_ + ahead < text_.size(); }
  char peek(size_t ahead = 0) const { return more(ahead) ? text_[at_ + ahead] : '\0'; }
  bool follows(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  void step() {
    if (text_[at_++] == '\n') {
      ++line_;
      column_ = 1;
      slip_ = 0;
    } else {
      ++column_;
    }
  }
  void step(size_t count) {
    while (count-- > 0 && more()) step();
  }
  TextRange here() const { return {line_, column_, line_, column_}; }
  TextRange reported() const { return {line_, column_ + slip_, line_, column_ + slip_}; }

  Token& push(Word word) {
    Token& token = tokens_.emplace_back();
    token.word = word;
    token.range = {begin_.line, begin_.column, line_, column_};
    token.reported = {reported_.line, reported_.column, line_, column_ + slip_};
    return token;
  }
  /// v0.10 tells the end of numbers and strings as their position.
  Token& push_at_end(Word word) {
    reported_ = reported();
    return push(word);
  }
  [[noreturn]] void fail(const std::string& message) {
    Token token;
    token.range = {begin_.line, begin_.column, line_, std::max(column_, begin_.column + 1)};
    token.reported = token.range;
    diagnostics_.fatal(span_over(name_, token, token), message);
  }

  void skip_blanks() {
    while (more()) {
      char c = peek();
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        step();
      } else if (c == '/' && peek(1) == '/') {
        while (more() && peek() != '\n') step();
      } else if (c == '/' && peek(1) == '*') {
        skip_comment();
      } else {
        return;
      }
    }
  }
  void skip_comment() {
    begin_ = here();
    int depth = 0;
    do {
      if (!more()) fail("the comment that begins here does not end");
      if (follows("/*")) ++depth, step(2);
      else if (follows("*/")) --depth, step(2);
      else step();
    } while (depth > 0);
  }

  void next_word() {
    char c = peek();
    if (is_digit(c)) return number(false);
    if (c == '-') {
      size_t signs = 0;
      while (peek(signs) == '-') ++signs;
      std::string_view rest = text_.substr(at_ + signs);
      if (is_digit(peek(signs)) || is_infinity(rest)) {
        step(signs);
        return number(signs % 2 == 1);
      }
      return symbol();
    }
    if (is_infinity(text_.substr(at_))) return number(false);
    if (follows("meta[")) return meta();
    if (begins_name(c)) return name();
    if (c == '%' || c == '@') return variable(c);
    if (c == '"') return string();
    if (c == '#') return attribute();
    return symbol();
  }

  static bool is_infinity(std::string_view rest) {
    for (std::string_view word : {"inff16", "inff64", "inff", "nanf16", "nanf64", "nanf"})
      if (rest.starts_with(word)) return rest.size() == word.size() || !is_in_name(rest[word.size()]);
    return false;
  }

  void symbol() {
    char c = peek();
    if (std::string_view("(){}[],;:.=<>!?+-*/|").find(c) == std::string_view::npos) {
      std::string shown(1, c);
      for (step(); (static_cast<unsigned char>(c) & 0x80) && (static_cast<unsigned char>(peek()) & 0xc0) == 0x80;
           step())
        shown += peek();  // the rest of a character of several bytes
      fail("unexpected character `" + shown + "`");
    }
    step();
    push(Word::Symbol).symbol = c;
  }

  std::string read_name() {
    // v0.10 tries "inff" and "meta" first, and what it tried stays in its count of columns.
    for (std::string_view word : {"inff", "meta"}) {
      size_t same = 0;
      while (same < word.size() && peek(same) == word[same]) ++same;
      slip_ += static_cast<int>(same);
    }
    if (tokens_in_variable_ == 0) reported_ = reported();
    std::string name;
    while (more() && is_in_name(peek())) {
      if (peek() == '/' && (peek(1) == '*' || peek(1) == '/')) break;
      name += peek();
      step();
    }
    return name;
  }

  void name() {
    std::string name = read_name();
    if (name == "_") return void(push(Word::Symbol).symbol = '_');
    if (name == "True" || name == "False") return void(push(Word::Boolean).integer = name == "True");
    auto keyword = keywords().find(name);
    if (keyword == keywords().end()) return void(push(Word::Identifier).text = std::move(name));
    bool partial = keyword->second == Word::Match && peek() == '?';
    if (partial) step();
    push(partial ? Word::PartialMatch : keyword->second).text = std::move(name);
  }

  void variable(char sigil) {
    step();
    if (sigil == '%' && is_digit(peek())) {
      int64_t index = 0;
      while (is_digit(peek())) {
        index = index * 10 + (peek() - '0');
        step();
        if (index > std::numeric_limits<int32_t>::max()) fail("the number of this variable is too large");
      }
      push(Word::GraphVar).integer = index;
      return;
    }
    if (!begins_name(peek())) fail(std::string("a name must follow `") + sigil + "`");
    tokens_in_variable_ = 1;
    std::string name = read_name();
    tokens_in_variable_ = 0;
    push(sigil == '%' ? Word::Local : Word::Global).text = std::move(name);
  }

  void number(bool negative) {
    size_t first = at_;
    bool special = !is_digit(peek());
    bool fraction = special;
    if (special) {
      step(3);
    } else {
      while (is_digit(peek())) step();
      if (peek() == '.' && is_digit(peek(1))) {
        fraction = true;
        step();
        while (is_digit(peek())) step();
      }
      bool signed_exponent = (peek(1) == '-' || peek(1) == '+') && is_digit(peek(2));
      if ((peek() == 'e' || peek() == 'E') && (is_digit(peek(1)) || signed_exponent)) {
        fraction = true;
        step(2);
        while (is_digit(peek())) step();
      }
    }
    std::string_view digits = text_.substr(first, at_ - first);
    char suffix = peek() == 'f' || peek() == 'i' || peek() == 'u' ? peek() : '\0';
    int width = 32;
    if (suffix) {
      step();
      if (is_digit(peek())) width = 0;
      while (is_digit(peek()) && width < 1000) width = width * 10 + (peek() - '0'), step();
    }
    if (more() && is_in_name(peek()) && peek() != '/') fail("invalid number `" + std::string(digits) + "`");
    if (fraction || suffix == 'f') return float_number(digits, negative, suffix == 'i' || suffix == 'u' ? 0 : width);
    if (suffix == 'u') fail("numbers without a sign have no suffix");
    int_number(digits, negative, suffix ? width : 0);
  }

  void float_number(std::string_view digits, bool negative, int width) {
    if (width != 16 && width != 32 && width != 64) fail("invalid numeric suffix; a number is f16, f (32) or f64");
    double value = 0;
    if (digits == "inf") value = HUGE_VAL;
    else if (digits == "nan") value = std::nan("");
    else if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc::result_out_of_range)
      value = digits.find("e-") != std::string_view::npos ? 0.0 : HUGE_VAL;
    Token& token = push_at_end(Word::Float);
    token.number = negative ? -value : value;
    token.dtype = DataType::Float(width);
  }

  void int_number(std::string_view digits, bool negative, int width) {
    if (width != 0 && width != 16 && width != 32 && width != 64)
      fail("invalid numeric suffix; a number is i16, i32 or i64");
    uint64_t value = 0;
    auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    uint64_t most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) + (negative ? 1 : 0);
    if (read.ec != std::errc() || value > most) fail("invalid number `" + std::string(digits) + "`: more than 64 bits");
    auto whole = static_cast<int64_t>(negative ? 0 - value : value);
    bool fits32 = whole >= std::numeric_limits<int32_t>::min() && whole <= std::numeric_limits<int32_t>::max();
    if (width == 0) width = fits32 ? 32 : 64;
    bool fits16 = whole >= std::numeric_limits<int16_t>::min() && whole <= std::numeric_limits<int16_t>::max();
    if ((width == 32 && !fits32) || (width == 16 && !fits16))
      fail("the number " + std::to_string(whole) + " does not fit " + std::to_string(width) + " bits");
    Token& token = push_at_end(Word::Integer);
    token.integer = whole;
    token.dtype = DataType::Int(width);
  }

  void string() {
    step();
    std::string value;
    while (peek() != '"') {
      if (!more() || peek() == '\n') fail("the string that begins here does not end");
      if (peek() == '\\' && more(1)) {
        step();
        char c = peek();
        auto hex = [&](size_t i) {
          char d = peek(i);
          return is_digit(d) ? d - '0' : d >= 'a' && d <= 'f' ? d - 'a' + 10 : d >= 'A' && d <= 'F' ? d - 'A' + 10 : -1;
        };
        if (c == 'x' && hex(1) >= 0 && hex(2) >= 0) {
          value += static_cast<char>(hex(1) * 16 + hex(2));
          step(3);
          continue;
        }
        value += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
      } else {
        value += peek();
      }
      step();
    }
    step();
    push_at_end(Word::Text).text = std::move(value);
  }

  void meta() {
    step(4);
    reported_ = reported();
    auto bracketed = [&] {
      if (peek() != '[') fail("a reference to metadata is written meta[type][index]");
      step();
      std::string inside;
      while (more() && peek() != ']' && peek() != '\n') inside += peek(), step();
      if (peek() != ']') fail("a reference to metadata is written meta[type][index]");
      step();
      return inside;
    };
    std::string key = bracketed(), index = bracketed();
    int64_t value = -1;
    auto read = std::from_chars(index.data(), index.data() + index.size(), value);
    if (read.ec != std::errc() || read.ptr != index.data() + index.size() || value < 0)
      fail("invalid index `" + index + "` of metadata");
    Token& token = push(Word::Meta);
    token.text = std::move(key);
    token.integer = value;
  }

  void attribute() {
    step();
    if (peek() != '[') fail("`#` denotes the start of an attribute can only be followed by `[`");
    std::string inside;
    step();
    while (more() && peek() != ']' && peek() != '\n') inside += peek(), step();
    if (peek() != ']') fail("the attribute that begins here does not end");
    step();
    auto trimmed = [](std::string_view s) {
      while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
      while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
      return std::string(s);
    };
    inside = trimmed(inside);
    if (inside == "metadata") {
      Token& token = push(Word::Metadata);
      token.text = std::string(text_.substr(at_));
      at_ = text_.size();
    } else if (inside.starts_with("version")) {
      size_t equals = inside.find('=');
      std::string version = equals == std::string::npos ? "" : trimmed(std::string_view(inside).substr(equals + 1));
      push(Word::Version).text = std::move(version);
    } else {
      fail("unsupported attribute " + inside);
    }
  }

  std::string_view text_;
  const SourceName& name_;
  Diagnostics& diagnostics_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int line_ = 1, column_ = 1, slip_ = 0;
  int tokens_in_variable_ = 0;
  TextRange begin_, reported_;
};

void set_text_range(TextSpan* span, const TextRange& range) {
  span->text_line = range.line;
  span->text_column = range.column;
  span->text_end_line = range.end_line;
  span->text_end_column = range.end_column;
}

}  // namespace

std::vector<Token> tokenize(std::string_view text, const SourceName& name, Diagnostics& diagnostics) {
  return Tokenizer(text, name, diagnostics).run();
}

std::string name_of(const Token& token) {
  switch (token.word) {
    case Word::End: return "end of file";
    case Word::Identifier: return "identifier `" + token.text + "`";
    case Word::Local: return "local `%" + token.text + "`";
    case Word::GraphVar: return "graph variable `%" + std::to_string(token.integer) + "`";
    case Word::Global: return "global `@" + token.text + "`";
    case Word::Integer: return "integer";
    case Word::Float: return "float";
    case Word::Boolean: return "boolean";
    case Word::Text: return "string";
    case Word::Meta: return "meta reference";
    case Word::Version: return "version attribute";
    case Word::Metadata: return "metadata section";
    case Word::Symbol: return "`" + std::string(1, token.symbol) + "`";
    case Word::PartialMatch: return "`match?`";
    default: return "`" + token.text + "`";
  }
}

Span span_over(const SourceName& name, const Token& first, const Token& last) {
  const TextRange &a = first.reported, &b = last.reported;
  TextSpan span;
  span.source_name = name;
  span.line = std::min(a.line, b.line);
  span.column = std::min(a.column, b.column);
  span.end_line = std::max(a.end_line, b.end_line);
  span.end_column = std::max(a.end_column, b.end_column);
  set_text_range(&span, {first.range.line, first.range.column, last.range.end_line, last.range.end_column});
  return make(std::move(span));
}

Span merged(const Span& a, const Span& b) {
  if (!a || !b) return a ? a : b;
  TextSpan span;
  span.source_name = a->source_name;
  span.line = std::min(a->line, b->line);
  span.column = std::min(a->column, b->column);
  span.end_line = std::max(a->end_line, b->end_line);
  span.end_column = std::max(a->end_column, b->end_column);
  TextRange x = text_range_of(a), y = text_range_of(b);
  bool a_first = std::pair(x.line, x.column) <= std::pair(y.line, y.column);
  bool b_last = std::pair(x.end_line, x.end_column) <= std::pair(y.end_line, y.end_column);
  set_text_range(&span, {a_first ? x.line : y.line, a_first ? x.column : y.column, b_last ? y.end_line : x.end_line,
                         b_last ? y.end_column : x.end_column});
  return make(std::move(span));
}

}  // namespace tessera::relay

#pragma once
// Reads Relay text. One function per part of the grammar; long chains of bindings take no stack, and nesting is bounded.

#include <optional>
#include <unordered_map>

#include "relay/parser/token.h"
#include "relay/pattern.h"

namespace tessera::relay {

using MetaTable = Map<String, Array<ObjectRef>>;

class Parser {
 public:
  /// Reads into `mod`, whose functions and data types the text may use.
  Parser(const IRModule& mod, const String& source_name, const String& text, const MetaTable& metadata);

  /// The whole text as a module: version, definitions, metadata.
  IRModule module();
  /// The whole text as one expression.
  Expr expression();

 private:
  // The tokens.
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool accept(char symbol);
  bool accept(Word word);
  const Token& expect(char symbol);
  const Token& expect(Word word, const char* what);
  [[noreturn]] void fail(const Token& token, const std::string& message);
  Span span_of(const Token& token) const { return span_over(source_name_, token, token); }

  /// Runs `parse`, then says of its result that it stands over the tokens that were taken.
  template <class F>
  auto with_span(F&& parse) {
    size_t first = at_;
    auto result = parse();
    if (result && at_ > first) set_span(result, tokens_[first], tokens_[at_ - 1]);
    return result;
  }
  void set_span(const Expr& expr, const Token& first, const Token& last);

  /// `open part, part, ... close`; a comma may follow the last part. Stops early where `before_part` says so.
  template <class F>
  void sequence(char open, char close, F&& part);
  /// One level deeper; an error when the text nests beyond reason.
  template <class F>
  auto nested(F&& body);

  // Modules (parse_module.cc).
  void version(bool required);
  void definitions();
  void type_definition();
  void metadata();
  void check_globals();

  // Expressions (parse_expr.cc).
  Expr expr();
  Expr bindings(bool is_value = false);
  Expr infix();
  Expr call();
  Expr call_arguments(const Expr& op);
  Expr atom();
  Expr atom_without_index();
  Expr parenthesised();
  Expr named();
  Expr if_else();
  Expr match(bool complete);
  Expr block();
  Pattern pattern();
  std::vector<Pattern> patterns();
  Function function();
  Expr number(const Token& token);
  ObjectRef metadata_object();

  // Attributes (parse_attrs.cc).
  bool at_attribute() const;
  Map<String, ObjectRef> attributes();
  ObjectRef attribute_value();
  std::string dotted_name();
  Attrs make_attrs(const std::string& type_key, const Map<String, ObjectRef>& values, const Token& at);

  // Types (parse_type.cc).
  Type type();
  Type named_type();
  Array<PrimExpr> shape();
  DataType dtype(const Token& token);
  std::vector<TypeVar> type_params();

  // Names.
  Var bind_var(const std::string& name, const Type& type);
  Var parameter();
  GlobalVar global(const Token& token);
  GlobalTypeVar type_name(const Token& token);
  struct Scope;

  static constexpr int kDeepest = 20000;

  IRModule mod_;
  SourceName source_name_;
  Diagnostics diagnostics_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  MetaTable metadata_;

  std::unordered_map<std::string, GlobalVar> globals_;
  // Of globals and data types that have no definition yet: the token.
  std::unordered_map<std::string, size_t> first_uses_, first_type_uses_;
  std::unordered_map<std::string, GlobalTypeVar> type_names_;
  std::unordered_map<std::string, Constructor> constructors_;
  std::unordered_map<int64_t, Expr> graph_;
  // Innermost last; leaving a scope takes back what it bound.
  std::unordered_map<std::string, std::vector<Var>> vars_;
  std::unordered_map<std::string, std::vector<TypeVar>> type_vars_;
  std::vector<std::string> bound_vars_, bound_type_vars_;
};

/// Names bound while it lives are forgotten when it ends.
struct Parser::Scope {
  explicit Scope(Parser& parser)
      : parser(parser), vars(parser.bound_vars_.size()), types(parser.bound_type_vars_.size()) {}
  ~Scope() {
    auto forget = [](auto& table, auto& bound, size_t keep) {
      for (; bound.size() > keep; bound.pop_back()) table[bound.back()].pop_back();
    };
    forget(parser.vars_, parser.bound_vars_, vars);
    forget(parser.type_vars_, parser.bound_type_vars_, types);
  }
  Scope(const Scope&) = delete;
  Parser& parser;
  size_t vars, types;
};

template <class F>
void Parser::sequence(char open, char close, F&& part) {
  expect(open);
  while (!peek().is(close)) {
    part();
    if (!accept(',') && !peek().is(close))
      fail(peek(), std::string("expected a `") + close + "` found " + name_of(peek()));
  }
  next();
}

/// A module of text, with types inferred. `init` may hold functions and types that the text uses; it is not changed.
IRModule parse_module(const String& source_name, const String& text, const IRModule& init = IRModule(),
                      const MetaTable& metadata = {});
/// One expression, as it stands.
Expr parse_expr(const String& source_name, const String& text);

}  // namespace tessera::relay

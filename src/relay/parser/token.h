#pragma once
// The words of Relay text.

#include <string>
#include <string_view>
#include <vector>

#include "ir/diagnostic.h"

namespace tessera::relay {

enum class Word : uint8_t {
  End,
  Identifier,  // add, Tensor, Cons
  Local,       // %x
  GraphVar,    // %3
  Global,      // @main
  Integer,
  Float,
  Boolean,
  Text,
  Meta,      // meta[relay.Constant][0]
  Version,   // #[version = "0.0.5"]
  Metadata,  // #[metadata] and all that follows
  Symbol,    // one of ( ) { } [ ] , ; : . = < > ! ? + - * / | _
  Let,
  Fn,
  Def,
  If,
  Else,
  Type,
  Match,
  PartialMatch,
  Extern,
  FreeVar,
  RefCreate,
  RefRead,
  RefWrite,
};

struct Token {
  Word word = Word::End;
  char symbol = 0;
  DataType dtype;             // of numbers
  int64_t integer = 0;        // Integer, GraphVar, Boolean, the index of Meta
  double number = 0;          // Float
  std::string text;           // names, strings, the key of Meta, the version, the metadata
  TextRange range, reported;  // where it stands, and where v0.10 says that it does

  bool is(char c) const { return word == Word::Symbol && symbol == c; }
};

/// Splits `text`, without spaces and comments; the last token is End. What is not Relay is an error of `diagnostics`.
std::vector<Token> tokenize(std::string_view text, const SourceName& name, Diagnostics& diagnostics);

/// The word as a message calls it: "an identifier", "`(`".
std::string name_of(const Token& token);

/// A span over two tokens.
Span span_over(const SourceName& name, const Token& first, const Token& last);
/// A span that covers both.
Span merged(const Span& a, const Span& b);

}  // namespace tessera::relay

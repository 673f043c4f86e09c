#pragma once
// Errors that point into the text of the user's program:
//
//   error: operator `frobnicate` not found, perhaps you forgot to register it?
//    --> from_string:2:39
//     |
//   2 |  def @main(%x: Tensor[(2), float32]) { frobnicate(%x) }
//     |                                        ^^^^^^^^^^

#include <string>
#include <vector>

#include "base/map.h"
#include "ir/module.h"
#include "ir/span.h"
#include "runtime/packed_func.h"

namespace tessera {

/// A range of a text, lines and columns counted from 1; the end is one past the last character.
struct TextRange {
  int32_t line = 0, column = 0, end_line = 0, end_column = 0;
};

/// The span of a node read from Relay text. The fields of a Span are what v0.10 tells, which scripts compare: it counts
/// columns with known slips and moves the position of a name to its last use. These are where the text really stands,
/// and what messages underline.
struct TextSpan : SpanNode {
  int32_t text_line = 0, text_column = 0, text_end_line = 0, text_end_column = 0;
  static constexpr NodeInfo info{"TextSpan", &SpanNode::info};
  static void fields(auto f) {
    f("text_line", &TextSpan::text_line);
    f("text_column", &TextSpan::text_column);
    f("text_end_line", &TextSpan::text_end_line);
    f("text_end_column", &TextSpan::text_end_column);
  }
};
TextRange text_range_of(const Span& span);

/// A text that spans refer to.
struct SourceNode : Object {
  SourceName source_name;
  String source;
  static constexpr NodeInfo info{"Source", &Object::info};
  static void fields(auto f) {
    f("source_name", &SourceNode::source_name);
    f("source", &SourceNode::source);
  }
};
using Source = Ref<SourceNode>;

/// The texts a module was read from, by name.
struct SourceMapNode : Object {
  Map<String, Source> sources;
  static constexpr NodeInfo info{"SourceMap", &Object::info};
  static void fields(auto f) { f("source_map", &SourceMapNode::sources); }
};
using SourceMap = Ref<SourceMapNode>;

enum class DiagnosticLevel : int32_t { Bug = 10, Error = 20, Warning = 30, Note = 40, Help = 50 };

struct DiagnosticNode : Object {
  DiagnosticLevel level = DiagnosticLevel::Error;
  Span span;
  String message;
  static constexpr NodeInfo info{"Diagnostic", &Object::info};
  static void fields(auto f) {
    f("level", &DiagnosticNode::level);
    f("span", &DiagnosticNode::span, Optional);
    f("message", &DiagnosticNode::message);
  }
};
using Diagnostic = Ref<DiagnosticNode>;
Diagnostic make_diagnostic(DiagnosticLevel level, Span span, String message);

/// Shows the diagnostics of a context. The default one has no function: errors carry their text themselves.
struct DiagnosticRendererNode : Object {
  PackedFunc show;
  static constexpr NodeInfo info{"DiagnosticRenderer", &Object::info, Role::Identity};
  static void fields(auto) {}
};
using DiagnosticRenderer = Ref<DiagnosticRendererNode>;

/// Diagnostics about one module as they are collected; changes on purpose.
struct DiagnosticContextNode : Object {
  IRModule module;
  Array<Diagnostic> diagnostics;
  DiagnosticRenderer renderer;
  static constexpr NodeInfo info{"DiagnosticContext", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("module", &DiagnosticContextNode::module);
    f("diagnostics", &DiagnosticContextNode::diagnostics);
    f("renderer", &DiagnosticContextNode::renderer, Optional);
  }
};
using DiagnosticContext = Ref<DiagnosticContextNode>;

/// Hands diagnostics to the renderer that a user has put in place of the default one, if any.
void show_to_user(const IRModule& mod, const Array<Diagnostic>& diagnostics);
/// "error: message", and where that is.
std::string diagnostic_text(const DiagnosticNode* diagnostic, const ObjectRef& source_map);

/// What is wrong and where; collected, so that one run shows all of it.
class Diagnostics {
 public:
  explicit Diagnostics(ObjectRef source_map) : source_map_(std::move(source_map)) {}

  void error(const Span& span, const std::string& message) { add(DiagnosticLevel::Error, span, message); }
  void help(const Span& span, const std::string& message) { add(DiagnosticLevel::Help, span, message); }
  /// Throws a DiagnosticError with everything collected, if there is anything.
  void throw_errors() const;
  [[noreturn]] void fatal(const Span& span, const std::string& message);

 private:
  void add(DiagnosticLevel level, const Span& span, const std::string& message);

  ObjectRef source_map_;
  Array<Diagnostic> entries_;
  size_t errors_ = 0;
};

/// The lines of the text that a span covers, the position underlined; "" when the text is not known.
std::string underlined(const Span& span, const ObjectRef& source_map);

}  // namespace tessera

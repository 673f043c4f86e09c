#include "ir/diagnostic.h"

#include <algorithm>

#include "ir/span_scope.h"
#include "runtime/package/model_names.h"

namespace tessera {
namespace {

constexpr size_t kMaxShown = 20;
constexpr size_t kMaxLine = 300;

std::string_view line_of(std::string_view text, int line) {
  for (; line > 1; --line) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace

TextRange text_range_of(const Span& span) {
  if (auto* text = span.as<TextSpan>())
    return {text->text_line, text->text_column, text->text_end_line, text->text_end_column};
  return {span->line, span->column, span->end_line, span->end_column};
}

std::string underlined(const Span& span, const ObjectRef& source_map) {
  if (!span || !span->source_name) return "";
  TextRange range = text_range_of(span);
  std::string out = " --> " + to_text(span->source_name->name) + ":" + std::to_string(range.line) + ":" +
                    std::to_string(range.column);
  auto* sources = source_map.as<SourceMapNode>();
  Source source = sources ? sources->sources.get_or_null(span->source_name->name) : Source();
  std::vector<std::string> nodes;
  if (!source) add_node_names(span, &nodes);
  if (!nodes.empty())
    return (nodes.size() == 1 ? " --> node " : " --> nodes ") + source_nodes_text(source_lines(nodes));
  if (!source) return out;
  std::string_view line = line_of(source->source, range.line);
  size_t begin = std::min(static_cast<size_t>(std::max(range.column, 1)) - 1, line.size());
  size_t end = range.end_line > range.line ? line.size() : static_cast<size_t>(std::max(range.end_column, 1)) - 1;
  end = std::clamp(end, begin, line.size());
  // Long lines are cropped around the position.
  size_t first = begin > kMaxLine / 2 && line.size() > kMaxLine ? begin - kMaxLine / 2 : 0;
  std::string shown(line.substr(first, kMaxLine));
  end = std::min(end, first + shown.size());
  std::string number = std::to_string(range.line), margin(number.size(), ' ');
  std::string marks(begin - first, ' ');
  for (size_t i = 0; i < marks.size(); ++i)
    if (shown[i] == '\t') marks[i] = '\t';
  marks.append(std::max<size_t>(end > begin ? end - begin : 0, 1), '^');
  return out + "\n" + margin + " |\n" + number + " |  " + shown + "\n" + margin + " |  " + marks;
}

Diagnostic make_diagnostic(DiagnosticLevel level, Span span, String message) {
  DiagnosticNode node;
  node.level = level;
  node.span = std::move(span);
  node.message = std::move(message);
  return make(std::move(node));
}

std::string diagnostic_text(const DiagnosticNode* diagnostic, const ObjectRef& source_map) {
  const char* level = "error";
  if (diagnostic->level == DiagnosticLevel::Bug) level = "bug";
  if (diagnostic->level == DiagnosticLevel::Warning) level = "warning";
  if (diagnostic->level == DiagnosticLevel::Note) level = "note";
  if (diagnostic->level == DiagnosticLevel::Help) level = "help";
  std::string excerpt = underlined(diagnostic->span, source_map);
  return std::string(level) + ": " + to_text(diagnostic->message) + (excerpt.empty() ? "" : "\n" + excerpt);
}

void Diagnostics::add(DiagnosticLevel level, const Span& span, const std::string& message) {
  if (level == DiagnosticLevel::Error) ++errors_;
  if (entries_.size() < kMaxShown) entries_.push_back(make_diagnostic(level, span, String(message)));
}

void Diagnostics::throw_errors() const {
  if (!errors_) return;
  IRModule mod;
  mod.edit()->source_map = source_map_;
  show_to_user(mod, entries_);
  Error error(DiagnosticError);
  for (size_t i = 0; i < entries_.size(); ++i)
    error << (i ? "\n" : "") << diagnostic_text(entries_[i].get(), source_map_);
  if (errors_ > entries_.size()) error << "\n(" << errors_ << " errors in all)";
  throw error;
}

void Diagnostics::fatal(const Span& span, const std::string& message) {
  error(span, message);
  throw_errors();
  ICHECK(false) << "an error was just added";
  __builtin_unreachable();
}

}  // namespace tessera

#include "ir/span_scope.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

constexpr size_t kMaxNameBytes = 200;
constexpr size_t kMaxNames = 16;

thread_local Span current;

}  // namespace

SpanScope::SpanScope(Span span) : outer_(std::exchange(current, std::move(span))) {}
SpanScope::~SpanScope() { current = std::move(outer_); }

const Span& current_span() { return current; }

Span node_span(const std::string& name) {
  std::string text = name;
  if (text.size() > kMaxNameBytes) {
    size_t end = kMaxNameBytes;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
    text = text.substr(0, end) + "...";
  }
  for (char& c : text)
    if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F) c = ' ';
  return make(SpanNode{.source_name = make(SourceNameNode{.name = String(text)})});
}

// A merged span holds its names as lines: no name has a line break.
Span merged_span(const std::vector<Span>& spans) {
  std::vector<std::string> names;
  for (const Span& span : spans) add_node_names(span, &names);
  if (names.empty()) return nullptr;
  std::string lines;
  for (const std::string& name : names) lines += (lines.empty() ? "" : "\n") + name;
  return make(SpanNode{.source_name = make(SourceNameNode{.name = String(lines)})});
}

void add_node_names(const Span& span, std::vector<std::string>* names) {
  if (!span || span->line != 0 || !span->source_name) return;
  std::string lines = span->source_name->name.str();
  for (size_t begin = 0; begin <= lines.size();) {
    size_t end = std::min(lines.find('\n', begin), lines.size());
    std::string name = lines.substr(begin, end - begin);
    if (!name.empty() && std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
    begin = end + 1;
  }
}

std::string source_lines(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kMaxNames); ++i) out += (i ? "\n" : "") + names[i];
  if (names.size() > kMaxNames) out += "\n" + std::to_string(names.size() - kMaxNames) + " more";
  return out;
}

}  // namespace tessera

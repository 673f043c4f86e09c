#pragma once
// What expressions say they come from when nobody tells them: importers say it of each node of a model, rewrites of what they
// replace, so that a kernel can name the nodes of the file it was made from.

#include <string>
#include <vector>

#include "base/object.h"
#include "ir/span.h"

namespace tessera {

/// While it lasts, Relay expressions made on this thread without a span get this one. Null: they get none.
class SpanScope {
 public:
  explicit SpanScope(Span span);
  ~SpanScope();
  SpanScope(const SpanScope&) = delete;
  SpanScope& operator=(const SpanScope&) = delete;

 private:
  Span outer_;
};
const Span& current_span();

/// The span of a node of a model. Control characters become spaces and a very long name is shortened.
Span node_span(const std::string& name);
/// The span of what was made from several spans; null where none of them is known.
Span merged_span(const std::vector<Span>& spans);
/// Appends the nodes of models that a span names and that are not in the list yet. Lines of source text name none.
void add_node_names(const Span& span, std::vector<std::string>* names);

/// The names as lines (see runtime/package/model_names.h), at most so many and how many others there are.
std::string source_lines(const std::vector<std::string>& names);

}  // namespace tessera

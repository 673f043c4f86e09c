#pragma once
// Where in the user's program a node comes from.

#include "base/string.h"

namespace tessera {

struct SourceNameNode : Object {
  String name;
  static constexpr NodeInfo info{"SourceName", &Object::info};
  static void fields(auto f) { f("name", &SourceNameNode::name); }
};
using SourceName = Ref<SourceNameNode>;

struct SpanNode : Object {
  SourceName source_name;
  int32_t line = 0, column = 0, end_line = 0, end_column = 0;
  static constexpr NodeInfo info{"Span", &Object::info};
  static void fields(auto f) {
    f("source_name", &SpanNode::source_name);
    f("line", &SpanNode::line);
    f("column", &SpanNode::column);
    f("end_line", &SpanNode::end_line);
    f("end_column", &SpanNode::end_column);
  }
};
using Span = Ref<SpanNode>;

}  // namespace tessera

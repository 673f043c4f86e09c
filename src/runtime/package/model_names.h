#pragma once
// Names that come from a model file: of outputs, and of the nodes that a kernel call was made from. The latter are lines, in
// the order of the computation.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tessera {

/// What an output is called that has no name: "output_0".
inline std::string output_name(size_t index) { return "output_" + std::to_string(index); }

/// The key of a graph node's attribute that holds them.
inline constexpr const char* kSourceNodes = "source_nodes";
/// And the one beside it that names the rules by which its kernel was scheduled.
inline constexpr const char* kScheduleRules = "schedule_rule";

/// "conv1, relu1": for tables.
inline std::string source_nodes_text(std::string_view lines) {
  std::string out;
  for (char c : lines) out += c == '\n' ? ", " : std::string(1, c);
  return out;
}

/// The lines one by one.
inline std::vector<std::string> source_node_list(std::string_view lines) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin < lines.size();) {
    size_t end = std::min(lines.find('\n', begin), lines.size());
    out.emplace_back(lines.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

/// Says in an error which nodes were being computed.
inline void add_source_nodes(Error& error, std::string_view lines) {
  if (!lines.empty())
    error << "\n  in node" << (lines.find('\n') == lines.npos ? " " : "s ") << source_nodes_text(lines);
}

}  // namespace tessera

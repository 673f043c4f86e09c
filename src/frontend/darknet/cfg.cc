// The cfg: sections with lines "name=value". Spaces mean nothing, lines that begin with # or ; are comments.

#include <algorithm>

#include "frontend/darknet/darknet.h"

namespace tessera::darknet {
namespace {

constexpr size_t kLooked = 1 << 16;
constexpr size_t kMaxSections = 100'000;

std::string without_spaces(std::string_view line) {
  std::string out;
  for (char c : line)
    if (c != ' ' && c != '\t' && c != '\r') out += c;
  return out;
}

std::string full_name(std::string kind) {
  static const std::unordered_map<std::string, std::string> names{
      {"avg", "avgpool"}, {"conn", "connected"}, {"conv", "convolutional"},          {"deconv", "deconvolutional"},
      {"max", "maxpool"}, {"network", "net"},    {"normalization", "normalization"}, {"reg", "region"},
      {"soft", "softmax"}};
  auto found = names.find(kind);
  return found == names.end() ? kind : found->second;
}

template <class F>
void for_each_line(std::string_view text, F&& visit) {
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string line = without_spaces(text.substr(0, end));
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    if (!line.empty() && line[0] != '#' && line[0] != ';' && !visit(line, number)) return;
  }
}

}  // namespace

bool is_cfg(std::string_view text) {
  text = text.substr(0, kLooked);
  if (text.find('\0') != text.npos) return false;
  bool is_network = false;
  for_each_line(text, [&](const std::string& line, int64_t) {
    is_network = line == "[net]" || line == "[network]";
    return false;
  });
  return is_network;
}

std::vector<Section> read_cfg(std::string_view text, const std::string& name) {
  std::vector<Section> out;
  for_each_line(text, [&](const std::string& line, int64_t number) {
    const size_t equals = line.find('=');
    auto fail = [&](const char* how) {
      throw Error(ValueError) << name << " is no cfg of Darknet, or it is damaged: line " << number << ": " << how;
    };
    if (line[0] == '[') {
      if (line.back() != ']') fail("a section has no end");
      if (out.size() >= kMaxSections) fail("it has more than 100000 sections");
      const std::string kind = full_name(line.substr(1, line.size() - 2));
      out.push_back({kind, Fields(Map<String, ObjectRef>(), "[" + kind + "] in line " + std::to_string(number))});
    } else if (out.empty()) {
      fail("a value stands in front of all sections");
    } else if (equals == line.npos) {
      fail("it is neither a section nor \"name=value\"");
    } else {
      out.back().options.set(line.substr(0, equals), String(line.substr(equals + 1)));
    }
    return true;
  });
  if (out.empty() || out[0].kind != "net")
    throw Error(ValueError) << name << " is no cfg of Darknet: its first section must be [net]";
  return out;
}

}  // namespace tessera::darknet

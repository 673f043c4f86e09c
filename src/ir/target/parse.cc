// Targets from text: "llvm -mcpu=skylake", a tag, or JSON.

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "ir/target/options.h"
#include "ir/target/tags.h"

namespace tessera {
namespace {

using Config = Map<String, ObjectRef>;

const std::vector<std::pair<std::string, OptionType>> kCommonOptions = {
    {"keys", OptionType::TextList},  {"tag", OptionType::Text},      {"device", OptionType::Text},
    {"model", OptionType::Text},     {"libs", OptionType::TextList}, {"host", OptionType::Text},
    {"from_device", OptionType::Int}};

/// Words separated by blanks; '...' keeps blanks, a backslash the next character.
std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false, open = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      open = true;
    } else if (c == '\'') {
      quoted = !quoted;
      open = true;
    } else if (!quoted && (c == ' ' || c == '\t' || c == '\n')) {
      if (open) words.push_back(std::exchange(word, ""));
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (quoted) throw Error(ValueError) << "target \"" << text << "\": a quote is not closed";
  if (open) words.push_back(word);
  return words;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

ObjectRef parse_number(const std::string& name, const std::string& text) {
  if (text == "true" || text == "True") return number_boxes.box_int(1);
  if (text == "false" || text == "False") return number_boxes.box_int(0);
  int64_t value = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size())
    throw Error(ValueError) << "target option \"" << name << "\" is an integer, not \"" << text << "\"";
  return number_boxes.box_int(value);
}

ObjectRef parse_value(OptionType type, const std::string& name, const std::string& text) {
  switch (type) {
    case OptionType::Text: return String(text);
    case OptionType::Bool:
    case OptionType::Int: return parse_number(name, text);
    default: break;
  }
  Array<ObjectRef> items;
  for (const std::string& item : split_list(text)) {
    if (type == OptionType::IntList) {
      items.push_back(parse_number(name, item));
    } else if (type == OptionType::TargetList) {
      items.push_back(Target::parse(item));
    } else {
      items.push_back(String(item));
    }
  }
  return items;
}

Config parse_string(std::string_view text) {
  std::vector<std::string> words = split_words(text);
  if (words.empty()) throw Error(ValueError) << "a target cannot be empty; write for example \"llvm\"";
  TargetKind kind = find_target_kind(words[0]);
  if (!kind) {
    std::string known;
    for (const TargetKind& k : target_kinds()) known += (known.empty() ? "" : ", ") + k->name.str();
    throw Error(ValueError) << "target kind \"" << words[0] << "\" is not defined; the kinds are " << known
                            << ", and there are tags such as nvidia/geforce-rtx-3090";
  }
  Config config{{"kind", kind->name}};
  for (size_t i = 1; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word[0] != '-')
      throw Error(ValueError) << "target \"" << text << "\": options start with '-', \"" << word << "\" does not";
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    size_t equals = word.find('=');
    std::string name(word.substr(0, equals)), value = "1";
    if (equals != word.npos) {
      value = std::string(word.substr(equals + 1));
    } else if (i + 1 < words.size() && words[i + 1][0] != '-') {
      value = words[++i];
    }
    if (name.empty() || value.empty())
      throw Error(ValueError) << "target \"" << text << "\": \"" << words[i] << "\" lacks a name or a value";
    if (config.count(name))
      throw Error(ValueError) << "target \"" << text << "\": option \"" << name << "\" is given twice";
    config.set(name, parse_value(target_option_type(kind, name), name, value));
  }
  return config;
}

}  // namespace

std::vector<std::pair<std::string, OptionType>> target_options(const TargetKind& kind) {
  auto options = kCommonOptions;
  options.insert(options.end(), kind->options.begin(), kind->options.end());
  std::sort(options.begin(), options.end());
  return options;
}

OptionType target_option_type(const TargetKind& kind, const std::string& name) {
  std::string known;
  for (const auto& [option, type] : target_options(kind)) {
    if (option == name) return type;
    known += (known.empty() ? "" : ", ") + option;
  }
  throw Error(ValueError) << "target " << kind->name << ": no option \"" << name << "\"; its options are " << known;
}

Target Target::parse(std::string_view text) {
  size_t start = text.find_first_not_of(" \t\n");
  if (start != text.npos && text[start] == '{') {
    ObjectRef config = parse_json(text);
    return from_config(Config(downcast<Ref<MapNode>>(config)));
  }
  if (Config tagged = find_target_tag(text); tagged.defined()) return from_config(tagged);
  return from_config(parse_string(text));
}

}  // namespace tessera

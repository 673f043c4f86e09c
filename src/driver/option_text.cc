#include "driver/option_text.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/any.h"
#include "ir/pass/names.h"
#include "ir/pass/table.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (size_t start = 0, end = 0; end != text.npos; start = end + 1) {
    end = text.find(separator, start);
    out.push_back(trimmed(text.substr(start, end == text.npos ? end : end - start)));
  }
  return out;
}

template <class Names>
std::string joined(const Names& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

// ---- targets -----------------------------------------------------------------------------------------------------

/// The targets of a list. Commas in quotes, and in the value of an option where more of it follows at once, are kept.
std::vector<std::string> target_texts(const std::string& text) {
  std::vector<std::string> out(1);
  char quote = 0;
  bool in_value = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '=') {
      in_value = true;
    } else if (c == ' ' || c == '\t') {
      in_value = false;
    } else if (c == ',') {
      char next = i + 1 < text.size() ? text[i + 1] : ' ';
      bool goes_on = std::isalnum(static_cast<unsigned char>(next)) ||
                     std::string_view("_+-.'\"").find(next) != std::string_view::npos;
      if (!in_value || !goes_on) {
        out.emplace_back();
        in_value = false;
        continue;
      }
    }
    out.back() += c;
  }
  for (std::string& each : out) each = trimmed(each);
  if (std::find(out.begin(), out.end(), "") != out.end())
    throw Error(ValueError) << "the list of targets \"" << text << "\" has an empty entry";
  return out;
}

/// Generators of code outside of this compiler, which v0.10 takes in front of a target.
constexpr std::string_view external_generators[] = {"bnns",      "cmsis-nn", "compute-library", "ethos-n",
                                                    "ethos-n78", "ethos-u",  "vitis-ai"};

Target parse_one(const std::string& text) {
  std::string kind = text.substr(0, text.find_first_of(" \t"));
  if (std::ranges::find(external_generators, kind) != std::end(external_generators))
    throw Error(NotImplementedError) << "the target \"" << kind
                                     << "\" is an external code generator, and those are not there yet; name a target "
                                     << "alone, such as llvm";
  return Target::parse(text);
}

/// The target with options of the command line, which come before those of its text.
Target with_options(const Target& target, const TargetOptionTexts& options) {
  String kind = target->kind->name;
  if (!options.count(kind)) return target;
  Map<String, ObjectRef> config = target.export_config();
  for (const auto& [name, value] : options[kind]) {
    bool has_space = std::string_view(value).find(' ') != std::string_view::npos;
    std::string word = has_space ? "\"" + value.str() + "\"" : value.str();
    config.set(name, Target::parse(kind.str() + " -" + name.str() + "=" + word).export_config()[name]);
  }
  return Target::from_config(config);
}

std::string file_contents(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream out;
  out << file.rdbuf();
  return file ? out.str() : "";
}

// ---- options of passes -------------------------------------------------------------------------------------------

std::optional<int64_t> as_number(std::string_view text) {
  auto is = [&](std::string_view word) {
    return std::ranges::equal(text, word, {}, [](unsigned char c) { return std::tolower(c); });
  };
  if (is("true")) return 1;
  if (is("false")) return 0;
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

[[noreturn]] void wrong_value(const ConfigKey& key, std::string_view value, const std::string& wanted) {
  throw Error(ValueError) << "the option " << key.name << " takes " << wanted << ", not \"" << value << "\"";
}

/// "1,UnrollLoop,2,Simplify" as pairs of a phase and a pass; names may begin with "tir.transform.".
ObjectRef lower_passes(const ConfigKey& key, std::string_view value) {
  std::vector<std::string_view> words = split(value, ',');
  if (words.size() % 2) wrong_value(key, value, "phases and passes in turn, such as 1,UnrollLoop");
  Array<ObjectRef> out;
  for (size_t i = 0; i < words.size(); i += 2) {
    std::optional<int64_t> phase = as_number(words[i]);
    if (!phase) wrong_value(key, words[i], "a number for the phase");
    std::string_view prefix = "tir.transform.", name = words[i + 1];
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    PackedFunc make_pass = find_pass_constructor(prefix, name);
    if (!make_pass) throw Error(ValueError) << "the option " << key.name << ": there is no pass " << prefix << name;
    out.push_back(Array<ObjectRef>{number_boxes.box_int(*phase), make_pass().to<Pass>()});
  }
  return out;
}

ObjectRef config_value(const ConfigKey& key, std::string_view value) {
  if (key.type_key == "IntImm") {
    std::optional<int64_t> number = as_number(value);
    if (!number) wrong_value(key, value, "a number, true or false");
    return number_boxes.box_int(*number);
  }
  if (key.type_key == "runtime.String") return String(value);
  if (key.name == "tir.add_lower_pass") return lower_passes(key, value);
  throw Error(ValueError) << "the option " << key.name << " is of type " << key.type_key
                          << ", which cannot be given as text";
}

}  // namespace

Target target_from_text(const std::string& given, const TargetOptionTexts& options) {
  std::string text(trimmed(given));
  if (!text.empty() && text.find('\n') == text.npos && !text.starts_with('{'))
    if (std::string contents = file_contents(text); !contents.empty()) text = trimmed(contents);
  if (text.empty()) throw Error(ValueError) << "no target is named; llvm means the CPU of this machine";
  std::vector<Target> targets;
  for (const std::string& each : text.starts_with('{') ? std::vector{text} : target_texts(text))
    targets.push_back(parse_one(each));
  if (targets.size() > 2)
    throw Error(ValueError) << "a list of targets is one target, or two: the target and its host. \"" << text
                            << "\" names " << targets.size();
  if (targets.size() == 2 && targets[0]->kind.same_as(targets[1]->kind))
    throw Error(ValueError) << "the target " << targets[0]->kind->name << " is named twice in \"" << text << "\"";
  for (const auto& [kind, values] : options) {
    bool is_named = std::ranges::any_of(targets, [&](const Target& t) { return t->kind->name == kind; });
    if (!is_named && !values.empty())
      throw Error(ValueError) << "options for the target " << kind << " are given (--target-" << kind << "-"
                              << (*values.begin()).first << "), but the target is \"" << text << "\"";
  }
  for (Target& target : targets) target = with_options(target, options);
  return targets.size() == 2 ? targets[0].with_host(targets[1]) : targets[0];
}

Target with_cpu(const Target& target, const std::string& cpu) {
  const TargetOptionTexts options{{"llvm", {{"mcpu", String(cpu)}}}};
  if (target->kind->name == "llvm") return with_options(target, options);
  Target host = target.host().defined() ? target.host() : Target::parse("llvm");
  if (host->kind->name != "llvm" || target->kind->name == "c")
    throw Error(ValueError) << "a CPU is named (" << cpu << "), but nothing in the target \"" << target.str()
                            << "\" is compiled for one; -mcpu is an option of llvm";
  return target.with_host(with_options(host, options));
}

Array<String> parse_pass_list(std::string_view text) {
  constexpr std::string_view prefix = "relay._transform.";
  Array<String> out;
  if (trimmed(text).empty()) return out;
  for (std::string_view name : split(text, ',')) {
    if (!has_pass(prefix, name) && !find_pass_constructor(prefix, name))
      throw Error(ValueError) << "there is no pass \"" << name << "\"; the passes are " << joined(pass_names(prefix));
    out.push_back(String(name));
  }
  return out;
}

Map<String, ObjectRef> parse_pass_configs(const Array<String>& texts) {
  Map<String, ObjectRef> out;
  for (const String& each : texts) {
    std::string_view text(each);
    size_t equals = text.find('=');
    std::string_view name = trimmed(text.substr(0, equals));
    const ConfigKey* key = find_config_key(name);
    if (!key) {
      std::vector<std::string> known;
      for (const ConfigKey* config : all_config_keys()) known.push_back(config->name);
      throw Error(ValueError) << "there is no option \"" << name << "\" of passes; the options are " << joined(known);
    }
    if (equals == text.npos || trimmed(text.substr(equals + 1)).empty())
      throw Error(ValueError) << "an option of passes is given as name=value; \"" << text << "\" has no value";
    out.set(String(name), config_value(*key, trimmed(text.substr(equals + 1))));
  }
  return out;
}

static Globals option_text_globals{
    {"driver.target_from_text", target_from_text},
    {"driver.target_with_cpu", with_cpu},
    {"driver.parse_pass_list", [](std::string text) { return parse_pass_list(text); }},
    {"driver.parse_pass_configs", parse_pass_configs},
};

}  // namespace tessera

#include "driver/cli/config.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/json.h"
#include "driver/cli/words.h"
#include "runtime/archive/files.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using Config = Map<String, ObjectRef>;

Config read_config(const std::string& name) {
  std::vector<std::string> paths{name};
  if (const char* folder = std::getenv("TVM_CONFIGS_JSON_DIR"))
    for (const char* suffix : {"", ".json"}) paths.push_back(std::string(folder) + "/" + name + suffix);
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) continue;
    ObjectRef value = parse_json(MappedFile(path, "the configuration").bytes());
    if (!value.as<MapNode>()) throw Error(ValueError) << "the configuration " << path << " is no JSON object";
    return Config(downcast<Ref<MapNode>>(value));
  }
  if (name == "default") return {};
  throw Error(ValueError) << "there is no configuration \"" << name
                          << "\": it is no file, and none in the folder that TVM_CONFIGS_JSON_DIR names";
}

std::string value_text(const ObjectRef& value) {
  if (auto* text = value.as<StringNode>()) return text->text;
  int64_t number = 0;
  if (number_boxes.unbox_int(value.get(), &number)) return std::to_string(number);
  return to_json(value);
}

/// Flags of a kind with options: {"kind": "aot", "link-params": 1}.
void add_kind(const std::string& flag, const ObjectRef& value, std::vector<std::string>* out) {
  auto* map = value.as<MapNode>();
  if (!map) return out->push_back("--" + flag + "=" + value_text(value));
  Config options{Ref<MapNode>(map)};
  if (!options.count("kind")) throw Error(ValueError) << "the configuration of \"" << flag << "\" has no \"kind\"";
  std::string kind = value_text(options["kind"]);
  out->push_back("--" + flag + "=" + kind);
  for (const auto& [name, option] : options)
    if (name != "kind") out->push_back("--" + flag + "-" + kind + "-" + name.str() + "=" + value_text(option));
}

std::vector<std::string> flags_of(const Config& config, bool has_target) {
  std::vector<std::string> out;
  for (const auto& [key, value] : config) {
    std::string flag = key.str();
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (flag == "targets") {
      auto* list = value.as<ArrayNode>();
      if (!list || list->items.empty())
        throw Error(ValueError) << "\"targets\" of the configuration is no list of targets";
      std::string kinds;
      std::vector<std::string> options;
      for (const ObjectRef& target : list->items) {
        std::vector<std::string> words;
        add_kind("target", target, &words);
        kinds += (kinds.empty() ? "" : ", ") + words[0].substr(words[0].find('=') + 1);
        options.insert(options.end(), words.begin() + 1, words.end());
      }
      if (has_target) continue;  // the user's own target has the user's own options
      out.push_back("--target=" + kinds);
      out.insert(out.end(), options.begin(), options.end());
    } else {
      add_kind(flag, value, &out);
    }
  }
  return out;
}

bool is_flag(const std::string& word, const std::string& flag) { return word == flag || word.starts_with(flag + "="); }

}  // namespace

std::vector<std::string> with_config(const CLI::App& app, const std::vector<std::string>& words) {
  size_t at = 0;
  const CLI::App* command = find_command(app, words, &at);
  if (!command) return words;
  std::string name = "default";
  for (size_t i = 0; i < at; ++i) {
    if (words[i] == "--config") name = words[++i];
    else if (words[i].starts_with("--config=")) name = words[i].substr(9);
  }
  bool has_target =
      std::any_of(words.begin(), words.end(), [](const std::string& w) { return is_flag(w, "--target"); });
  std::vector<std::string> out(words.begin(), words.begin() + static_cast<ptrdiff_t>(at) + 1);
  for (const std::string& flag : flags_of(read_config(name), has_target))
    if (command->get_option_no_throw(flag.substr(0, flag.find('=')))) out.push_back(flag);
  out.insert(out.end(), words.begin() + static_cast<ptrdiff_t>(at) + 1, words.end());
  return out;
}

}  // namespace tessera::cli

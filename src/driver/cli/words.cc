#include "driver/cli/words.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/similar_names.h"

namespace tessera::cli {
namespace {

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> out;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  return out;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* command : app.get_subcommands({})) out.push_back(command->get_name());
  return out;
}

/// The flag that an abbreviation stands for; itself where it is whole or stands for none.
std::string whole_flag(const CLI::App& command, const std::string& given) {
  std::vector<std::string> found;
  for (const std::string& flag : flags_of(command)) {
    if (flag == given) return given;
    if (flag.starts_with(given)) found.push_back(flag);
  }
  if (found.size() <= 1) return found.empty() ? given : found[0];
  throw CLI::ParseError(given + " could mean " + CLI::detail::join(found, ", "), CLI::ExitCodes::ExtrasError);
}

}  // namespace

const CLI::App* find_command(const CLI::App& app, const std::vector<std::string>& words, size_t* index) {
  size_t at = 0;
  for (; at < words.size() && words[at].starts_with("-"); ++at)
    if (words[at] == "--config") ++at;  // the one flag of the program that takes a value
  *index = at;
  for (const CLI::App* known : app.get_subcommands({}))
    if (at < words.size() && known->get_name() == words[at]) return known;
  return nullptr;
}

std::vector<std::string> with_whole_flags(const CLI::App& app, std::vector<std::string> words) {
  size_t index = 0;
  const CLI::App* command = find_command(app, words, &index);
  if (!command) return words;
  for (size_t i = index + 1; i < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with("--")) continue;
    size_t end = std::min(words[i].find('='), words[i].size());
    words[i] = whole_flag(*command, words[i].substr(0, end)) + words[i].substr(end);
  }
  return words;
}

std::string unknown_words(const CLI::App& app, const std::vector<std::string>& words) {
  size_t index = 0;
  const CLI::App* command = find_command(app, words, &index);
  std::string out;
  for (const std::string& word : app.remaining(true)) {
    bool is_flag = word.starts_with("--");
    std::string name = word.substr(0, is_flag ? word.find('=') : word.npos);
    std::vector<std::string> known;
    if (is_flag) known = similar_names(name, flags_of(command ? *command : app));
    else if (!command) known = similar_names(name, commands_of(app));
    out += (out.empty() ? "" : ", ") + word;
    if (!known.empty()) out += " (did you mean " + CLI::detail::join(known, ", ") + "?)";
  }
  return (command ? command->get_name() + " does not know " : "unknown: ") + out;
}

}  // namespace tessera::cli

// tessera completion: a script by which a shell completes commands, flags and the words that flags take.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "driver/cli/cli.h"

namespace tessera::cli {
namespace {

struct Flag {
  std::vector<std::string> names;    // "--device", "-v"
  std::vector<std::string> choices;  // the words that it takes, where there is a list of them
  std::string help;
  bool takes_value = false;
};

struct Command {
  std::string name, help;
  std::vector<Flag> flags;
  std::vector<std::string> words;  // commands inside it, and what its first argument may be
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The list that CLI11 shows after the type: "TEXT:{cpu,cuda}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  std::string shown = option.get_type_name();
  size_t begin = shown.find('{'), end = shown.find('}');
  if (begin == shown.npos || end == shown.npos) return {};
  return split_list(shown.substr(begin + 1, end - begin - 1));
}

Command command_of(const CLI::App& app) {
  Command out{app.get_name(), first_line(app.get_description()), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // not told in the help either
    if (option->get_positional()) {
      for (const std::string& word : choices_of(*option)) out.words.push_back(word);
      continue;
    }
    Flag flag{{}, choices_of(*option), first_line(option->get_description()), option->get_items_expected_max() > 0};
    for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
    out.flags.push_back(std::move(flag));
  }
  for (const CLI::App* inner : app.get_subcommands({})) out.words.push_back(inner->get_name());
  return out;
}

std::string flag_words(const Command& command) {
  std::vector<std::string> out;
  for (const Flag& flag : command.flags) out.insert(out.end(), flag.names.begin(), flag.names.end());
  return fmt::format("{}", fmt::join(out, " "));
}

/// For text in single quotes.
std::string shell_quoted(std::string text) {
  for (size_t at = 0; (at = text.find('\'', at)) != text.npos; at += 4) text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

std::string bash_script(const Command& whole, const std::vector<Command>& commands) {
  std::string flags = fmt::format("    \"\") flags={} words={} ;;\n", shell_quoted(flag_words(whole)),
                                  shell_quoted(fmt::format("{}", fmt::join(whole.words, " "))));
  std::string choices;
  for (const Command& command : commands) {
    flags += fmt::format("    {}) flags={} words={} ;;\n", command.name, shell_quoted(flag_words(command)),
                         shell_quoted(fmt::format("{}", fmt::join(command.words, " "))));
    for (const Flag& flag : command.flags)
      for (const std::string& name : flag.names)
        if (!flag.choices.empty())
          choices += fmt::format("    \"{} {}\") words={}; flags= ;;\n", command.name, name,
                                 shell_quoted(fmt::format("{}", fmt::join(flag.choices, " "))));
  }
  return R"(# bash completion of tessera. In ~/.bashrc:  source <(tessera completion bash)
_tessera() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" command="" flags="" words="" i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "${COMP_WORDS[i]}" in
    --config) ((++i)) ;;
    -*) ;;
    *) command="${COMP_WORDS[i]}"; break ;;
    esac
  done
  case "$command" in
)" + flags +
         R"(  esac
  case "$command $previous" in
)" + choices +
         R"(  esac
  COMPREPLY=()
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  else
    [[ -n $words ]] && COMPREPLY=($(compgen -W "$words" -- "$current"))
    [[ ${#COMPREPLY[@]} -eq 0 && -n $command ]] && COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _tessera tessera tvmc
)";
}

std::string zsh_script(const Command& whole, const std::vector<Command>& commands) {
  auto escaped = [](std::string text) {  // for the text in [...] of _arguments
    std::string out;
    for (char c : text) out += (c == '[' || c == ']' || c == ':' || c == '\\' ? "\\" : "") + std::string(1, c);
    return out;
  };
  auto arguments = [&](const Command& command) {
    std::string out;
    for (const Flag& flag : command.flags)
      for (const std::string& name : flag.names) {
        std::string value =
            flag.choices.empty() ? ":value:_files" : fmt::format(":value:({})", fmt::join(flag.choices, " "));
        out += " \\\n        " + shell_quoted(name + "[" + escaped(flag.help) + "]" + (flag.takes_value ? value : ""));
      }
    return out;
  };
  std::string listed, cases;
  for (const Command& command : commands) {
    listed += "    " + shell_quoted(command.name + ":" + escaped(command.help)) + "\n";
    std::string rest =
        command.words.empty() ? "*:file:_files" : fmt::format("*:word:({})", fmt::join(command.words, " "));
    cases += fmt::format("      {})\n        _arguments{} \\\n        {} ;;\n", command.name, arguments(command),
                         shell_quoted(rest));
  }
  return R"(#compdef tessera tvmc
# zsh completion of tessera. In ~/.zshrc:  source <(tessera completion zsh)
_tessera() {
  local -a commands
  commands=(
)" + listed +
         R"(  )
  local context state line
  _arguments -C)" +
         arguments(whole) + R"( \
        '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument)
      case $words[1] in
)" + cases +
         R"(      esac ;;
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _tessera "$@"; else compdef _tessera tessera tvmc; fi
)";
}

std::string fish_script(const Command& whole, const std::vector<Command>& commands) {
  std::string out =
      "# fish completion of tessera. Once:  tessera completion fish > ~/.config/fish/completions/tessera.fish\n";
  auto add_flags = [&](const std::string& where, const Command& command) {
    for (const Flag& flag : command.flags) {
      out += "complete -c tessera -n " + shell_quoted(where);
      for (const std::string& name : flag.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!flag.choices.empty()) out += " -xa " + shell_quoted(fmt::format("{}", fmt::join(flag.choices, " ")));
      else if (flag.takes_value) out += " -r";
      out += " -d " + shell_quoted(flag.help) + "\n";
    }
  };
  add_flags("__fish_use_subcommand", whole);
  for (const Command& command : commands) {
    out += fmt::format("complete -c tessera -f -n __fish_use_subcommand -a {} -d {}\n", command.name,
                       shell_quoted(command.help));
    const std::string inside = "__fish_seen_subcommand_from " + command.name;
    if (!command.words.empty())
      out += fmt::format("complete -c tessera -f -n {} -a {}\n", shell_quoted(inside),
                         shell_quoted(fmt::format("{}", fmt::join(command.words, " "))));
    add_flags(inside, command);
  }
  return out + "complete -c tvmc -w tessera\n";
}

}  // namespace

void add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "A script by which a shell completes what is typed");
  command->add_option("SHELL", *shell, "The shell")->check(CLI::IsMember({"bash", "zsh", "fish"}))->required();
  command->footer("bash and zsh: source <(tessera completion bash). fish: tessera completion fish | source");
  command->callback([shell, &app] {
    Command whole = command_of(app);
    std::vector<Command> commands;
    for (const CLI::App* each : app.get_subcommands({})) commands.push_back(command_of(*each));
    fmt::print("{}", *shell == "bash"  ? bash_script(whole, commands)
                     : *shell == "zsh" ? zsh_script(whole, commands)
                                       : fish_script(whole, commands));
  });
}

}  // namespace tessera::cli

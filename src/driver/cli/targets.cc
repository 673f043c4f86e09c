// tessera targets: what code can be made for.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "driver/cli/cli.h"
#include "driver/cli/json.h"
#include "driver/cli/terminal.h"
#include "ir/target/options.h"
#include "runtime/registry.h"

namespace tessera::cli {
namespace {

bool has_code_generator(const TargetKind& kind) {
  return static_cast<bool>(find_global("target.build." + kind->name.str()));
}

void print_targets() {
  constexpr size_t kIndent = 22;
  fmt::print("{:<16}{:<6}{}\n", "kind", "code", "options");
  for (const TargetKind& kind : target_kinds()) {
    std::vector<std::string> options;
    for (const auto& [option, type] : target_options(kind)) options.push_back("-" + std::string(option));
    std::string line = fmt::format("{:<16}{:<6}{}", kind->name.str(), has_code_generator(kind) ? "yes" : "no",
                                   wrapped(options, kIndent, terminal_width()));
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

void print_targets_json() {
  Array<ObjectRef> out;
  for (const TargetKind& kind : target_kinds()) {
    std::vector<std::string> options;
    for (const auto& [option, type] : target_options(kind)) options.emplace_back(option);
    out.push_back(JsonObject{
        {"kind", kind->name}, {"code", json_value(has_code_generator(kind))}, {"options", json_list(options)}});
  }
  fmt::print("{}\n", to_json(JsonObject{{"targets", out}}));
}

}  // namespace

void add_targets(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* targets = app.add_subcommand("targets", "The machines that code can be made for, and the options of each");
  targets->add_flag("--json", *json, "Print one JSON object");
  targets->callback([json] { *json ? print_targets_json() : print_targets(); });
}

}  // namespace tessera::cli

// tessera targets: what code can be made for.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "driver/cli/cli.h"
#include "ir/target_options.h"
#include "runtime/registry.h"

namespace tessera::cli {
namespace {

void show() {
  fmt::print("{:<16}{:<12}{}\n", "kind", "code", "options");
  for (const TargetKind& kind : target_kinds()) {
    std::string name = kind->name.str(), options;
    bool is_built_in = static_cast<bool>(find_global("target.build." + name));
    for (const auto& [option, type] : target_options(kind))
      options += (options.empty() ? "-" : " -") + std::string(option);
    fmt::print("{:<16}{:<12}{}\n", name, is_built_in ? "yes" : "no", options);
  }
}

}  // namespace

void add_targets(CLI::App& app) {
  app.add_subcommand("targets", "The machines that code can be made for, and the options of each")->callback(show);
}

}  // namespace tessera::cli

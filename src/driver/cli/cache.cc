// tessera cache: what the kernel cache holds, and how to empty it.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "codegen/kernel_cache.h"
#include "driver/cli/cli.h"
#include "driver/cli/json.h"

namespace tessera::cli {
namespace {

using codegen::KernelCache;

void show(bool json) {
  KernelCache::Info info = KernelCache::get().info();
  if (json) return fmt::print("{}\n", to_json(cache_facts()));
  if (!info.off_because.empty()) return fmt::print("the kernel cache is off: {}\n", info.off_because);
  fmt::print("folder   {}\nkernels  {}\nsize     {} of at most {}\n", info.folder, info.entries, bytes_text(info.bytes),
             bytes_text(info.max_bytes));
}

void clear(bool json) {
  auto removed = static_cast<int64_t>(KernelCache::get().clear());
  if (json) fmt::print("{}\n", to_json(JsonObject{{"removed", json_value(removed)}}));
  else fmt::print("removed {} kernels\n", removed);
}

}  // namespace

JsonObject cache_facts() {
  KernelCache::Info info = KernelCache::get().info();
  if (!info.off_because.empty()) return {{"off", String(info.off_because)}};
  return {{"folder", String(info.folder)},
          {"kernels", json_value(static_cast<int64_t>(info.entries))},
          {"bytes", json_value(static_cast<int64_t>(info.bytes))},
          {"max_bytes", json_value(static_cast<int64_t>(info.max_bytes))}};
}

void add_cache(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* cache = app.add_subcommand("cache", "Compiled kernels cached on disk: where, how many, and removing them");
  cache->footer(
      "TESSERA_CACHE_DIR is the folder, TESSERA_CACHE_BYTES about how much may lie there, TESSERA_CACHE=0 turns the "
      "cache off.");
  CLI::App* clearing = cache->add_subcommand("clear", "Remove all of them");
  CLI::App* showing = cache->add_subcommand("show", "Where the cache is and what it holds (the default)");
  for (CLI::App* each : {cache, clearing, showing}) each->add_flag("--json", *json, "Print one JSON object");
  cache->callback([=] { clearing->parsed() ? clear(*json) : show(*json); });
}

}  // namespace tessera::cli

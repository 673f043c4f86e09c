// tessera cache: what the kernel cache holds, and how to empty it.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "codegen/kernel_cache.h"
#include "driver/cli/cli.h"

namespace tessera::cli {
namespace {

using codegen::KernelCache;

void show() {
  KernelCache::Info info = KernelCache::get().info();
  if (!info.off_because.empty()) return fmt::print("the kernel cache is off: {}\n", info.off_because);
  fmt::print("folder   {}\nkernels  {}\nsize     {} of at most {}\n", info.folder, info.entries, bytes_text(info.bytes),
             bytes_text(info.max_bytes));
}

}  // namespace

void add_cache(CLI::App& app) {
  CLI::App* cache = app.add_subcommand("cache", "Compiled kernels kept on disk: where, how many, and removing them");
  cache->footer(
      "TESSERA_CACHE_DIR is the folder, TESSERA_CACHE_BYTES about how much may lie there, TESSERA_CACHE=0 turns the "
      "cache off.");
  CLI::App* clear = cache->add_subcommand("clear", "Remove all of them");
  clear->callback([] { fmt::print("removed {} kernels\n", KernelCache::get().clear()); });
  cache->add_subcommand("show", "Where the cache is and what it holds (the default)");
  cache->callback([clear] {
    if (!clear->parsed()) show();
  });
}

}  // namespace tessera::cli

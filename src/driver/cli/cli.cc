#include "driver/cli/cli.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tessera::cli {

std::string bytes_text(uint64_t bytes) {
  const char* units[] = {"bytes", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(units)) value /= 1000, ++unit;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

int run(int argc, char** argv) {
  CLI::App app("Tessera compiles machine-learning models and runs them.", "tessera");
  app.set_version_flag("--version", TESSERA_VERSION);
  app.require_subcommand(1);
  add_cache(app);
  add_doctor(app);
  add_targets(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tessera: {}\n", error.what());
    return 1;
  }
}

}  // namespace tessera::cli

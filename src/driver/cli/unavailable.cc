// tessera micro: a command of tvmc that is not there yet.

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "driver/cli/cli.h"

namespace tessera::cli {

void add_unavailable(CLI::App& app) {
  CLI::App* micro = app.add_subcommand("micro", "Projects for microcontrollers (not there yet)");
  micro->allow_extras();
  micro->callback([] {
    throw Error(NotImplementedError)
        << "projects for microcontrollers are not there yet; `tessera compile` makes libraries "
        << "for Linux on x86, ARM and RISC-V";
  });
}

}  // namespace tessera::cli

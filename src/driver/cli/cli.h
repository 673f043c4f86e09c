#pragma once
// The program `tessera`: one file for each of its commands, which adds itself to the command line.
//
// Exit codes: 0 done, 1 something is wrong (said on stderr), 2 the command line is wrong.

#include <CLI/CLI.hpp>

namespace tessera::cli {

void add_cache(CLI::App& app);
void add_doctor(CLI::App& app);
void add_targets(CLI::App& app);

/// All of the program.
int run(int argc, char** argv);

/// "3.7 MB".
std::string bytes_text(uint64_t bytes);

}  // namespace tessera::cli

#pragma once
// The program `tessera`, which is also `tvmc`: one file for each of its commands, which adds itself to the command line.
//
// Exit codes, as tvmc has them: 0 done; 1 no command, or a failure of the program itself; 2 the command line is wrong;
// 4 what was asked for cannot be done (said on stderr as "Error: ..."); 5 the format of the model cannot be read.

#include <CLI/CLI.hpp>

namespace tessera::cli {

void add_cache(CLI::App& app);
void add_compile(CLI::App& app);
void add_doctor(CLI::App& app);
void add_run(CLI::App& app);
void add_targets(CLI::App& app);
void add_unavailable(CLI::App& app);

/// How often -v was given. Commands that have it say more.
int& verbosity();
void add_verbose(CLI::App& command);

/// All of the program.
int run(int argc, char** argv);

/// "3.7 MB".
std::string bytes_text(uint64_t bytes);

}  // namespace tessera::cli

#pragma once
// The program `tessera`, which is also `tvmc`: one file for each of its commands, which adds itself to the command line.
//
// Exit codes, as tvmc has them: 0 done; 1 no command, a failure of the program itself, or the answer "no" of a command that
// was asked something (`diff`, `inspect`, `bench --compare`); 2 the command line is wrong; 4 what was asked for cannot be done
// (said on stderr as "Error: ..."); 5 the format of the model cannot be read.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace tessera::cli {

void add_bench(CLI::App& app);
void add_cache(CLI::App& app);
void add_compile(CLI::App& app);
void add_completion(CLI::App& app);
void add_diff(CLI::App& app);
void add_doctor(CLI::App& app);
void add_generate(CLI::App& app);
void add_inspect(CLI::App& app);
void add_quantize(CLI::App& app);
void add_rpc(CLI::App& app);
void add_run(CLI::App& app);
void add_targets(CLI::App& app);
void add_tune(CLI::App& app);
void add_unavailable(CLI::App& app);

/// How often -v was given. Commands that have it say more.
int& verbosity();
void add_verbose(CLI::App& command);

/// True where the program was started as `tvmc`: what v0.10 promises of it holds, such as the names in files of outputs.
bool& is_tvmc();

/// Thrown by a command that has done its work and ends with this exit code: "the models differ" is no error.
struct ExitWith {
  int code;
};

/// All of the program.
int run(int argc, char** argv);

/// "a,b,c" without empty parts and blanks around them.
std::vector<std::string> split_list(const std::string& text, char at = ',');

/// "3.7 MB".
std::string bytes_text(uint64_t bytes);
/// A FileError where the file that a command will write has no folder: hours of work should not end so.
void check_folder(const std::string& file);
/// Text of a file, fit to be printed: control characters, which would speak to the terminal, are shown as '?'.
std::string printable(std::string_view text);

}  // namespace tessera::cli

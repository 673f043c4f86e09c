#include "driver/cli/cli.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>

#include "driver/cli/config.h"
#include "driver/cli/words.h"
#include "frontend/errors.h"
#include "runtime/api_version.h"

namespace tessera::cli {
namespace {

enum ExitCode { kDone = 0, kFailed = 1, kWrongCommandLine = 2, kError = 4, kMissingFrontend = 5 };

ExitCode code_of(const Error& error) {
  if (error.kind() == InternalError) return kFailed;
  return error.kind() == MissingFrontend ? kMissingFrontend : kError;
}

int run(CLI::App& app, std::vector<std::string> words) {
  words = with_config(app, with_whole_flags(app, std::move(words)));
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 takes them
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ExtrasError&) {
    throw CLI::ExtrasError(unknown_words(app, words), CLI::ExitCodes::ExtrasError);
  }
  if (!app.get_subcommands().empty()) return kDone;
  fmt::print("{}", app.help());
  return kFailed;
}

}  // namespace

std::vector<std::string> split_list(const std::string& text, char at) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(at, begin), text.size());
    size_t first = text.find_first_not_of(' ', begin),
           last = end == 0 ? text.npos : text.find_last_not_of(' ', end - 1);
    if (first < end && last != text.npos) out.push_back(text.substr(first, last - first + 1));
    begin = end + 1;
  }
  return out;
}

void check_folder(const std::string& file) {
  std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  if (!std::filesystem::is_directory(folder))
    throw Error(FileError) << "cannot write " << file << ": there is no folder " << folder.string();
}

std::string bytes_text(uint64_t bytes) {
  const char* units[] = {"bytes", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(units)) value /= 1000, ++unit;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return out;
}

int& verbosity() {
  static int level = 0;
  return level;
}

bool& is_tvmc() {
  static bool value = false;
  return value;
}

void add_verbose(CLI::App& command) {
  command.add_flag_function(
      "-v,--verbose", [](int64_t count) { verbosity() += static_cast<int>(count); },
      "Say what is done and how long it takes");
}

int run(int argc, char** argv) {
  std::string_view program = argc > 0 ? argv[0] : "";
  is_tvmc() = program.substr(program.rfind('/') + 1) == "tvmc";
  CLI::App app("Tessera compiles machine-learning models and runs them.", "tessera");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", fmt::format("tessera {} (API of TVM {})", TESSERA_VERSION, kApiVersion));
  std::string config;
  app.add_option("--config", config, "A JSON file with defaults for the flags of commands");
  add_verbose(app);
  add_compile(app);
  add_rpc(app);
  add_run(app);
  add_generate(app);
  add_quantize(app);
  add_bench(app);
  add_inspect(app);
  add_diff(app);
  add_cache(app);
  add_doctor(app);
  add_targets(app);
  add_tune(app);
  add_completion(app);
  add_unavailable(app);
  try {
    return run(app, {argv + 1, argv + argc});
  } catch (const ExitWith& exit) {
    return exit.code;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kWrongCommandLine;
  } catch (const Error& error) {
    fmt::print(stderr, "Error: {}\n", error.kind() == InternalError ? error.what() : error.message());
    return code_of(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "Error: {}\n", error.what());
    return kFailed;
  }
}

}  // namespace tessera::cli

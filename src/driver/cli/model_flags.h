#pragma once
// Flags that say which model is meant and how it is compiled: those of `tvmc compile`, shared by all commands that take a
// model. A struct of flags must stay where it is until the command line is parsed.

#include <string>
#include <utility>
#include <vector>

#include "driver/cli/target_flags.h"
#include "driver/compile_model.h"

namespace CLI {
class App;
}

namespace tessera::cli {

/// Which model.
struct ModelFlags {
  std::string path, format, input_shapes, allow_links;

  /// Adds FILE (unless `path_name` is empty), --model-format, --input-shapes and --allow-links.
  void add_to(CLI::App& command, const std::string& path_name = "FILE");
  InputShapes shapes() const;
  LoadedModel load() const { return load_model(path, {format, shapes(), allow_links}); }
};

/// How it is compiled.
struct CompileFlags {
  TargetFlags target;
  int opt_level = 3;
  std::string executor, runtime = "cpp", desired_layout, disabled_pass, tuning_records, module_name = "default";
  std::string precision = "fp32";
  bool takes_int8 = false;  // also --precision int8, which the command sees to
  std::vector<std::string> pass_config;
  std::vector<std::pair<std::string, std::string>> executor_options, runtime_options;  // "aot-unpacked-api" and "1"
  std::vector<std::string> pool_flags;                                                 // the names of those given

  void add_to(CLI::App& command);
  /// What was asked for; an error for what is not there yet.
  CompileOptions options() const;
  /// The same for no target yet.
  CompileOptions options_but_target() const;
};

}  // namespace tessera::cli

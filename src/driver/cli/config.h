#pragma once
// --config: defaults of flags from a JSON file.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tessera::cli {

/// The command line with the defaults of `--config NAME` put before the words of its command, so that what a user says
/// comes last and wins. NAME is a file, or a name looked for in $TVM_CONFIGS_JSON_DIR; "default" is
/// {"targets": [{"kind": "llvm"}]}.
///
///   {"targets": [{"kind": "llvm", "mcpu": "skylake"}], "executor": {"kind": "graph", "link-params": 1}, "output": "m.tar"}
///   =>  --target llvm --target-llvm-mcpu skylake --executor graph --executor-graph-link-params 1 --output m.tar
///
/// Keys that the command has no flag for are those of other commands and are left out.
std::vector<std::string> with_config(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace tessera::cli

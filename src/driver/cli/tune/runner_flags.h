#pragma once
// --runner and what it needs: where candidates run.

#include <memory>
#include <string>

#include "tune/measure.h"

namespace CLI {
class App;
}

namespace tessera::cli {

struct RunnerFlags {
  std::string kind = "local", tracker, key;

  void add_to(CLI::App& command);
  /// An error where it cannot be.
  std::unique_ptr<tune::CandidateRunner> make() const;
};

}  // namespace tessera::cli

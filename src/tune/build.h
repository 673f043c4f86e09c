#pragma once
// Building candidates in processes of the compiler: one that takes too long, crashes or asks for too much memory is a result with
// an error, and a new process is there for the next.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ir/module.h"
#include "runtime/rpc/worker.h"
#include "tune/measure_error.h"

namespace tessera::tune {

struct BuildResult {
  MeasureError error = MeasureError::None;
  std::string message;
  double seconds = 0;
  bool has_died = false;  // the process that built it: what it built may end another one too
};

/// A candidate that is to become the library `path`: `text` makes what the other process is sent, on the thread that sends it.
struct BuildOrder {
  std::function<std::string()> text;
  std::string path;
};

class BuildProcesses {
 public:
  /// `words`: the command line of a process that has the global function `builder`, which is called with the text and the path
  /// and gives what went wrong, or nothing.
  BuildProcesses(std::vector<std::string> words, std::string builder);
  /// `threads` at once; 0: as many as there are cores. `timeout`: seconds for each; 0: no limit.
  std::vector<BuildResult> build(const std::vector<BuildOrder>& orders, size_t threads, double timeout);

 private:
  std::unique_ptr<rpc::WorkerProcess> take();
  void give_back(std::unique_ptr<rpc::WorkerProcess> process);
  BuildResult build_one(const BuildOrder& order, double timeout);

  std::vector<std::string> words_;
  std::string builder_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<rpc::WorkerProcess>> idle_;
};

/// The same in this process, which `build` must not harm: it throws where it cannot. Nothing ends one that takes too long.
std::vector<BuildResult> build_here(size_t count, size_t threads, const std::function<void(size_t)>& build);

/// Builds lowered programs into files.
using BuildPrograms = std::function<std::vector<BuildResult>(const std::vector<IRModule>& programs,
                                                             const std::vector<std::string>& paths)>;

}  // namespace tessera::tune

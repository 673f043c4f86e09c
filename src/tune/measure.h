#pragma once
// The measurement core: candidates that were built (build.h) run in another process. A crash, a hang, too much memory or a wrong
// command in a candidate is a result with an error, not the end of the search.

#include <functional>

#include "runtime/ndarray.h"
#include "runtime/rpc/worker.h"
#include "tune/measure_error.h"

namespace tessera::tune {

struct RunOptions {
  double timeout = 10;  // seconds, of loading and running one candidate
  int64_t number = 4, repeat = 3, min_repeat_ms = 0;
  int device_type = kDLCPU;
};

struct TensorSpec {
  std::vector<int64_t> shape;
  DataType dtype;
  NDArray value = nullptr;  // of this machine; random ones where there is none
};

struct RunResult {
  MeasureError error = MeasureError::None;
  std::string message;
  std::vector<double> seconds;
};

/// Runs libraries in a session that it may have to open again. Where none can be opened, an error ends the search: that is no fault of
/// a candidate.
class CandidateRunner {
 public:
  virtual ~CandidateRunner() = default;
  virtual RunResult run(const std::string& path, const std::string& function, const std::vector<TensorSpec>& args,
                        const RunOptions& options);
  /// Runs two libraries on the same random tensors; a wrong answer where a result of the second is another. `inputs` of `args` are
  /// inputs, the others results.
  virtual RunResult compare(const std::string& first, const std::string& second, const std::string& function,
                            const std::vector<TensorSpec>& args, size_t inputs, const RunOptions& options);

 protected:
  /// The session, opened where there is none.
  virtual std::shared_ptr<rpc::ClientSession> session() = 0;
  /// Loads a library of this machine.
  virtual Module load(rpc::ClientSession& session, const std::string& path) = 0;
  /// Ends a session that has failed; how it ended, where that is known.
  virtual std::string drop() = 0;
  /// How often a candidate is tried again whose session was lost, where that may be the other machine's doing.
  virtual int retries() const { return 0; }

 private:
  /// Random arguments over there, which candidates share: making them takes longer than running most candidates.
  struct Shared {
    std::weak_ptr<rpc::ClientSession> session;  // that has them
    int device_type = 0;
    std::vector<TensorSpec> specs;
    std::vector<Any> args;
    double best = 0;  // seconds of the fastest candidate that has run on them; 0: none has
  };
  Shared& shared_args(const std::shared_ptr<rpc::ClientSession>& session, const std::vector<TensorSpec>& specs,
                      DLDevice device);

  Shared shared_;

  RunResult guarded(const RunOptions& options,
                    const std::function<RunResult(const std::shared_ptr<rpc::ClientSession>&)>& act);
};

/// In a worker process of this machine, which reads the libraries where they are.
std::unique_ptr<CandidateRunner> make_local_runner(const std::string& program);
/// On servers that a tracker lists under a key; libraries are uploaded.
std::unique_ptr<CandidateRunner> make_rpc_runner(const std::string& host, int port, const std::string& key,
                                                 int priority);

}  // namespace tessera::tune

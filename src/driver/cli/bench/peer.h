#pragma once
// Another runtime in a process of its own (python/tessera/bench_peers.py), asked over a pipe.

#include <string>
#include <vector>

#include "driver/cli/python_process.h"
#include "runtime/ndarray.h"

namespace tessera::cli {

/// The peers that can be asked for, by their names on the command line.
inline const std::vector<std::string> kPeers{"ort", "openvino"};
bool is_peer(const std::string& name);

/// The process ends with the object. A peer that is not installed, or a process that cannot be started, is an error that says
/// what to install.
class Peer {
 public:
  struct Request {
    std::string peer, model, inputs;  // the name, the ONNX file, a .npz file
    int threads = 1;
    std::vector<std::string> layers = {};  // values inside the model that are wanted as further outputs
  };
  explicit Peer(const Request& request);

  std::string name, version;
  std::vector<std::string> outputs;  // their names
  double first_answer_seconds =
      0;  // from nothing to the first answer, imports of Python left out where they are cached

  /// Seconds of one run, `count` means of `number` runs each.
  std::vector<double> measure(int64_t count, int64_t number);
  /// The answers of the last run.
  std::vector<NDArray> results();

 private:
  Map<String, ObjectRef> ask(const Map<String, ObjectRef>& request);

  PythonProcess process_;
};

}  // namespace tessera::cli

#pragma once
// A compiled model as commands run it: inputs by name, outputs in order, times and profiles, whichever executor it has.

#include "frontend/load_model.h"
#include "runtime/archive/npy.h"
#include "runtime/executable/executable.h"

namespace tessera::cli {

/// The device of `--device`: "cpu", "cuda", "cl", ... An error when this machine has none of it.
DLDevice device_of(const std::string& name);

class Runner {
 public:
  /// `compiled` as compile_model and load_package give it.
  Runner(Module compiled, DLDevice device);
  Runner(std::unique_ptr<Executable> program, DLDevice device);

  /// Without parameters. An extent of -1 is one that each run decides.
  const std::vector<TensorInfo>& inputs() const { return program_->inputs(); }
  DLDevice device() const { return device_; }
  /// "graph" or "vm".
  const char* kind() const { return program_->kind(); }
  /// Bytes of intermediate results and scratch memory.
  size_t memory() const { return program_->memory(); }

  /// Copies the tensors in; each must have the element type and shape of the input of its name.
  void set_inputs(const NamedTensors& tensors);
  void run();
  /// Results of the last run, on the host, under the names that the model gives them ("output_0" where it gives none).
  NamedTensors outputs() const;
  /// Seconds of one run, `repeat` means of `number` runs each, after one that is not counted. `end_to_end` includes the way
  /// of inputs and outputs between the host and the device.
  std::vector<double> measure(int64_t number, int64_t repeat, bool end_to_end);
  /// What each kernel call took, as the mean of `runs` runs; 0: of as many as half a second allows, at most ten.
  profiling::Report profile(int64_t runs = 1);

 private:
  std::unique_ptr<Executable> program_;
  DLDevice device_;
  NamedTensors given_;
  std::vector<NDArray> inputs_, results_;  // on the device
};

/// "host:port" or "host" of --rpc-tracker.
std::pair<std::string, int> tracker_address(const std::string& text);
/// The package run by a server: the one at that address, or one that the tracker there lists under `key`. The device is the
/// server's.
Runner remote_runner(const std::string& package, const std::string& device, const std::string& host, int port,
                     const std::string& key);

enum class Fill { Zeros, Ones, Random };
Fill fill_of(const std::string& name);

/// A tensor for each input: the one of its name in `given`, else one that is filled. Dynamic extents are those of `shapes`, else
/// those that dimensions of the same name have in another input, else 1. Random numbers are the same for the same seed: floats from 0 to 1, bytes from 0 to 127, other integers 0 or 1 (they
/// are often indices into a table). A tensor that no input has the name of, or of the wrong type or shape, is a
/// ValueError that says what there is.
NamedTensors make_inputs(const std::vector<TensorInfo>& inputs, const NamedTensors& given, Fill fill,
                         const InputShapes& shapes = {}, uint64_t seed = 0);

}  // namespace tessera::cli

#pragma once
// A compiled model as commands run it: inputs by name, outputs in order, times and profiles, whichever executor it has.

#include "frontend/load_model.h"
#include "runtime/archive/npy.h"
#include "runtime/package/model.h"
#include "runtime/profiling/profiling.h"

namespace tessera::cli {

/// The device of `--device`: "cpu", "cuda", "cl", ... An error when this machine has none of it.
DLDevice device_of(const std::string& name);

class Runner {
 public:
  /// `compiled` as compile_model and load_package give it.
  Runner(Module compiled, DLDevice device);

  /// Without parameters. An extent of -1 is one that each run decides.
  const std::vector<TensorInfo>& inputs() const { return inputs_; }
  DLDevice device() const { return device_; }
  bool is_virtual_machine() const { return is_machine_; }

  /// Copies the tensors in; each must have the element type and shape of the input of its name.
  void set_inputs(const NamedTensors& tensors);
  void run() { run_(); }
  /// Results of the last run, on the host, under the names that the model gives them ("output_0" where it gives none).
  NamedTensors outputs() const;
  /// Seconds of one run, `repeat` means of `number` runs each, after one that is not counted. `end_to_end` includes the way
  /// of inputs and outputs between the host and the device.
  std::vector<double> measure(int64_t number, int64_t repeat, bool end_to_end);
  /// What each kernel call took, as the mean of `runs` runs; 0: of as many as half a second allows, at most ten.
  profiling::Report profile(int64_t runs = 1);

 private:
  /// A function that profiles one run.
  std::function<profiling::Report()> profiled_run();

  Module compiled_, executor_;
  DLDevice device_;
  bool is_machine_ = false;
  std::vector<TensorInfo> inputs_;
  NamedTensors given_;
  Array<String> output_names_;
  PackedFunc set_input_, run_, get_output_, get_num_outputs_;
};

enum class Fill { Zeros, Ones, Random };
Fill fill_of(const std::string& name);

/// A tensor for each input: the one of its name in `given`, else one that is filled. Open extents are those of `shapes`, else
/// those that dimensions of the same name have in another input, else 1. Random numbers are the same for the same seed: floats from 0 to 1, bytes from 0 to 127, other integers 0 or 1 (they
/// are often places in a table). A tensor that no input has the name of, or of the wrong type or shape, is a
/// ValueError that says what there is.
NamedTensors make_inputs(const std::vector<TensorInfo>& inputs, const NamedTensors& given, Fill fill,
                         const InputShapes& shapes = {}, uint64_t seed = 0);

}  // namespace tessera::cli

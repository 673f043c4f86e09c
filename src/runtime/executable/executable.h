#pragma once
// A compiled program that can be run, whatever kind it is of: a graph, or a program of the virtual machine.

#include <memory>

#include "runtime/executable/tensor_info.h"
#include "runtime/module/module.h"
#include "runtime/profiling/profiling.h"

namespace tessera {

/// The state of one caller at a time around code and weights that all callers share.
class Executable {
 public:
  virtual ~Executable() = default;

  virtual const char* kind() const = 0;  // "graph" or "vm", as `tessera compile --executor` has it
  /// What `run` takes, in order: parameters of the model are not among them.
  const std::vector<TensorInfo>& inputs() const { return inputs_; }
  /// What it gives, in order; empty where only a run can tell.
  const std::vector<TensorInfo>& outputs() const { return outputs_; }

  /// Results that no later run and nobody else writes to. The inputs fit what `inputs` says. Result i is put into outs[i] where
  /// there is such a tensor and the program can write there; none of those overlaps another.
  virtual std::vector<NDArray> run(std::span<const NDArray> inputs, std::span<const NDArray> outs) = 0;
  /// What each kernel call of one run took. What is done once for all runs is done before it.
  virtual profiling::Report profile(std::span<const NDArray> inputs, const profiling::Collectors& collectors) = 0;
  /// Seconds of one run with the inputs of the last, as `repeat` means of `number` runs, where the program measures itself; none
  /// where calls of `run` are to be measured.
  virtual std::vector<double> measure(int64_t number, int64_t repeat) {
    (void)number, (void)repeat;
    return {};
  }
  /// Bytes that this caller's state holds now: intermediate results and scratch memory, without weights that are shared.
  virtual size_t memory() const = 0;

 protected:
  std::vector<TensorInfo> inputs_, outputs_;
};

/// True for a program of the virtual machine.
bool is_vm_program(const Module& compiled);
/// The first device of the kind that the program was compiled for.
DLDevice default_device(const Module& compiled);

/// `compiled` is what a build or a library file gives: a factory with the function `<its name>(device)` that makes executors
/// with set_input, run and get_output, or a program of the virtual machine. Devices of further kinds that the program
/// needs are the first of their kind.
std::unique_ptr<Executable> make_executable(const Module& compiled, const std::vector<DLDevice>& devices);

}  // namespace tessera

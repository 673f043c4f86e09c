#pragma once
// A compiled model that many threads may run at once: one object, one copy of code and weights.

#include <memory>
#include <mutex>
#include <optional>

#include "runtime/cpu/thread_pool.h"
#include "runtime/executable/executable.h"

namespace tessera {

class Model {
 public:
  /// `compiled` as make_executable takes it. Without a device the model runs on the first one of the kind it was compiled for;
  /// without threads of its own, on those of the process.
  explicit Model(Module compiled, std::optional<DLDevice> device = std::nullopt,
                 std::unique_ptr<Threads> threads = nullptr);

  /// What `run` takes, in order: parameters of the model are not among them.
  const std::vector<TensorInfo>& inputs() const { return inputs_; }
  /// What it gives, in order; empty where only a run can tell.
  const std::vector<TensorInfo>& outputs() const { return outputs_; }
  DLDevice device() const { return device_; }
  /// Those of its own; null where it uses the process's.
  const Threads* threads() const { return threads_.get(); }
  /// The index of the input of that name; a ValueError that lists the inputs when there is none.
  size_t input_index(const std::string& name) const;

  /// Any number of threads may be inside. Tensors of other devices are copied. A missing (empty) or wrongly shaped
  /// input is a ValueError that names it. Result i is put into outs[i] where that is given; the caller's memory is used
  /// directly where executors can write there.
  ///
  /// Each caller has an executor to itself while it runs; there are as many as callers ever were at once. Nothing is
  /// locked but the list of idle ones, for as long as one is taken out or put back.
  std::vector<NDArray> run(std::span<const NDArray> inputs, std::span<const NDArray> outs = {}) const;
  /// How many executors there are, running and idle.
  size_t executors() const;

 private:
  struct Lease;
  std::unique_ptr<Executable> make_executor() const;
  void check_outs(std::span<const NDArray> outs) const;

  Module compiled_;
  DLDevice device_{};
  std::unique_ptr<Threads> threads_;
  std::vector<TensorInfo> inputs_, outputs_;
  mutable std::mutex mutex_;   // guards idle_ and made_
  mutable std::mutex making_;  // look-ups in modules happen one after the other
  mutable std::vector<std::unique_ptr<Executable>> idle_;
  mutable size_t made_ = 0;
};

}  // namespace tessera

#pragma once
// Runs a static graph of compiled functions: one caller's state around shared code and parameters.

#include <unordered_map>

#include "runtime/graph_executor/graph.h"
#include "runtime/module/module.h"
#include "runtime/ndarray.h"

namespace tessera {

/// Memory is planned and allocated when the executor is made; `run` neither allocates nor locks.
class GraphExecutor {
 public:
  /// Functions are looked up in `code` and what it imports. The first device is where the graph runs. `params` on that
  /// device are used where they lie, by any number of executors; setting such an input gives it memory of its own.
  GraphExecutor(std::shared_ptr<const Graph> graph, Module code, std::vector<DLDevice> devices,
                const Map<String, NDArray>& params = {});
  GraphExecutor(Graph graph, Module code, std::vector<DLDevice> devices, const Map<String, NDArray>& params = {})
      : GraphExecutor(std::make_shared<const Graph>(std::move(graph)), std::move(code), std::move(devices), params) {}

  int num_inputs() const { return static_cast<int>(graph_.inputs.size()); }
  int num_outputs() const { return static_cast<int>(graph_.outputs.size()); }
  /// The index of the input of that name, -1 when there is none.
  int input_index(const std::string& name) const;
  const std::string& input_name(int index) const { return graph_.nodes[input_node(index)].name; }

  NDArray input(int index) const { return values_[input_entry(index)]; }
  NDArray output(int index) const { return values_[output_entry(index)]; }
  /// Copies the contents; the shape and element type must be the input's.
  void set_input(int index, const DLTensor* data);
  /// Uses the caller's memory from now on, which must stay until it is replaced. It must lie on the same device, be
  /// row-major, and be aligned like our own: `is_usable` tells. An input is in our own memory again after `set_input`.
  void set_input_zero_copy(int index, const DLTensor* data);
  void set_output_zero_copy(int index, const DLTensor* data);
  static bool is_usable(const DLTensor* data, DLDevice device);
  void run();
  /// Grows whenever a value is somewhere else in memory than before.
  uint64_t moves() const { return moves_; }
  /// Bytes of intermediate results and inputs, without parameters that others share.
  size_t memory() const { return memory_; }

  /// Fills inputs by name; names the graph does not have are left out, as v0.10 does.
  void load_params(const Map<String, NDArray>& params);
  /// Uses the other executor's tensors for these names, so that both share memory.
  void share_params(const GraphExecutor& other, const Map<String, NDArray>& names);
  bool is_param(int index) const { return params_.count(input_node(index)) != 0; }

  const Graph& graph() const { return graph_; }
  NDArray value(uint32_t entry) const { return values_[entry]; }
  size_t num_steps() const { return steps_.size(); }
  void run_step(size_t step);
  uint32_t step_node(size_t step) const { return steps_[step].node; }
  /// The step that runs a node; -1 for inputs and nodes that only rename.
  int64_t step_of(size_t node) const;
  const std::vector<DLDevice>& devices() const { return devices_; }

 private:
  /// One call with its arguments ready.
  struct Step {
    uint32_t node;
    PackedFunc function;
    std::vector<DLTensor> tensors;
    std::vector<int64_t> flat_shapes;
    std::vector<TesseraValue> slots;
    std::vector<int> codes;
    std::vector<uint32_t> entries;  // which value each argument is
  };

  /// Memory of the caller's.
  struct Memory {
    void* data;
    uint64_t byte_offset;
    int output = -1;  // the one it was given for
  };

  uint32_t input_node(int index) const;
  uint32_t input_entry(int index) const { return graph_.first_entry[input_node(index)]; }
  uint32_t output_entry(int index) const;
  DLDevice device_of(const Graph::Entry& entry) const;
  void allocate(const Map<String, NDArray>& params);
  std::unordered_map<uint32_t, NDArray> lent(const Map<String, NDArray>& params);
  void find_origins();
  void prepare(uint32_t node);
  void check_memory(uint32_t entry, const DLTensor* data, const std::string& what) const;
  void point_steps_at(uint32_t entry, const Memory& memory);
  Memory own_memory(uint32_t entry) const;
  DLTensor seen_as(uint32_t entry, const Memory& memory) const;
  void fill_copies();

  std::shared_ptr<const Graph> shared_graph_;
  const Graph& graph_;
  Module code_;
  size_t memory_ = 0;
  uint64_t moves_ = 0;
  std::vector<DLDevice> devices_;
  std::vector<NDArray> values_;                // of every entry
  std::vector<uint32_t> origins_;              // of every entry: the one that it only renames, else itself
  std::vector<bool> is_input_;                 // of every entry
  std::unordered_map<uint32_t, Memory> lent_;  // what stands for the memory of an origin
  std::unordered_map<int, Memory> copies_;     // outputs whose memory no step writes: filled after each run
  std::vector<Step> steps_;
  std::unordered_map<std::string, int> input_of_name_;
  std::unordered_map<uint32_t, bool> params_;  // input nodes that hold parameters; true: in memory that others share
};

}  // namespace tessera

#include "runtime/graph_executor/graph_executor.h"

#include <algorithm>

#include "runtime/package/model_names.h"

namespace tessera {
namespace {

constexpr size_t kAlignment = 64;
constexpr const char* kNoOperation = "__nop";
constexpr const char* kCopy = "__copy";

/// (from, to), which may lie on different devices.
PackedFunc copy_function() {
  return PackedFunc([](Args args, Any*) { copy_tensor(args[0].to<DLTensor*>(), args[1].to<DLTensor*>()); });
}

/// An error unless `data` has the shape and element type of `wanted`.
void check_like(const DLTensor* data, const DLTensor* wanted, const std::string& what) {
  bool same_shape = data->ndim == wanted->ndim && std::equal(data->shape, data->shape + data->ndim, wanted->shape);
  if (!same_shape || DataType(data->dtype) != DataType(wanted->dtype))
    throw Error(ValueError) << what << " is " << describe(wanted) << ", but the tensor given is " << describe(data);
}

}  // namespace

GraphExecutor::GraphExecutor(std::shared_ptr<const Graph> graph, Module code, std::vector<DLDevice> devices,
                             const Map<String, NDArray>& params)
    : shared_graph_(std::move(graph)), graph_(*shared_graph_), code_(std::move(code)), devices_(std::move(devices)) {
  if (devices_.empty()) throw Error(ValueError) << "the graph executor needs a device to run on";
  for (size_t i = 0; i < graph_.inputs.size(); ++i)
    input_of_name_.emplace(graph_.nodes[graph_.inputs[i]].name, static_cast<int>(i));
  find_origins();
  allocate(params);
  for (uint32_t node = 0; node < graph_.nodes.size(); ++node) prepare(node);
}

DLDevice GraphExecutor::device_of(const Graph::Entry& entry) const {
  if (entry.device_type == 0) return devices_[0];
  for (DLDevice device : devices_)
    if (device.device_type == entry.device_type) return device;
  throw Error(ValueError) << "the graph was compiled for a device of kind " << device_type_name(entry.device_type)
                          << ", which was not given";
}

/// Entries whose values are parameters that can be used where they lie.
std::unordered_map<uint32_t, NDArray> GraphExecutor::lent(const Map<String, NDArray>& params) {
  std::unordered_map<uint32_t, int> users;
  for (const Graph::Entry& entry : graph_.entries) ++users[entry.storage];
  std::unordered_map<uint32_t, NDArray> out;
  for (const auto& [name, tensor] : params) {
    int index = input_index(std::string(name));
    if (index < 0) continue;
    const Graph::Entry& entry = graph_.entries[input_entry(index)];
    DLDevice device = device_of(entry), given = tensor.device();
    bool is_there = device.device_type == given.device_type && device.device_id == given.device_id;
    bool is_like = std::ranges::equal(tensor.shape(), entry.shape) && tensor.dtype() == entry.dtype;
    if (is_there && is_like && users[entry.storage] == 1 && is_contiguous(tensor.tensor()))
      out.emplace(input_entry(index), tensor);
  }
  return out;
}

void GraphExecutor::allocate(const Map<String, NDArray>& params) {
  std::unordered_map<uint32_t, NDArray> shared = lent(params);
  struct Storage {
    size_t bytes = 0;
    DLDevice device{};
    NDArray memory;
  };
  std::unordered_map<uint32_t, Storage> storages;
  for (const Graph::Entry& entry : graph_.entries) {
    Storage& storage = storages[entry.storage];
    DLDevice device = device_of(entry);
    bool is_first = storage.device.device_type == 0;
    if (!is_first && (storage.device.device_type != device.device_type || storage.device.device_id != device.device_id))
      throw Error(ValueError) << "graph JSON: storage " << entry.storage << " is used on two devices";
    storage.device = device;
    storage.bytes = std::max(storage.bytes, tensor_bytes(entry.shape, entry.dtype));
  }
  for (uint32_t i = 0; i < graph_.entries.size(); ++i) {
    const Graph::Entry& entry = graph_.entries[i];
    if (auto it = shared.find(i); it != shared.end()) {
      values_.push_back(it->second);
      continue;
    }
    Storage& storage = storages[entry.storage];
    if (!storage.memory) {
      int64_t bytes = static_cast<int64_t>(storage.bytes);
      storage.memory = NDArray::empty(std::span(&bytes, 1), DataType::UInt(8), storage.device);
      memory_ += storage.bytes;
    }
    values_.push_back(storage.memory.view(entry.shape, entry.dtype));
  }
  for (const auto& [name, tensor] : params) {
    int index = input_index(std::string(name));
    if (index < 0) continue;
    bool is_shared = shared.count(input_entry(index));
    if (!is_shared) set_input(index, tensor.tensor());
    params_[input_node(index)] = is_shared;
  }
}

void GraphExecutor::prepare(uint32_t index) {
  const Graph::Node& node = graph_.nodes[index];
  if (node.is_input() || node.function == kNoOperation) return;
  Step step;
  step.node = index;
  step.function = node.function == kCopy ? copy_function() : code_.get_function(node.function, true);
  if (!step.function)
    throw Error(ValueError) << "the graph calls " << node.function << ", which the library does not have";
  for (const Graph::Value& input : node.inputs) step.entries.push_back(graph_.entry(input));
  for (uint32_t i = 0; i < node.outputs; ++i) step.entries.push_back(graph_.first_entry[index] + i);
  if (node.function == kCopy && step.entries.size() != 2)
    throw Error(ValueError) << "graph JSON: node " << index << " (" << node.name << ") does not copy one value to one";
  step.flat_shapes.resize(step.entries.size());
  step.tensors.resize(step.entries.size());
  steps_.push_back(std::move(step));
  Step& placed = steps_.back();  // its vectors stay where they are from now on
  for (size_t i = 0; i < placed.entries.size(); ++i) {
    DLTensor& tensor = placed.tensors[i];
    tensor = *values_[placed.entries[i]].tensor();
    if (node.flattens) {
      placed.flat_shapes[i] = values_[placed.entries[i]].size();
      tensor.ndim = 1;
      tensor.shape = &placed.flat_shapes[i];
      tensor.strides = nullptr;
    }
    TesseraValue slot;
    slot.v_handle = &tensor;
    placed.slots.push_back(slot);
    placed.codes.push_back(kTesseraDLTensor);
  }
}

uint32_t GraphExecutor::input_node(int index) const {
  if (index < 0 || index >= num_inputs())
    throw Error(IndexError) << "input " << index << " of a graph that has " << num_inputs();
  return graph_.inputs[static_cast<size_t>(index)];
}

uint32_t GraphExecutor::output_entry(int index) const {
  if (index < 0 || index >= num_outputs())
    throw Error(IndexError) << "output " << index << " of a graph that has " << num_outputs();
  return graph_.entry(graph_.outputs[static_cast<size_t>(index)]);
}

int GraphExecutor::input_index(const std::string& name) const {
  auto it = input_of_name_.find(name);
  return it == input_of_name_.end() ? -1 : it->second;
}

/// Nodes without operation give their argument another shape. Files may be forged: only what surely is the same memory
/// counts.
void GraphExecutor::find_origins() {
  origins_.resize(graph_.entries.size());
  is_input_.resize(graph_.entries.size());
  for (uint32_t i = 0; i < origins_.size(); ++i) origins_[i] = i;
  for (uint32_t node : graph_.inputs) is_input_[graph_.first_entry[node]] = true;
  for (uint32_t index = 0; index < graph_.nodes.size(); ++index) {
    const Graph::Node& node = graph_.nodes[index];
    if (node.is_input() || node.function != kNoOperation || node.inputs.size() != 1 || node.outputs != 1) continue;
    const uint32_t to = graph_.first_entry[index], from = graph_.entry(node.inputs[0]);
    const Graph::Entry &a = graph_.entries[from], &b = graph_.entries[to];
    const bool is_same = a.storage == b.storage && tensor_bytes(a.shape, a.dtype) == tensor_bytes(b.shape, b.dtype);
    if (is_same) origins_[to] = origins_[from];
  }
}

void GraphExecutor::set_input(int index, const DLTensor* data) {
  uint32_t entry = input_entry(index);
  NDArray& value = values_[entry];
  check_like(data, value.tensor(), "input " + input_name(index));
  bool is_elsewhere = lent_.erase(entry) > 0;
  if (auto it = params_.find(input_node(index)); it != params_.end() && it->second) {
    value = NDArray::empty(value.shape(), value.dtype(), value.device());
    it->second = false;
    is_elsewhere = true;
  }
  if (is_elsewhere) point_steps_at(entry, own_memory(entry));
  copy_tensor(data, value.tensor());
}

bool GraphExecutor::is_usable(const DLTensor* data, DLDevice device) {
  return data->device.device_type == device.device_type && data->device.device_id == device.device_id &&
         is_contiguous(data) && reinterpret_cast<uintptr_t>(data_of(data)) % kAlignment == 0;
}

void GraphExecutor::check_memory(uint32_t entry, const DLTensor* data, const std::string& what) const {
  const DLTensor* ours = values_[entry].tensor();
  check_like(data, ours, what);
  if (is_usable(data, ours->device)) return;
  if (data->device.device_type != ours->device.device_type || data->device.device_id != ours->device.device_id)
    throw Error(ValueError) << what << " is used without a copy, but lies on another device";
  if (!is_contiguous(data)) throw Error(ValueError) << what << " is used without a copy, but is not row-major";
  throw Error(ValueError) << what << " is used without a copy, but is not aligned to " << kAlignment << " bytes";
}

void GraphExecutor::set_input_zero_copy(int index, const DLTensor* data) {
  const uint32_t entry = input_entry(index);
  check_memory(entry, data, "input " + input_name(index));
  lent_[entry] = {data->data, data->byte_offset};
  point_steps_at(entry, lent_[entry]);
}

void GraphExecutor::set_output_zero_copy(int index, const DLTensor* data) {
  const uint32_t entry = output_entry(index), origin = origins_[entry];
  check_memory(entry, data, "output " + std::to_string(index));
  bool is_taken = is_input_[origin];  // no step writes it; or another output is the same value
  for (int other = 0; other < num_outputs(); ++other)
    is_taken |= other < index && origins_[output_entry(other)] == origin;
  const Memory memory{data->data, data->byte_offset, index};
  if (is_taken) {
    ++moves_;
    copies_[index] = memory;
  } else {
    lent_[origin] = memory;
    point_steps_at(entry, memory);
  }
}

GraphExecutor::Memory GraphExecutor::own_memory(uint32_t entry) const {
  const DLTensor* tensor = values_[entry].tensor();
  return {tensor->data, tensor->byte_offset};
}

DLTensor GraphExecutor::seen_as(uint32_t entry, const Memory& memory) const {
  DLTensor out = *values_[entry].tensor();
  out.data = memory.data;
  out.byte_offset = memory.byte_offset;
  return out;
}

void GraphExecutor::point_steps_at(uint32_t entry, const Memory& memory) {
  ++moves_;
  for (Step& step : steps_) {
    for (size_t i = 0; i < step.entries.size(); ++i) {
      if (origins_[step.entries[i]] != origins_[entry]) continue;
      step.tensors[i].data = memory.data;
      step.tensors[i].byte_offset = memory.byte_offset;
      if (step.tensors[i].shape != &step.flat_shapes[i])
        step.tensors[i].shape = values_[step.entries[i]].tensor()->shape;
    }
  }
}

/// Outputs that are an input or the same value as another output, which lies in the caller's memory.
void GraphExecutor::fill_copies() {
  for (int i = 0; i < num_outputs(); ++i) {
    const uint32_t entry = output_entry(i);
    auto lent = lent_.find(origins_[entry]);
    auto wanted = copies_.find(i);
    if (wanted == copies_.end() && (lent == lent_.end() || lent->second.output == i)) continue;
    DLTensor from = seen_as(entry, lent == lent_.end() ? own_memory(origins_[entry]) : lent->second);
    DLTensor to = seen_as(entry, wanted == copies_.end() ? own_memory(entry) : wanted->second);
    copy_tensor(&from, &to);
  }
}

int64_t GraphExecutor::step_of(size_t node) const {
  auto at = std::lower_bound(steps_.begin(), steps_.end(), node,
                             [](const Step& step, size_t wanted) { return step.node < wanted; });
  return at != steps_.end() && at->node == node ? at - steps_.begin() : -1;
}

void GraphExecutor::run_step(size_t index) {
  Step& step = steps_[index];
  Any result;
  try {
    step.function.call_packed({step.slots.data(), step.codes.data(), static_cast<int>(step.slots.size())}, &result);
  } catch (Error& error) {
    add_source_nodes(error, graph_.nodes[step.node].source_nodes);
    throw;
  }
}

void GraphExecutor::run() {
  for (size_t i = 0; i < steps_.size(); ++i) run_step(i);
  if (!lent_.empty() || !copies_.empty()) fill_copies();
}

void GraphExecutor::load_params(const Map<String, NDArray>& params) {
  for (const auto& [name, tensor] : params) {
    int index = input_index(std::string(name));
    if (index < 0) continue;
    set_input(index, tensor.tensor());
    params_[input_node(index)] = false;
  }
}

void GraphExecutor::share_params(const GraphExecutor& other, const Map<String, NDArray>& names) {
  for (const auto& [name, _] : names) {
    int index = input_index(std::string(name)), theirs = other.input_index(std::string(name));
    if (index < 0) continue;
    if (theirs < 0) throw Error(ValueError) << "the other executor has no input " << name << " to share";
    check_like(other.input(theirs).tensor(), input(index).tensor(), "input " + std::string(name));
    uint32_t entry = input_entry(index);
    values_[entry] = other.input(theirs);
    lent_.erase(entry);
    point_steps_at(entry, own_memory(entry));
    params_[input_node(index)] = true;
  }
}

}  // namespace tessera

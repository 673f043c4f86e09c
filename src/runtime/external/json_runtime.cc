#include "runtime/external/json_runtime.h"

#include <algorithm>

namespace tessera {

JsonRuntime::JsonRuntime(std::string symbol, std::string json, Array<String> const_names)
    : symbol_(std::move(symbol)),
      json_(std::move(json)),
      const_names_(std::move(const_names)),
      graph_(JsonGraph::parse(json_)) {
  if (graph_.constants.size() != const_names_.size())
    throw Error(ValueError) << symbol_ << ": the graph has " << graph_.constants.size() << " constants, but "
                            << const_names_.size() << " are named";
}

PackedFunc JsonRuntime::get_function(const std::string& name, const Module& self) {
  if (name == "get_symbol") return typed(name, [self, this] { return symbol_; });
  if (name == "get_const_vars") return typed(name, [self, this] { return const_names_; });
  if (name == "__init_" + symbol_) return typed(name, [self, this](Array<NDArray> values) { set_constants(values); });
  if (name == symbol_) return PackedFunc([self, this](Args args, Any*) { call(args); });
  return nullptr;
}

void JsonRuntime::save_to_binary(ByteWriter& out) {
  out.write(symbol_);
  out.write(json_);
  out.write(uint64_t{const_names_.size()});
  for (const String& name : const_names_) out.write(name.str());
}

void JsonRuntime::set_constants(const Array<NDArray>& given) {
  std::lock_guard lock(mutex_);
  if (given.size() != graph_.constants.size())
    throw Error(ValueError) << symbol_ << " takes " << graph_.constants.size() << " constants, not " << given.size();
  std::vector<NDArray> values;
  for (size_t i = 0; i < given.size(); ++i) {
    const JsonGraph::Tensor& wanted = graph_.nodes[graph_.constants[i]].outputs[0];
    NDArray value = given[i].copy_to(cpu());
    if (!std::ranges::equal(value.shape(), wanted.shape) || !(value.dtype() == wanted.dtype))
      throw Error(ValueError) << symbol_ << ": the constant " << const_names_[i] << " is " << describe(value.tensor())
                              << ", not " << shape_text(wanted.shape) << " " << to_text(wanted.dtype);
    values.push_back(value);
  }
  initialize(values);
  is_ready_ = true;
}

DLTensor* JsonRuntime::checked(const AnyView& given, const JsonGraph::Tensor& wanted, int position) const {
  auto* tensor = given.to<DLTensor*>();
  bool fits = tensor && tensor->device.device_type == kDLCPU && is_contiguous(tensor) &&
              DataType(tensor->dtype) == wanted.dtype &&
              std::ranges::equal(std::span(tensor->shape, static_cast<size_t>(tensor->ndim)), wanted.shape);
  if (!fits)
    throw Error(ValueError) << symbol_ << ": argument " << position << " has to be a row-major tensor on the CPU, "
                            << shape_text(wanted.shape) << " " << to_text(wanted.dtype) << ", not "
                            << (tensor ? describe(tensor) : "nothing");
  return tensor;
}

void JsonRuntime::call(Args args) {
  const size_t count = graph_.inputs.size() + graph_.heads.size();
  if (args.size() != static_cast<int>(count))
    throw Error(ValueError) << symbol_ << " takes " << graph_.inputs.size() << " tensors and gives "
                            << graph_.heads.size() << "; it was called with " << args.size();
  std::vector<DLTensor*> inputs, outputs;
  for (uint32_t node : graph_.inputs) {
    const int at = static_cast<int>(inputs.size());
    inputs.push_back(checked(args[at], graph_.nodes[node].outputs[0], at));
  }
  for (JsonGraph::Value head : graph_.heads) {
    const int at = static_cast<int>(inputs.size() + outputs.size());
    outputs.push_back(checked(args[at], graph_.tensor(head), at));
  }
  std::lock_guard lock(mutex_);
  if (!is_ready_ && !graph_.constants.empty())
    throw Error(RuntimeError) << symbol_ << " has no constants yet; call __init_" << symbol_ << " with them first";
  if (!is_ready_) initialize({});
  is_ready_ = true;
  run(inputs, outputs);
}

}  // namespace tessera

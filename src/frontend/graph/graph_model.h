#pragma once
// A model as a list of layers, whatever file it came from. Readers make it; nothing in it is checked yet but its form.

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/graph/fields.h"
#include "runtime/ndarray.h"

namespace tessera::frontend {

struct GraphModel;

struct GraphNode {
  std::string op, name;
  std::vector<std::string> inputs, outputs;            // names of values; "" is one that is left out
  std::vector<std::string> input_slots, output_slots;  // of each, where operators of the framework name their arguments
  std::vector<std::string> weights;                    // names of parameters that belong to the layer, in its own order
  Fields attributes;
  std::vector<std::shared_ptr<const GraphModel>> graphs;  // bodies of branches and loops
};

struct GraphInput {
  std::string name;
  std::vector<int64_t> shape;  // -1 is dynamic
  DataType dtype = DataType::Float(32);
  bool has_shape = true;  // else the caller must give it
};

struct GraphModel {
  std::string framework;  // as messages call it
  std::vector<GraphInput> inputs;
  std::vector<std::string> unused_inputs;  // whose shapes may be given though nothing needs them: labels of training
  std::vector<GraphNode> nodes;            // producers before consumers
  std::vector<std::string> outputs;
  std::unordered_map<std::string, NDArray> params;
};

}  // namespace tessera::frontend

#pragma once
// A GraphDef, or a SavedModel, as plain structures. Names and attributes are views into the file's bytes.

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/tensorflow/operation.h"

namespace tessera::tensorflow {

struct NodeDef {
  std::string_view name, op;
  std::vector<std::string_view> inputs;  // "node", "node:1", in functions "node:out:0"; "^node" is a control input
  std::vector<std::pair<std::string_view, std::string_view>> attributes;  // not parsed yet
};

struct FunctionDef {
  std::string_view name;
  std::vector<std::string_view> inputs, outputs;
  std::vector<NodeDef> nodes;
  std::unordered_map<std::string_view, std::string_view> results;  // by output: which tensor it is
};

struct GraphDef {
  std::vector<NodeDef> nodes;
  std::unordered_map<std::string_view, FunctionDef> functions;
};

/// Names for inputs and outputs, as a program calls the model.
struct SignatureDef {
  std::string_view key;
  std::vector<std::pair<std::string_view, std::string_view>> inputs, outputs;  // name, tensor; sorted
};

struct MetaGraph {
  GraphDef graph;
  std::vector<std::string_view> tags;
  std::vector<SignatureDef> signatures;
};

/// Reads a GraphDef; nothing of it is trusted.
GraphDef parse_graph(std::string_view bytes);
/// Reads the file saved_model.pb of a SavedModel.
std::vector<MetaGraph> parse_saved_model(std::string_view bytes);
/// True where the bytes begin like a GraphDef: a node, which has a name and an operator.
bool looks_like_graph(std::string_view bytes);

/// The attributes of a node, by name.
Attributes parse_attributes(const NodeDef& node);
/// Element types by their numbers in files; Void for those that no tensor has here.
DataType type_of_number(int64_t number);
/// A shape as files have it; nothing where even its rank is not known. -1 is an unknown extent.
std::optional<std::vector<int64_t>> parse_shape(std::string_view bytes);

}  // namespace tessera::tensorflow

#pragma once
// A program of PyTorch as plain structures, whichever way it came: TorchScript, torch.export, FX. Arguments are known by the names
// that the operator's schema gives them, so one converter serves all.

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/ndarray.h"

namespace tessera::torch {

struct Graph;

/// What a node is given for one parameter of its operator.
struct Argument {
  enum Kind { Absent, Bool, Int, Float, Text, Name, List, Weight, Block } kind = Absent;
  int64_t integer = 0;  // of an Int or Bool; 1 of a Weight of pairs that are complex numbers
  double real = 0;
  std::string text;  // of a Text; a value's name; a weight's
  std::vector<Argument> items;
  std::shared_ptr<Graph> block;  // a graph that the operator runs
};

/// A name for what a node makes, or names for the items of a list.
struct Result {
  std::string name;
  bool is_list = false;
  std::vector<Result> items;
};

struct Node {
  std::string op, overload;  // "aten::add", "Tensor"
  std::string label;         // as messages and profiles call it
  std::vector<std::pair<std::string, Argument>> args;
  std::vector<Result> results;
  std::vector<std::shared_ptr<Graph>> blocks;
};

struct Graph {
  std::vector<std::string> inputs;
  std::vector<Node> nodes;
  std::vector<Argument> outputs;
};

/// An input of the program, which its caller gives. A dimension has an extent, or a name where a run decides it.
struct Input {
  std::string name;   // in the graph
  std::string title;  // as the caller knows it
  struct Dim {
    int64_t extent = -1;
    std::string name;
  };
  std::vector<Dim> shape;
  DataType dtype;
};

struct Program {
  Graph graph;
  std::vector<Input> inputs;
  std::vector<std::string> output_names;  // may be empty
  std::unordered_map<std::string, NDArray> weights;
  /// Weights that become parameters; the others are constants.
  std::vector<std::string> params;
};

/// Numbers of element types as TorchScript has them.
DataType element_type_of(int64_t scalar_type);
/// Whether such a number stands for a type of quantised integers.
bool is_quantized_type(int64_t scalar_type);
/// The number of a type; -1 where torch has none.
int64_t scalar_type_of(DataType dtype);

/// Inputs with other shapes than the program says: -1 is an extent that a run decides. Names of one extent are given one number.
void set_shapes(Program* program, const std::unordered_map<std::string, std::vector<int64_t>>& shapes);

/// Reads the JSON that the Python side writes. A ValueError says what is wrong.
Program read_graph(std::string_view text);

}  // namespace tessera::torch

#pragma once
// The graph of an external function in v0.10's JSON form, which runtimes of libraries interpret.
//
//   {"nodes": [{"op": "input", "name": "dev_0_i0", "attrs": {"dtype": [["float32"]], "shape": [[[1, 8]]]}},
//              {"op": "kernel", "name": "nn.relu", "inputs": [[0, 0, 0]], "attrs": {"num_inputs": "1", "num_outputs": "1", ...}}],
//    "arg_nodes": [0], "heads": [[1, 0, 0]], "node_row_ptr": [0, 1, 2]}

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace tessera {

struct JsonGraph {
  /// Output `index` of node `node`.
  struct Value {
    uint32_t node = 0, index = 0;
  };
  struct Tensor {
    std::vector<int64_t> shape;
    DataType dtype;
  };
  /// An argument of the function, one of its constants, or a call of an operator or of a composite function.
  struct Node {
    enum class Kind { Input, Const, Kernel };
    Kind kind = Kind::Input;
    std::string name;  // of the operator, for kernels
    std::vector<Value> inputs;
    std::vector<Tensor> outputs;
    std::map<std::string, std::vector<std::string>> attrs;  // of the operator, as text

    bool has(const std::string& attr) const { return attrs.count(attr); }
    /// The attribute; an error that names it where it is missing or no number.
    const std::vector<std::string>& texts(const std::string& attr) const;
    std::vector<int64_t> ints(const std::string& attr) const;
    std::string text(const std::string& attr, const std::string& otherwise) const;
    int64_t number(const std::string& attr, int64_t otherwise) const;
    double real(const std::string& attr, double otherwise) const;
  };

  std::vector<Node> nodes;
  std::vector<uint32_t> inputs, constants;  // nodes of those kinds, in order of `arg_nodes`
  std::vector<Value> heads;

  const Tensor& tensor(Value value) const { return nodes[value.node].outputs[value.index]; }

  /// Reads and checks: every index points at something that came before it, every tensor's bytes can be counted.
  /// Anything else is a ValueError that says what and where.
  static JsonGraph parse(std::string_view json);
};

}  // namespace tessera

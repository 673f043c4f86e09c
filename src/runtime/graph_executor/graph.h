#pragma once
// The graph that the graph executor runs, read from v0.10's JSON form.

#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace tessera {

struct Graph {
  /// Output `index` of node `node`.
  struct Value {
    uint32_t node = 0, index = 0;
  };
  /// An input or parameter (no function), or a call of a compiled function.
  struct Node {
    std::string name, function;  // "" for inputs; "__nop" only renames its input, "__copy" copies it
    std::vector<Value> inputs;
    uint32_t outputs = 1;
    bool flattens = false;                                    // the function takes its tensors with one dimension
    std::string source_nodes;                                 // of the model file; see runtime/package/model_names.h
    std::string schedule_rule;                                // by which the function was scheduled, for reports
    std::vector<std::pair<std::string, std::string>> labels;  // "hash" and layouts, for reports
    bool is_input() const { return function.empty(); }
  };
  /// What is known of each value: values of one storage share memory.
  struct Entry {
    std::vector<int64_t> shape;
    DataType dtype;
    uint32_t storage = 0;
    int device_type = 0;  // 0: where the graph runs
    std::string scope;
  };

  std::vector<Node> nodes;
  std::vector<uint32_t> inputs;  // nodes that are inputs, in order
  std::vector<Value> outputs;
  std::vector<std::string> output_names;  // as many as outputs
  std::vector<Entry> entries;
  std::vector<uint32_t> first_entry;  // of each node, and one past the last

  uint32_t entry(const Value& value) const { return first_entry[value.node] + value.index; }

  /// Reads and checks: afterwards every index points inside, nodes come after what they use, all lists have one length.
  /// Anything else is a ValueError that says what and where.
  static Graph parse(std::string_view json);
};

}  // namespace tessera

#pragma once
// From a TensorFlow graph to a Relay module. Nodes are imported when something needs them, from the outputs on; converters are
// rows of one table (operation.h). Functions are imported where they are called. Loops and branches of TensorFlow 1, which are
// Enter, Switch, Merge and their like, become what those of TensorFlow 2 do.

#include <set>

#include "frontend/common/imported.h"
#include "frontend/tensorflow/graph.h"
#include "ir/module.h"

namespace tessera::tensorflow {

struct ImportOptions {
  std::unordered_map<std::string, std::vector<int64_t>> shapes;  // of placeholders; -1 is unknown
  std::vector<std::string> outputs;                              // tensors; empty: those of the last node
  std::vector<std::string> inputs;                               // placeholders in their order; the others follow
  std::string layout;         // "NCHW": what images are computed in; else that of the graph
  bool freeze_params = true;  // constants stay constants; else parameters of the function
  std::function<NDArray(const std::string& name)> variable;  // values of variables; null: there are none
};

/// All operators that no converter takes are listed in one error.
Imported import_graph(const GraphDef& graph, const ImportOptions& options);

Survey survey_graph(const GraphDef& graph, const ImportOptions& options);

/// A SavedModel in a folder: its files, the graph that serves, the signature, and what restoring gives each variable.
class SavedModel {
 public:
  explicit SavedModel(const std::string& folder);
  ~SavedModel();
  const GraphDef& graph() const;
  /// With outputs, inputs and variables filled in, where they are not given. An empty signature is the one that is there, or
  /// "serving_default".
  ImportOptions options(ImportOptions given, const std::string& signature = "") const;

 private:
  struct Files;
  std::unique_ptr<Files> files_;
};
/// True for a folder that holds a SavedModel.
bool is_saved_model(const std::string& path);

// ---- shared by the files of the importer ----------------------------------------------------------------------------

/// An input as a node writes it.
struct TensorName {
  std::string_view node, output;  // output: the name of a function's node's result
  int64_t index = 0;
  bool is_control = false;
};
TensorName parse_name(std::string_view text);
/// Operators that the importer itself understands.
bool is_structural(std::string_view op);

}  // namespace tessera::tensorflow

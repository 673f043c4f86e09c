#pragma once
// The two sides of `tessera diff`: something that answers with outputs, and where it can with values inside the model.

#include <memory>
#include <string>
#include <vector>

#include "driver/cli/bench/peer.h"
#include "driver/cli/subject.h"
#include "relay/expr.h"
#include "runtime/archive/npy.h"
#include "runtime/package/model.h"

namespace tessera::cli {

/// A value inside a model.
struct LayerInfo {
  std::string name;          // of the tensor in an ONNX file; "nn.conv2d_3" in a Relay text
  std::string op, node;      // the operator, and the name of its node where the file has one
  bool in_function = false;  // of the ONNX file: only the importer sees it
  uint64_t bytes = 0;        // 0 where only a run can tell
};

class Side {
 public:
  virtual ~Side() = default;
  /// What it is, for people: "m.onnx, opt level 3, llvm".
  virtual std::string title() const = 0;
  /// What it takes; empty for what takes any tensors by name.
  virtual std::vector<TensorInfo> inputs() { return {}; }
  virtual std::vector<NDArray> outputs(const NamedTensors& inputs) = 0;
  /// The values inside, in the order of the computation.
  virtual std::vector<LayerInfo> layers() { return {}; }
  /// True where the names of layers come from the file, so that they mean the same in another one.
  virtual bool names_layers() const { return false; }
  /// True where any value of the ONNX file can be asked for, though there is no list.
  virtual bool has_layers_by_name() const { return false; }
  /// The values of those layers, computed together in one run.
  virtual std::vector<NDArray> values(const NamedTensors& inputs, const std::vector<std::string>& layers) = 0;
  /// The narrowest float type that values inside have, as far as they can be seen.
  virtual DataType narrowest_float() { return DataType::Float(32); }
  /// Names of the outputs; may be fewer than there are.
  virtual std::vector<std::string> output_names() { return {}; }
};

/// A model that is compiled here.
std::unique_ptr<Side> make_model_side(const ModelFlags& model, const CompileOptions& options, std::string title);
/// A package or library, of which only outputs can be seen.
std::unique_ptr<Side> make_compiled_side(const ModelFlags& model);
/// Another runtime with an ONNX file.
std::unique_ptr<Side> make_peer_side(const std::string& peer, const std::string& path);

}  // namespace tessera::cli

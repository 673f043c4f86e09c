#pragma once
// Keras models: a configuration (JSON) of layers, and their weights. Keras 2 and 3.
//
// Keras' tensors have their channels last; convolutions here want them second. The importer keeps tensors as convolutions like
// them, and notes which: a layer says in its row what it makes of that.

#include <map>
#include <unordered_map>

#include "frontend/graph/importer.h"

namespace tessera::keras {

using namespace frontend;  // NOLINT: what importers share is their language

/// Weights of a layer in the order in which the layer has them, by the path of its name: "encoder/dense_1".
using Weights = std::map<std::string, std::vector<NDArray>>;

/// The graph of a model's configuration, as `model.to_json()` and the files have it. Models inside it are written out.
GraphModel read_config(std::string_view json, const Weights& weights);

/// What a row does with tensors whose channels are second in memory and last for Keras.
enum class Order {
  Keras,    // gets them as Keras has them
  AsIs,     // takes both: all inputs lie alike, and `KerasLayer::memory_axis` says where an axis lies
  Spatial,  // asks for channels second by itself
};

class KerasImporter;

/// A layer as its converter sees it.
class KerasLayer : public LayerNode {
 public:
  KerasLayer(KerasImporter& importer, const GraphNode& node, Exprs inputs, bool is_moved);

  bool keeps_channels_last() const { return text("data_format", "channels_last") != "channels_first"; }
  /// Input i as (batch, channels, ...), whatever the layer's data_format.
  Expr channels_second(size_t i = 0) const;
  /// The result of a layer from (batch, channels, ...).
  Expr from_channels_second(Expr value) const;
  /// The axis of an AsIs row's inputs in memory, of one as Keras counts them.
  int memory_axis(int64_t given, size_t rank) const;
  /// Another layer on these inputs, as part of this one.
  Exprs call(const std::string& op, const Fields& config, std::vector<std::string> weights, Exprs inputs) const;

 private:
  KerasImporter& keras_;
  bool is_moved_;
};

struct KerasRow {
  const char* op;
  Exprs (*convert)(KerasLayer&);
  Order order = Order::Keras;
};
using KerasRows = std::vector<KerasRow>;
KerasRows attention_rows();
KerasRows core_rows();
KerasRows merge_rows();
KerasRows recurrent_rows();
KerasRows window_rows();
const std::unordered_map<std::string, KerasRow>& keras_rows();

/// The activation that a field names, of `value`; `axis` is that of softmax.
Expr activated(const KerasLayer& in, Expr value, const char* field, int axis);

/// True where inputs and outputs of a model have their channels second ("NCHW"); "NHWC" and "NDHWC" are as Keras has them.
bool moves_channels(const std::string& layout);
/// See `import_graph_model`.
Imported import_keras(const GraphModel& model, const std::string& layout, const GraphOptions& options,
                      std::vector<UnsupportedNode>* unsupported = nullptr);

}  // namespace tessera::keras

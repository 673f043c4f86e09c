#pragma once
// CoreML's neural networks, files that end in .mlmodel.

#include "frontend/graph/importer.h"
#include "frontend/graph/protobuf.h"

namespace tessera::coreml {

using namespace frontend;  // NOLINT: what importers share is their language

const ProtoMessage& model_message();
/// The message of a layer: its fields are the kinds of layers, and what else it has is in `common_layer_fields`.
const ProtoMessage& layer_message();
/// What weights are kept in, wherever they are.
const ProtoMessage& weights_message();
/// The neural network of a model, and the field it is in; nothing where the model is of another kind.
inline constexpr const char* kNetworks[] = {"neuralNetwork", "neuralNetworkClassifier", "neuralNetworkRegressor"};

bool is_mlmodel(std::string_view bytes);
GraphModel read_model(std::string_view bytes, const std::string& name);

/// Attribute of each layer: does the model map its inputs to tensors of the same rank? Else data without rows and columns has two
/// dimensions, (batch, channels), which stand for (batch, channels, 1, 1).
inline constexpr const char* kHasExactShapes = "hasExactShapes";

/// The weights that a field of a layer names.
Expr weights_of(const LayerNode& in, const Fields& fields, const char* name);
/// The axis of channels: the third from the end, or the last one of data without rows and columns.
int channel_axis(const LayerNode& in, const Expr& x);
/// A tensor of one number for each channel so that it broadcasts against `x`.
Expr along_channels(const LayerNode& in, const Expr& numbers, const Expr& x);
/// A number that counts as not there when it is zero, as messages of this format have it.
double number_or(const Fields& fields, const char* name, double otherwise);

/// Parts of so many elements, one after another.
Exprs parts_along(const LayerNode& in, int axis, const std::vector<int64_t>& sizes);
Exprs equal_parts(const LayerNode& in, int axis, int64_t count);

LayerRows channel_rows();
LayerRows shape_rows();
LayerRows tensor_rows();
LayerRows window_rows();
const LayerTable& converters();

}  // namespace tessera::coreml

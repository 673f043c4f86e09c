#pragma once
// ONNX models whose layers compute on integers: QuantizeLinear and DequantizeLinear around layers of constant weights, as other
// systems read them too.

#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/onnx/model.h"

namespace tessera::onnx {

/// A node of the main graph that can be quantised: Conv, Gemm or MatMul of data by a weight that is a constant of float32.
struct QuantizableLayer {
  size_t node;       // its index in the graph
  std::string name;  // as messages call it
  std::string data;  // the tensor that it reads
  const Tensor* weight;
  int channel;  // the weight's axis that is the result's channels
};
std::vector<QuantizableLayer> quantizable_layers(const Model& model);

/// The values of a tensor that are told apart; those outside become the nearest of them.
struct DataRange {
  float low = 0, high = 0;
};

struct QuantizedModel {
  std::string bytes;
  bool by_channel = false;  // weights have a scale for each channel: since version 13 of the operators
};
/// The model with those layers on integers. Data is uint8 with the zero point that its range asks for, weights are int8, biases
/// int32. `ranges` has the data of every layer. Tensors that lie outside of the file are written into it. A ValueError where the
/// model's version of the operators has no QuantizeLinear.
QuantizedModel quantize_model(const Model& model, const std::vector<QuantizableLayer>& layers,
                              const std::unordered_map<std::string, DataRange>& ranges);

}  // namespace tessera::onnx

#pragma once
// What recurrent layers of floats and of int8 weights share.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

/// An activation of a node, with its numbers or what holds where the node gives none.
struct CellActivation {
  std::string name;  // in lower case
  double alpha = 0, beta = 0;
};
/// Those of all directions, one after the other; `otherwise`: those of one direction where the node names none. Each takes the
/// next of the node's alphas and betas that it needs.
std::vector<CellActivation> cell_activations(Operation& in, const std::vector<const char*>& otherwise,
                                             int64_t directions);

/// LSTM whose data and states are quantised at run time.
Values dynamic_quantize_lstm(Operation& in);

}  // namespace tessera::onnx

#pragma once
// Weights as CoreML keeps them: floats of 32 or 16 bits, or integers of 1 to 8 bits with scales or a table.

#include "frontend/graph/fields.h"
#include "runtime/ndarray.h"

namespace tessera::coreml {

/// The numbers of a WeightParams message in that shape; without one, as many as there are. `owner` is what errors call them.
/// Scales are of the tensor or of each element of the dimension `channel_axis`.
NDArray read_weights(const frontend::Fields& weights, const std::vector<int64_t>* shape, size_t channel_axis,
                     const std::string& owner);

}  // namespace tessera::coreml

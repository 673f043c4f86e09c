#pragma once
// What a model of fewer bits loses: its outputs beside those of the model as it was, over samples.

#include "driver/cli/runner.h"
#include "driver/quantize_model.h"

namespace tessera::cli {

/// By the names of outputs, in order.
using Agreements = std::vector<std::pair<std::string, Agreement>>;
Agreements agreements(Runner& before, Runner& after, const std::vector<NamedTensors>& samples);

/// A table of them, a line each.
std::string text_of(const Agreements& outputs, size_t samples);

/// The samples of a .npz file, or where none is named `count` of random numbers, the same each time.
std::vector<NamedTensors> samples_of(const std::string& file, const std::vector<TensorInfo>& inputs,
                                     const InputShapes& shapes, size_t count);

}  // namespace tessera::cli

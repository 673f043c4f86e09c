#pragma once
// Quantisation after training: what the layers of a float model read is watched over samples, which gives their scales.

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver/compile_model.h"
#include "frontend/load_model.h"
#include "frontend/onnx/quantize.h"
#include "runtime/archive/npy.h"
#include "runtime/executable/tensor_info.h"

namespace tessera {

struct QuantizeOptions {
  double percentile = 99.999;     // of the values of a tensor that its range holds
  std::vector<std::string> skip;  // nodes that stay as they are
  bool with_first = false;        // also the first layer: what it loses all others see, and it has little to do
  std::optional<double> min_snr;  // decibels that results keep: layers that lose most stay in float32
};

/// The inputs of each run. A tensor of the file is one sample of the input of its name, or several: along a further first axis,
/// or along the first one where that is a multiple of the input's. A ValueError says what does not fit.
std::vector<NamedTensors> split_samples(const NamedTensors& tensors, const std::vector<TensorInfo>& inputs);

/// The layers that can be quantised and that `options` does not skip. A skipped node that is none of them is a ValueError.
std::vector<onnx::QuantizableLayer> chosen_layers(const onnx::Model& model, const QuantizeOptions& options);

/// The ranges of what these layers read, over the samples. The model is compiled with `compiling` for that.
std::unordered_map<std::string, onnx::DataRange> calibrate(const onnx::Model& model, const InputShapes& shapes,
                                                           const std::vector<onnx::QuantizableLayer>& layers,
                                                           const std::vector<NamedTensors>& samples,
                                                           const QuantizeOptions& options,
                                                           const CompileOptions& compiling);

/// The layers of `layers` to quantise so that results keep so many decibels of signal to noise over the samples: all but as few as
/// possible of those that lose most when each is quantised alone, in the order of the model. The model is compiled once for each
/// layer where not all of them can be quantised. A ValueError where none is left.
std::vector<onnx::QuantizableLayer> robust_layers(const onnx::Model& model, const InputShapes& shapes,
                                                  const std::vector<onnx::QuantizableLayer>& layers,
                                                  const std::unordered_map<std::string, onnx::DataRange>& ranges,
                                                  const std::vector<NamedTensors>& samples, double decibels,
                                                  const CompileOptions& compiling);

/// How near the results of two models are, over samples.
struct Agreement {
  double signal = 0, noise = 0;  // sums of squares, of the first model's results and of the differences
  double largest = 0;            // difference
  int64_t rows = 0, same = 0;    // along the last axis, and of these with the same largest element
  void add(const NDArray& wanted, const NDArray& given);
  /// Of signal to noise; infinite where nothing differs.
  double decibels() const;
};

}  // namespace tessera

#pragma once
// Quantisation that stays among floats: a value, not the program, says which integers are simulated.

#include "te/tensor.h"

namespace tessera::topi {

/// round(data / scale) + zero, within the range of the type that `code` (one int32) names: 1 int8, 2 uint8, 3 int32; the
/// data itself for any other. Scale and zero have an element, or one for each index along `axis`.
te::Tensor simulated_quantize(const te::Tensor& data, const te::Tensor& code, const te::Tensor& scale,
                              const te::Tensor& zero, int axis);
/// (data - zero) * scale where `code` names a type; the data itself elsewhere.
te::Tensor simulated_dequantize(const te::Tensor& data, const te::Tensor& code, const te::Tensor& scale,
                                const te::Tensor& zero, int axis);

}  // namespace tessera::topi

#pragma once
// Integers of few bits, a plane of each bit, in packed words: contractions are `and` and a count of bits.

#include "te/tensor.h"

namespace tessera::topi {

/// Words of the elements along `pack_axis`, the first element in the highest bit; bit b of each is slice b of the new
/// `bit_axis`.
te::Tensor bitpack(const te::Tensor& data, int bits, int pack_axis, int bit_axis, DataType pack_type,
                   const String& name);

struct BitserialOptions {
  int data_bits = 1, weight_bits = 1;
  DataType pack_type, out_dtype;
  bool is_unipolar = true;  // bits of the weight stand for -1 and 1, not for 0 and 1
};

/// Linear layer of (m, k) and a weight (n, k), or one that is packed: (n, bits, words).
te::Tensor bitserial_dense(const te::Tensor& data, const te::Tensor& weight, const BitserialOptions& options);

/// Convolution of NCHW data with a weight OIHW, or one that is packed (bits, o, words, h, w); of NHWC data with HWIO, or
/// (h, w, bits, words, o). `padding` is top, left, bottom, right.
te::Tensor bitserial_conv2d(const te::Tensor& data, const te::Tensor& weight, bool is_nhwc,
                            const Array<PrimExpr>& strides, const Array<PrimExpr>& padding,
                            const BitserialOptions& options);

}  // namespace tessera::topi

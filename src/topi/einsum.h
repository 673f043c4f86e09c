#pragma once
// Sums of products over letters.

#include "topi/operand.h"

namespace tessera::topi {

/// An equation such as "ij,jk->ik" or "...ij,...jk": the letters of each operand and of the result. Without "->" the
/// result has the letters that occur once, in alphabetic order. An ellipsis stands for any leading dimensions, broadcast
/// to each other. Mistakes are TypeErrors.
struct Einsum {
  std::vector<std::string> inputs;  // one letter a dimension; ellipses are replaced by digits '0', '1', ...
  std::string output, summed;

  Einsum(const std::string& equation, const std::vector<size_t>& ranks);
};

/// The extent of each letter; operands that disagree are a TypeError.
Array<PrimExpr> einsum_shape(const Einsum& einsum, const std::vector<Array<PrimExpr>>& shapes);
te::Tensor einsum(const std::string& equation, const Array<te::Tensor>& operands);

/// The windowed Fourier transform of rows of x: (rows, frequencies, windows, {real, imaginary}). The window stands in the
/// middle of `size` samples.
te::Tensor stft(const te::Tensor& x, const te::Tensor& window, int size, int step, bool normalized,
                const Array<PrimExpr>& shape);

}  // namespace tessera::topi

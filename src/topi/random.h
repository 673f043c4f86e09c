#pragma once
// Random numbers from a key, the same on every machine: Threefry-4x64 of 20 rounds (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3"). A key is ten 64-bit words: four of the cipher's key, two of the path of splits that led
// to it, a zero, how many numbers were taken, and a one-bit mark of where in the path the next split goes (two words).

#include "topi/operand.h"

namespace tessera::topi {

/// A key for the next call, and random 64-bit words.
Array<te::Tensor> threefry_generate(const te::Tensor& key, const Array<PrimExpr>& shape);
/// Two keys whose numbers have nothing to do with each other.
Array<te::Tensor> threefry_split(const te::Tensor& key);
/// A key for the next call, and numbers in [low, high), or around `mean` with that deviation.
Array<te::Tensor> uniform(const te::Tensor& key, const PrimExpr& low, const PrimExpr& high,
                          const Array<PrimExpr>& shape, DataType dtype);
Array<te::Tensor> normal(const te::Tensor& key, const PrimExpr& mean, const PrimExpr& deviation,
                         const Array<PrimExpr>& shape, DataType dtype);
/// A key for the next call, and `count` numbers of outcomes for each row of probabilities.
Array<te::Tensor> multinomial(const te::Tensor& key, const te::Tensor& probabilities, const PrimExpr& count);

}  // namespace tessera::topi

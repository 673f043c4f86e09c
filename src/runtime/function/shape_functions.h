#pragma once
// Shapes that values decide, computed on the host before memory is taken for the result. The values are whatever a model
// was given, so each is checked: all arithmetic is exact in 64 bits, and what cannot be a shape is a ValueError that names
// the operator, the value and the rule it breaks.

#include <dlpack/dlpack.h>

#include <cstdint>

namespace tessera {

/// The most elements of a tensor whose shape is known only at run time: its kernel counts them in 32 bits.
inline constexpr int64_t kMaxDynamicElements = INT32_MAX;

/// How many numbers start, start + step, ... lie before `stop`. The three are scalars of the host; a step of 0, a bound that is
/// no number and more than kMaxDynamicElements are errors.
int64_t arange_count(const DLTensor* start, const DLTensor* stop, const DLTensor* step);

}  // namespace tessera

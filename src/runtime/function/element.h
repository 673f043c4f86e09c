#pragma once
// Single elements of tensors of any type, read and written one at a time on the host.

#include "runtime/ndarray.h"

namespace tessera {

/// The value in memory as a float64; exact for all types but integers beyond 2^53.
double read_float(DataType dtype, const void* at);
/// The value in memory as an integer; floats lose their fraction.
int64_t read_int(DataType dtype, const void* at);
/// Writes the value, rounded to the nearest of the type; NaN and values beyond an integer type's range become 0 or
/// its nearest end.
void write_float(DataType dtype, double value, void* at);
/// Writes the value, truncated to the bits of an integer type.
void write_int(DataType dtype, int64_t value, void* at);

/// A tensor without dimensions on the host.
NDArray float_scalar(double value, DataType dtype);
NDArray int_scalar(int64_t value, DataType dtype);

}  // namespace tessera

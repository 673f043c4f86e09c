#pragma once
// Results of runs, for people.

#include "runtime/archive/npy.h"

namespace tessera::cli {

/// A row a tensor: name, shape, element type, least, largest and mean value, and the first values.
std::string output_table(const NamedTensors& outputs);

/// The places and values of the `count` largest numbers of the first row of a tensor, as two rows.
std::string top_values(const NDArray& tensor, int64_t count);

/// The table of --print-time: mean, median, max, min and std of these seconds, in milliseconds, as v0.10 prints it.
std::string time_table(const std::vector<double>& seconds);

}  // namespace tessera::cli

#pragma once
// Results of runs, for people and for programs.

#include "driver/cli/json.h"
#include "runtime/archive/npy.h"
#include "runtime/profiling/profiling.h"

namespace tessera::cli {

/// A row a tensor: name, shape, element type, least, largest and mean value, and the first values.
std::string output_table(const NamedTensors& outputs);

/// The indices and values of the `count` largest numbers of the first row of a tensor, as two rows.
std::string top_values(const NDArray& tensor, int64_t count);

/// What each kernel took, fit for a terminal of `width` columns (0: any): calls of one kernel with equal arguments are one row,
/// the longest first.
std::string profile_table(const profiling::ReportNode& report, size_t width);

/// An output for programs: name, shape, element type, and of its elements min, max, mean and how many are NaN.
JsonObject summary_of(const std::string& name, const NDArray& tensor);
/// Indices and values of the `count` largest numbers of the first row of a tensor.
JsonObject top_of(const NDArray& tensor, int64_t count);
/// Mean, median, max, min and std of these seconds, in milliseconds.
JsonObject times_of(const std::vector<double>& seconds);

/// The table of --print-time: mean, median, max, min and std of these seconds, in milliseconds, as v0.10 prints it.
std::string time_table(const std::vector<double>& seconds);

}  // namespace tessera::cli

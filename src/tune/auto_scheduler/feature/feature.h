#pragma once
// What cost models see of a program: 164 numbers for each tensor that is stored, as in v0.10.

#include <string>
#include <vector>

#include "tir/function.h"
#include "tune/auto_scheduler/search_task.h"

namespace tessera::auto_scheduler {

/// Points of the curve of operations for each byte.
inline constexpr size_t kCurveSamples = 10;

struct FeatureOptions {
  int cache_line_bytes = 64;
  size_t max_buffers = 5;
  bool log_scale = true;  // log2(1 + x), with the sign of x
};

/// A row for each buffer that is stored into, the last first.
std::vector<std::vector<float>> features_of(const PrimFunc& function, const FeatureOptions& options);
/// Those of the functions of a module, whose blocks become loops first; none where they cannot.
std::vector<std::vector<float>> features_of(const IRModule& mod, const FeatureOptions& options);
std::vector<std::string> feature_names(size_t max_buffers);
/// Those of the program of a state; none where it cannot be lowered.
std::vector<std::vector<float>> features_of(const SearchTask& task, const State& state, size_t max_buffers);

}  // namespace tessera::auto_scheduler

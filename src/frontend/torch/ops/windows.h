#pragma once
// Numbers of windows as torch gives them: one for all spatial dimensions, or one for each.

#include "frontend/torch/importer.h"

namespace tessera::torch {

Ints per_dimension(const Operation& in, std::string_view name, size_t spatial, int64_t otherwise);

}  // namespace tessera::torch

#pragma once
// Loops over tensors of the host, on all threads where there is much to do.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tessera::op {

/// `count` steps of about `cost` elements each, split into chunks [first, last) that any thread may run.
void in_chunks(int64_t count, int64_t cost, const std::function<void(int64_t first, int64_t last)>& run);

/// One loop of a nest: its extent and how far one step goes in what is written and in what is read, in elements.
struct CopyLoop {
  int64_t extent, to, from;
};
/// to[sum of i * to] = from[sum of i * from] for all steps of all loops; loops may stand in any order.
void copy_elements(std::vector<CopyLoop> loops, size_t element_bytes, const void* from, void* to);

/// Strides of a row-major tensor.
std::vector<int64_t> row_major(std::span<const int64_t> shape);

}  // namespace tessera::op

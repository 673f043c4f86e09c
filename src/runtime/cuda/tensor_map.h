#pragma once
// Tensors as the copy engine of Hopper takes them: boxes of a tensor of up to five axes. A kernel says which it needs, as texts that
// travel with it; their descriptors are made at its launch, when addresses are known.

#include <string>
#include <vector>

#include "base/dtype.h"

namespace tessera::cuda {

/// Element `offset` of one of the kernel's arguments and what lies around it, the axis of neighbours first. A copy moves a box to
/// lines of 128 bytes of shared memory, whose chunks of 16 bytes are exchanged by line (what wgmma reads as "128B swizzle");
/// elements beyond the extents are zeros.
/// Of windows of images, axes are channels, columns, rows, (depth,) images: `box` is channels and positions of windows, which
/// begin at `lower`, ..., `upper` - 1 beyond the last, `steps` apart.
struct TensorMap {
  int64_t argument = 0;  // of the kernel
  DataType dtype;
  int64_t offset = 0;
  std::vector<int64_t> extents;  // elements
  std::vector<int64_t> strides;  // bytes; of all axes but the first
  std::vector<int64_t> box;
  std::vector<int64_t> lower, upper,
      steps;  // of the axes between channels and images; empty where there are no windows

  bool has_windows() const { return !steps.empty(); }
  std::string text() const;
};

/// A text of another form, or numbers that the copy engine does not take, are an error.
TensorMap read_tensor_map(const std::string& text);

/// What a kernel is given.
struct alignas(64) TensorDescriptor {
  unsigned long long words[16];
};
TensorDescriptor descriptor_of(const TensorMap& map, unsigned long long argument);

}  // namespace tessera::cuda

#pragma once
// What a library computes of a kernel: a contraction and as much of its element-wise epilogue as the library has.

#include <optional>
#include <vector>

#include "kernel/kernel_tensors.h"

namespace tessera::kernel {

/// What a library is asked for: cuBLASLt for matmuls, cuDNN for the rest.
enum class VendorLibrary { Matmul, Convolution, Softmax };

struct VendorPiece {
  /// A call behind the contraction whose value the library has computed too.
  struct Part {
    enum class Kind { Cast, Bias, Residual, Relu };
    const relay::Call* call;
    Kind kind;
    int other = -1;  // the argument that is a bias or a residual
  };

  VendorLibrary library;
  const relay::Call* anchor;              // the contraction
  std::vector<Part> parts;                // in order; the value of the last is what the library gives
  std::vector<const relay::Call*> views;  // that give a bias another shape, which the library does not ask for
  DataType dtype;                         // of that

  const relay::Call* last() const { return parts.empty() ? anchor : parts.back().call; }
  bool has(Part::Kind kind) const;
};

/// The piece of the kernel that a library of the target takes, or that a partition gave to one; nothing where there is none, or several.
std::optional<VendorPiece> vendor_piece(const Workload& workload);

struct VendorOptions {
  bool allows_tf32 = false;
  bool measures = false;  // algorithms, when the kernel first runs
};
/// Tensors of the kernel whose piece a call of the library computes.
KernelTensors vendor_tensors(const Workload& workload, const CompileEnvironment& environment, const VendorPiece& piece,
                             const VendorOptions& options);

}  // namespace tessera::kernel

#pragma once
// `-libs=` of a CPU's target: contractions that a library computes instead of our kernels. And what partitions gave to libraries of
// CUDA, whose `-libs=` are rows of the kernel table.

#include "ir/module.h"
#include "ir/target/target.h"

namespace tessera::byoc {

/// True when the target names a library that takes contractions: cblas, mkl or dnnl.
bool has_libraries(const Target& target);

/// The module with nn.dense, nn.matmul and nn.batch_matmul (for dnnl also nn.conv2d) of float32 and float64 (dnnl: float32) and fixed shapes in functions for
/// the first library of the target that takes them. Types must be known.
IRModule hand_to_libraries(const IRModule& mod, const Target& target);

/// The attribute of such a kernel: the library.
inline constexpr const char* kGivenToLibrary = "tessera.library";

/// True where a partition gave functions to cuBLAS or cuDNN, and no user has a generator of that name.
bool has_vendor_partitions(const IRModule& mod);
/// The module with those functions as kernels, which the kernel table gives to the library.
IRModule vendor_kernels(const IRModule& mod);

}  // namespace tessera::byoc

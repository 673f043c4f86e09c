#pragma once
// The schedule of a fused function on a device with threads, where its operators have no rule of their own.

#include "ir/target/target.h"
#include "tir/function.h"

namespace tessera::topi {

/// Every stage becomes a kernel: element-wise ones with a thread per element (or per vector of elements where there are
/// many), reductions with a thread per result, or a block of threads per result where results are few and long. A
/// reduction that one element-wise stage reads, element by element, is computed in that stage's threads. Statements of an
/// operator's own are run by one thread.
PrimFunc schedule_default_gpu(const PrimFunc& function, const Target& target);

}  // namespace tessera::topi

#pragma once

namespace tessera::op {

/// Matrix products by micro-kernels, and constant weights packed for them, on processors that have some.
void gemm_implementations();

}  // namespace tessera::op

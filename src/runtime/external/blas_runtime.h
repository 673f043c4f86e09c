#pragma once
// A matmul that a BLAS library computes.

#include <string>

#include "runtime/module/module.h"

namespace tessera {

/// The module for a graph of one call of nn.dense, nn.matmul or nn.batch_matmul, by Intel's library or another.
Module make_blas_json(bool is_mkl, std::string symbol, std::string json);

}  // namespace tessera

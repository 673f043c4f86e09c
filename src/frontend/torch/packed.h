#pragma once
// Packed sequences: the steps that the sequences of a batch have, without those that only fill it up. A recurrent layer takes them
// padded, with their lengths.

#include "frontend/torch/importer.h"

namespace tessera::torch {

/// Sequences (steps, batch, ...) without what fills them up.
Value packed_value(const Operation& in, const Expr& padded, const Expr& lengths);
/// The same padded again; what fills them up is anything.
Expr padded_steps(const Operation& in, const Value& data, const Value& batch_sizes);
/// Their lengths.
Expr lengths_of(const Operation& in, const Value& batch_sizes);

}  // namespace tessera::torch

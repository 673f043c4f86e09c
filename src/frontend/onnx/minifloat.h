#pragma once
// Element types that take a byte in memory and mean something else: integers of fewer than eight bits, and floats of
// eight bits and fewer. A `Value` says which it is; the bytes themselves are int8 or uint8 to Relay.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

/// Rejects a node that would take the bytes of minifloats for numbers.
void check_small_inputs(const Node& node, const Values& inputs);
/// What moves elements gives the type of what it moves.
void mark_small_outputs(const Node& node, const Values& inputs, Values* outputs);

/// A tensor as numbers that Relay computes with: minifloats as float32, everything else as it is.
Expr as_numbers(const Value& value);
/// Floats as the bytes of a minifloat.
Value as_minifloat(Operation& in, Expr x, ElementType to, bool saturates, const std::string& rounding);

}  // namespace tessera::onnx

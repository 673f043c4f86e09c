#pragma once
// What operators of floats become on integers that stand for floats: the slot of FakeQuantizationToInteger.

#include <string_view>

#include "relay/type/affine_type.h"

namespace tessera::op {

using AffineTypes = Map<relay::Expr, relay::AffineType>;

/// The same operator: it moves elements, or compares them. One scale for all is needed.
Array<ObjectRef> quantized_moves(const relay::Expr& call, const AffineTypes& types);
Array<ObjectRef> quantized_relu(const relay::Expr& call, const AffineTypes& types);
/// Sums of int32, whose scale is the product of both.
Array<ObjectRef> quantized_conv2d(const relay::Expr& call, const AffineTypes& types);
Array<ObjectRef> quantized_dense(const relay::Expr& call, const AffineTypes& types);
Array<ObjectRef> quantized_batch_matmul(const relay::Expr& call, const AffineTypes& types);
/// With the scale that the result should have; none where that is not known.
relay::QuantizedForm quantized_binary(std::string_view integer_op);
Array<ObjectRef> quantized_concatenate(const relay::Expr& call, const AffineTypes& types);

}  // namespace tessera::op

#pragma once
// What operators that take shape or element type from an argument are where both are known: zeros_like is zeros.

#include "relay/slots.h"

namespace tessera::op {

relay::Expr concrete_zeros(const relay::Call* call, const TensorType& type);
relay::Expr concrete_ones(const relay::Call* call, const TensorType& type);
relay::Expr concrete_full(const relay::Call* call, const TensorType& type);
relay::Expr concrete_reshape(const relay::Call* call, const TensorType& type);
relay::Expr concrete_broadcast(const relay::Call* call, const TensorType& type);
relay::Expr concrete_cast(const relay::Call* call, const TensorType& type);
relay::Expr concrete_collapse_sum(const relay::Call* call, const TensorType& type);

}  // namespace tessera::op

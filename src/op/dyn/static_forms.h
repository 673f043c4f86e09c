#pragma once
// Operators that take a shape as a tensor, in their static form where that tensor is a constant; null where it is none.

#include "relay/expr.h"

namespace tessera::op {

relay::Expr static_broadcast_to(const relay::Call* call);
relay::Expr static_expand_dims(const relay::Call* call);
relay::Expr static_full(const relay::Call* call);
relay::Expr static_one_hot(const relay::Call* call);
relay::Expr static_ones(const relay::Call* call);
relay::Expr static_pad(const relay::Call* call);
relay::Expr static_reshape(const relay::Call* call);
relay::Expr static_resize(const relay::Call* call);
relay::Expr static_slice(const relay::Call* call);
relay::Expr static_sparse_to_dense(const relay::Call* call);
relay::Expr static_squeeze(const relay::Call* call);
relay::Expr static_tile(const relay::Call* call);
relay::Expr static_topk(const relay::Call* call);
relay::Expr static_upsampling(const relay::Call* call);
relay::Expr static_upsampling3d(const relay::Call* call);
relay::Expr static_zeros(const relay::Call* call);

}  // namespace tessera::op

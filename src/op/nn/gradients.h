#pragma once
// Gradients of the nn operators: from a call, with its types, and the gradient of its value to those of its arguments.

#include "relay/expr.h"

namespace tessera::op {

using relay::Expr;

// activation_gradients.cc
Array<Expr> relu_gradient(const Expr& call, const Expr& grad);
Array<Expr> leaky_relu_gradient(const Expr& call, const Expr& grad);
Array<Expr> prelu_gradient(const Expr& call, const Expr& grad);
Array<Expr> bias_add_gradient(const Expr& call, const Expr& grad);
Array<Expr> batch_flatten_gradient(const Expr& call, const Expr& grad);
Array<Expr> softmax_gradient(const Expr& call, const Expr& grad);
Array<Expr> log_softmax_gradient(const Expr& call, const Expr& grad);
Array<Expr> cross_entropy_gradient(const Expr& call, const Expr& grad);
Array<Expr> cross_entropy_with_logits_gradient(const Expr& call, const Expr& grad);
Array<Expr> nll_loss_gradient(const Expr& call, const Expr& grad);

// conv_gradients.cc
Array<Expr> matmul_gradient(const Expr& call, const Expr& grad);
Array<Expr> dense_pack_gradient(const Expr& call, const Expr& grad);
Array<Expr> batch_matmul_gradient(const Expr& call, const Expr& grad);
Array<Expr> conv_gradient(const Expr& call, const Expr& grad);
Array<Expr> conv_transpose_gradient(const Expr& call, const Expr& grad);
Array<Expr> conv_backward_weight_gradient(const Expr& call, const Expr& grad);

// norm_gradients.cc
Array<Expr> batch_norm_gradient(const Expr& call, const Expr& grad);
Array<Expr> layer_norm_gradient(const Expr& call, const Expr& grad);
Array<Expr> instance_norm_gradient(const Expr& call, const Expr& grad);
Array<Expr> group_norm_gradient(const Expr& call, const Expr& grad);
Array<Expr> l2_normalize_gradient(const Expr& call, const Expr& grad);
Array<Expr> lrn_gradient(const Expr& call, const Expr& grad);
Array<Expr> dropout_gradient(const Expr& call, const Expr& grad);

// space_gradients.cc
Array<Expr> max_pool_gradient(const Expr& call, const Expr& grad);
Array<Expr> avg_pool_gradient(const Expr& call, const Expr& grad);
Array<Expr> adaptive_max_pool_gradient(const Expr& call, const Expr& grad);
Array<Expr> adaptive_avg_pool_gradient(const Expr& call, const Expr& grad);
/// Of nearest-neighbour nn.upsampling by whole factors; empty for all others.
Expr whole_blocks_gradient(const Expr& call, const Expr& grad);
Array<Expr> pad_gradient(const Expr& call, const Expr& grad);
Array<Expr> dilate_gradient(const Expr& call, const Expr& grad);
Array<Expr> space_to_depth_gradient(const Expr& call, const Expr& grad);
Array<Expr> depth_to_space_gradient(const Expr& call, const Expr& grad);
Array<Expr> space_to_batch_gradient(const Expr& call, const Expr& grad);
Array<Expr> batch_to_space_gradient(const Expr& call, const Expr& grad);

// ---- what they share ---------------------------------------------------------------------------------------------

const Array<Expr>& args_of(const Expr& call);
const TensorTypeNode* tensor_type(const Expr& expr);
template <class T>
const T* call_attrs(const Expr& call) {
  auto* out = cast_or_null<T>(call.as<relay::Call>()->attrs.get());
  ICHECK(out) << "the call has no attributes of type " << T::info.key;
  return out;
}
/// A number as a constant of the expression's element type.
Expr number_like(double value, const Expr& like);
/// A vector as a tensor of `rank` dimensions that runs along `axis`.
Expr along_axis(const Expr& vector, int axis, size_t rank);

}  // namespace tessera::op

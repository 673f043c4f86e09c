#include "op/tensor/concrete_forms.h"

#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::op {
namespace {

using relay::Call;
using relay::Expr;
using relay::InitOpAttrs;

Expr filled(const char* op, Array<Expr> args, const TensorType& type) {
  return relay::call_op(op, std::move(args), relay::make_attrs<InitOpAttrs>([&](auto& attrs) {
                          attrs.shape = type->shape;
                          attrs.dtype = type->dtype;
                        }));
}

}  // namespace

Expr concrete_zeros(const Call*, const TensorType& type) { return filled("zeros", {}, type); }
Expr concrete_ones(const Call*, const TensorType& type) { return filled("ones", {}, type); }
Expr concrete_full(const Call* call, const TensorType& type) { return filled("full", {call->args[1]}, type); }
Expr concrete_reshape(const Call* call, const TensorType& type) { return relay::reshape(call->args[0], type->shape); }
Expr concrete_broadcast(const Call* call, const TensorType& type) {
  return relay::broadcast_to(call->args[0], type->shape);
}
Expr concrete_cast(const Call* call, const TensorType& type) { return relay::cast(call->args[0], type->dtype); }

Expr concrete_collapse_sum(const Call* call, const TensorType& type) {
  Expr shape = relay::make_ints(*relay::fixed_shape(type), DataType::Int(32));
  return relay::call_op("collapse_sum_to", {call->args[0], shape},
                        relay::make_attrs<InitOpAttrs>([&](auto& attrs) { attrs.shape = type->shape; }));
}

}  // namespace tessera::op

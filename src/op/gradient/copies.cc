// Gradients of operators that copy elements: the operator applied to the offsets of its elements says where each element
// of the result comes from, and there its gradient is added.

#include "op/gradient/expansion.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/index.h"
#include "relay/attrs/nn.h"

namespace tessera::op {
namespace {

using relay::Call;
using relay::call_op;
using relay::make_attrs;
using relay::zeros_like;

int64_t element_count(const TensorTypeNode* type) {
  int64_t out = 1;
  for (size_t i = 0; i < type->shape.size(); ++i) out *= known_extent(type, i);
  return out;
}

/// 0, 1, 2, ... in the shape of argument `i`.
Expr offsets_of(const Call* call, size_t i) {
  auto* type = arg_type(call, i);
  std::vector<int64_t> offsets(static_cast<size_t>(element_count(type)));
  for (size_t k = 0; k < offsets.size(); ++k) offsets[k] = static_cast<int64_t>(k);
  return relay::reshape(relay::make_ints(offsets), type->shape);
}

/// Argument `i` with each part of the gradient added at the offset it came from; offsets outside are left out.
Expr added_at(const Call* call, size_t i, const Expr& offsets, const Expr& grad) {
  Expr target = relay::reshape(zeros_like(call->args[i]), {PrimExpr(-1)});
  Expr out =
      call_op("scatter_nd",
              {target, relay::reshape(offsets, {PrimExpr(1), PrimExpr(-1)}), relay::reshape(grad, {PrimExpr(-1)})},
              make_attrs<relay::ScatterNDAttrs>([](auto& a) { a.mode = "add"; }));
  return relay::reshape_like(out, call->args[i]);
}

Exprs matrix_set_diag_gradient(const Call* call, const Expr& grad) {
  Expr kept = call_op("matrix_set_diag", {grad, zeros_like(call->args[1])}, call->attrs);
  Expr outside = relay::make_scalar(static_cast<double>(element_count(arg_type(call, 1))), DataType::Int(64));
  Expr matrix = relay::broadcast_to(outside, arg_type(call, 0)->shape);
  Expr offsets = call_op("matrix_set_diag", {matrix, offsets_of(call, 1)}, call->attrs);
  return {kept, added_at(call, 1, offsets, grad)};
}

/// The last elements of the buffer and the data together.
Exprs fifo_buffer_gradient(const Call* call, const Expr& grad) {
  auto *data = arg_type(call, 0), *buffer = arg_type(call, 1);
  int axis = normal_axis(call->attrs_as<relay::FIFOBufferAttrs>()->axis, rank_of(data));
  int64_t added = known_extent(data, static_cast<size_t>(axis));
  std::vector<int64_t> last(static_cast<size_t>(known_extent(buffer, static_cast<size_t>(axis))));
  for (size_t i = 0; i < last.size(); ++i) last[i] = added + static_cast<int64_t>(i);
  return expanded_gradient(call, grad, [&](const Exprs& args) {
    return taken(relay::concatenate({args[1], args[0]}, axis), relay::make_ints(last), axis);
  });
}

}  // namespace

Exprs copied_gradient(const Call* call, const Expr& grad) {
  Exprs args = call->args, out;
  args.set(0, offsets_of(call, 0));
  out.push_back(added_at(call, 0, call_op(call->op.as<OpNode>()->name.str(), args, call->attrs), grad));
  for (size_t i = 1; i < call->args.size(); ++i) out.push_back(zeros_like(call->args[i]));
  return out;
}

static void copy_gradients() {
  set_gradients({
      {"matrix_set_diag", matrix_set_diag_gradient},
      {"vision.yolo_reorg", copied_gradient},
      {"nn.fifo_buffer", fifo_buffer_gradient},
  });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily copy_gradient_family{copy_gradients, FillOrder::MoreSlots};

}  // namespace tessera::op

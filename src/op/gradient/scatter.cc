// Gradients of operators that write elements by index: what was written gets the gradient of where it stands, what was
// written over gets none.

#include "op/gradient/gradient.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/index.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"

namespace tessera::op {
namespace {

using relay::Call;
using relay::call_op;
using relay::cast;
using relay::divide;
using relay::equal;
using relay::make_attrs;
using relay::multiply;
using relay::ones_like;
using relay::where;
using relay::zeros_like;

Exprs scatter_gradient(const Call* call, const Expr& grad) {
  int axis = normal_axis(call->attrs_as<relay::ScatterAttrs>()->axis, rank_of(arg_type(call, 0)));
  Expr kept = call_op("scatter", {grad, call->args[1], zeros_like(call->args[2])}, call->attrs);
  return {kept, zeros_like(call->args[1]), gather(grad, call->args[1], axis)};
}

Exprs scatter_add_gradient(const Call* call, const Expr& grad) {
  int axis = normal_axis(call->attrs_as<relay::ScatterAddAttrs>()->axis, rank_of(arg_type(call, 0)));
  return {grad, zeros_like(call->args[1]), gather(grad, call->args[1], axis)};
}

/// The greatest or least of what is there and what is written: equal ones share the gradient.
Exprs scatter_extreme_gradient(const Call* call, const Expr& grad) {
  const Expr &data = call->args[0], &indices = call->args[1], &updates = call->args[2];
  DataType dtype = arg_type(call, 0)->dtype;
  Expr is_data = cast(equal(data, Expr(call)), dtype);
  Expr is_update = cast(equal(updates, gather_nd(Expr(call), indices)), dtype);
  Expr share = divide(grad, scatter_nd(is_data, indices, is_update, "add"));
  return {multiply(share, is_data), zeros_like(indices), multiply(gather_nd(share, indices), is_update)};
}

/// A factor's gradient is the product of all others at its index: of those that are not 0, unless another one is.
Exprs product_gradient(const Call* call, const Expr& grad) {
  const Expr &data = call->args[0], &indices = call->args[1], &updates = call->args[2];
  Expr is_zero = equal(updates, zeros_like(updates)), factors = where(is_zero, ones_like(updates), updates);
  Expr zero = cast(is_zero, arg_type(call, 0)->dtype);
  Expr zeros = scatter_nd(zeros_like(data), indices, zero, "add");
  Expr others = scatter_nd(ones_like(data), indices, factors, "mul");
  Expr of_data = where(equal(zeros, zeros_like(data)), multiply(grad, others), zeros_like(data));
  Expr without = divide(gather_nd(multiply(multiply(grad, data), others), indices), factors);
  return {of_data, zeros_like(indices), where(equal(gather_nd(zeros, indices), zero), without, zeros_like(updates))};
}

Exprs scatter_nd_gradient(const Call* call, const Expr& grad) {
  const String mode = call->attrs_as<relay::ScatterNDAttrs>()->mode;
  if (mode == "mul") return product_gradient(call, grad);
  if (mode == "min" || mode == "max") return scatter_extreme_gradient(call, grad);
  Expr kept = mode == "add" ? grad : scatter_nd(grad, call->args[1], zeros_like(call->args[2]), "update");
  return {kept, zeros_like(call->args[1]), gather_nd(grad, call->args[1])};
}

/// Of several values for one element the last one stays: the operator applied to the values' numbers says which. The
/// arguments are indices, values, the value elsewhere and for dyn.sparse_to_dense the shape.
Exprs sparse_to_dense_gradient(const Call* call, const Expr& grad) {
  const Expr &indices = call->args[0], &values = call->args[1];
  auto* written = arg_type(call, 1);
  DataType int64 = DataType::Int(64);
  Expr rows = relay::reshape(cast(indices, int64),
                             {PrimExpr(-1), PrimExpr(rank_of(tensor_of(relay::checked_type(Expr(call)))))});
  Expr column = call_op("take", {rows, relay::make_scalar(0, int64)},
                        make_attrs<relay::TakeAttrs>([](auto& a) { a.axis = PrimExpr(1); }));
  Expr numbers =
      call_op("cumsum", {ones_like(column)}, make_attrs<relay::ScanopAttrs>([](auto& a) { a.axis = PrimExpr(0); }));
  Exprs args{rows, numbers, relay::make_scalar(0, int64)};
  if (call->args.size() == 4) args.push_back(call->args[3]);
  Expr writers = call_op(call->op.as<OpNode>()->name.str(), args, call->attrs);
  Expr shape = call_op("shape_of", {grad}, make_attrs<relay::ShapeOfAttrs>([&](auto& a) { a.dtype = int64; }));
  Expr inside = relay::minimum(relay::maximum(rows, relay::make_scalar(0, int64)),
                               relay::subtract(shape, relay::make_scalar(1, int64)));
  Expr columns = relay::transpose(inside), zero = zeros_like(grad);
  Expr stays = equal(gather_nd(writers, columns), numbers), read = gather_nd(grad, columns);
  Expr of_values = where(stays, read, zeros_like(read));
  Exprs out{zeros_like(indices),
            written->shape.empty() ? relay::sum(of_values) : relay::reshape_like(of_values, values),
            relay::sum(where(equal(writers, zeros_like(writers)), grad, zero))};
  if (call->args.size() == 4) out.push_back(zeros_like(call->args[3]));
  return out;
}

}  // namespace

static void scatter_gradients() {
  set_gradients({
      {"scatter", scatter_gradient},
      {"scatter_add", scatter_add_gradient},
      {"scatter_nd", scatter_nd_gradient},
      {"sparse_to_dense", sparse_to_dense_gradient},
      {"dyn.sparse_to_dense", sparse_to_dense_gradient},
  });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily scatter_gradient_family{scatter_gradients,
                                                                                FillOrder::MoreSlots};

}  // namespace tessera::op

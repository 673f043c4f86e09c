// Gradients of operators that move, repeat or make elements.

#include "relay/attrs/transform.h"
#include "op/gradient/dynamic.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/annotation.h"

namespace tessera::op {
namespace {

using relay::Call;
using relay::call_op;
using relay::collapse_sum_like;
using relay::make_attrs;
using relay::make_get_item;
using relay::make_ints;
using relay::make_tuple;
using relay::reshape_like;
using relay::zeros_like;

/// The same elements under the argument's shape.
Exprs reshaped(const Call* call, const Expr& grad) { return {reshape_like(grad, call->args[0])}; }
Exprs reshaped_with_model(const Call* call, const Expr& grad) {
  return {reshape_like(grad, call->args[0]), zeros_like(call->args[1])};
}
Exprs collapsed(const Call* call, const Expr& grad) { return {collapse_sum_like(grad, call->args[0])}; }
Exprs collapsed_with_model(const Call* call, const Expr& grad) {
  return {collapse_sum_like(grad, call->args[0]), zeros_like(call->args[1])};
}

Exprs transpose_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<relay::TransposeAttrs>();
  if (!attrs->axes.defined() || attrs->axes.empty()) return {relay::transpose(grad)};
  int rank = rank_of(arg_type(call, 0));
  Array<PrimExpr> back(static_cast<size_t>(rank), PrimExpr(0));
  for (int i = 0; i < rank; ++i) back.set(normal_axis(*as_int(attrs->axes[i]), rank), PrimExpr(i));
  return {relay::transpose(grad, back)};
}

/// start + i * step: the end has no part in the elements.
Exprs arange_gradient(const Call* call, const Expr& grad) {
  const Expr &start = call->args[0], &stop = call->args[1], &step = call->args[2];
  DataType dtype = relay::checked_type(Expr(call)).as<TensorTypeNode>()->dtype, int64 = DataType::Int(64);
  Expr zero = relay::make_scalar(0, int64), one = relay::make_scalar(1, int64), count = extent_of(Expr(call), 0, int64);
  Expr positions = call_op("arange", {zero, count, one}, make_attrs<relay::ArangeAttrs>([&](auto& a) {
                             a.start = zero, a.stop = count, a.step = one, a.dtype = int64;
                           }));
  auto like = [](const Expr& x, const Expr& arg) { return call_op("cast_like", {summed_to_scalar(x), arg}); };
  return {like(grad, start), zeros_like(stop), like(relay::multiply(grad, relay::cast(positions, dtype)), step)};
}

/// Parts whose extents are known at run time: each begins where those before it end.
Exprs dynamic_concatenate_gradient(const Call* call, const Expr& grad, int axis) {
  auto* parts = relay::checked_type(call->args[0]).as<TupleType>();
  auto* given = call->args[0].as<relay::Tuple>();
  const int rank = rank_of(tensor_of(parts->fields_[0]));
  std::vector<int64_t> along(static_cast<size_t>(rank), 0);
  Expr begin = make_ints(along);
  along[static_cast<size_t>(axis)] = 1;
  Exprs fields;
  for (size_t i = 0; i < parts->fields_.size(); ++i) {
    Expr part = given ? given->fields_[i] : make_get_item(call->args[0], static_cast<int>(i));
    fields.push_back(part_like(grad, begin, part, rank));
    begin = relay::add(begin, relay::multiply(shape_vector_of(part), make_ints(along)));
  }
  return {make_tuple(fields)};
}

/// Each part's share of the gradient, as a tuple.
Exprs concatenate_gradient(const Call* call, const Expr& grad) {
  auto* parts = relay::checked_type(call->args[0]).as<TupleType>();
  int axis = normal_axis(call->attrs_as<relay::ConcatenateAttrs>()->axis, rank_of(tensor_of(parts->fields_[0])));
  for (const Type& part : parts->fields_)
    if (!as_int(tensor_of(part)->shape[static_cast<size_t>(axis)]))
      return dynamic_concatenate_gradient(call, grad, axis);
  std::vector<int64_t> begins{0};
  for (const Type& part : parts->fields_) begins.push_back(begins.back() + known_extent(tensor_of(part), axis));
  Expr all = relay::split(grad, std::vector<int64_t>(begins.begin() + 1, begins.end() - 1), axis);
  Exprs fields;
  for (size_t i = 0; i < parts->fields_.size(); ++i) fields.push_back(make_get_item(all, static_cast<int>(i)));
  return {make_tuple(fields)};
}

Exprs stack_gradient(const Call* call, const Expr& grad) {
  auto* parts = relay::checked_type(call->args[0]).as<TupleType>();
  int count = static_cast<int>(parts->fields_.size());
  int axis = normal_axis(call->attrs_as<relay::StackAttrs>()->axis, rank_of(tensor_of(parts->fields_[0])) + 1);
  Expr all = relay::split(grad, count, axis);
  Exprs fields;
  for (int i = 0; i < count; ++i) fields.push_back(relay::squeeze(make_get_item(all, i), {PrimExpr(axis)}));
  return {make_tuple(fields)};
}

Exprs split_gradient(const Call* call, const Expr& grad) {
  int axis = call->attrs_as<relay::SplitAttrs>()->axis;
  return {call_op("concatenate", {grad}, make_attrs<relay::ConcatenateAttrs>([&](auto& a) { a.axis = axis; }))};
}

/// Copies stand along dimensions of their own, which are summed.
Exprs tile_gradient(const Call* call, const Expr& grad) {
  auto* type = arg_type(call, 0);
  const Array<PrimExpr> reps = call->attrs_as<relay::TileAttrs>()->reps;
  if (!is_known(type)) {
    std::vector<int64_t> copies;
    for (const PrimExpr& count : reps) copies.push_back(constant_of(count, "reps"));
    return {untiled(grad, call->args[0], rank_of(type), make_ints(copies), static_cast<int>(copies.size()))};
  }
  size_t rank = type->shape.size(), out_rank = std::max(rank, reps.size());
  Array<PrimExpr> apart, copies;
  for (size_t i = 0; i < out_rank; ++i) {
    copies.push_back(PrimExpr(static_cast<int>(apart.size())));
    apart.push_back(i + reps.size() >= out_rank ? reps[i + reps.size() - out_rank] : PrimExpr(1));
    apart.push_back(i + rank >= out_rank ? type->shape[i + rank - out_rank] : PrimExpr(1));
  }
  return {reshape_like(relay::sum(relay::reshape(grad, apart), copies), call->args[0])};
}

Exprs repeat_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<relay::RepeatAttrs>();
  auto* type = arg_type(call, 0);
  int axis = normal_axis(*as_int(attrs->axis), rank_of(type));
  if (!is_known(type)) {  // copies stand side by side in a dimension of their own
    std::vector<int64_t> reps(static_cast<size_t>(rank_of(type)) + 1, 1);
    reps[static_cast<size_t>(axis) + 1] = constant_of(attrs->repeats, "repeats");
    Expr apart = relay::expand_dims(call->args[0], axis + 1),
         copies = relay::multiply(shape_vector_of(apart), make_ints(reps));
    Expr by_copy = call_op("dyn.reshape", {grad, copies},
                           make_attrs<relay::ReshapeAttrs>([](auto& a) { a.newshape = Array<PrimExpr>(); }));
    return {reshape_like(relay::sum(by_copy, {PrimExpr(axis + 1)}), call->args[0])};
  }
  Array<PrimExpr> apart = type->shape;
  apart.insert(static_cast<size_t>(axis) + 1, attrs->repeats);
  return {relay::sum(relay::reshape(grad, apart), {PrimExpr(axis + 1)})};
}

Exprs meshgrid_gradient(const Call* call, const Expr& grad) {
  auto* vectors = relay::checked_type(call->args[0]).as<TupleType>();
  bool swaps = call->attrs_as<relay::MeshgridAttrs>()->indexing == "xy" && vectors->fields_.size() > 1;
  Exprs fields;
  for (int i = 0; i < static_cast<int>(vectors->fields_.size()); ++i) {
    Expr total = relay::sum(make_get_item(grad, i), {PrimExpr(swaps && i < 2 ? 1 - i : i)}, false, true);
    fields.push_back(tensor_of(vectors->fields_[i])->shape.empty() ? relay::sum(total) : total);
  }
  return {make_tuple(fields)};
}

}  // namespace

static void transform_gradients() {
  set_gradients({
      {"reshape", reshaped},
      {"contrib_reverse_reshape", reshaped},
      {"reshape_like", reshaped_with_model},
      {"dyn.reshape", reshaped_with_model},
      {"expand_dims", reshaped},
      {"dyn.expand_dims", reshaped_with_model},
      {"squeeze", reshaped},
      {"dyn.squeeze", reshaped_with_model},
      {"transpose", transpose_gradient},
      {"concatenate", concatenate_gradient},
      {"stack", stack_gradient},
      {"split", split_gradient},
      {"tile", tile_gradient},
      {"repeat", repeat_gradient},
      {"broadcast_to", collapsed},
      {"broadcast_to_like", collapsed_with_model},
      {"dyn.broadcast_to", collapsed_with_model},
      {"collapse_sum_like",
       [](const Call* call, const Expr& grad) {
         return Exprs{relay::broadcast_to_like(grad, call->args[0]), zeros_like(call->args[1])};
       }},
      {"collapse_sum_to",
       [](const Call* call, const Expr& grad) {
         return Exprs{relay::broadcast_to_like(grad, call->args[0]), zeros_like(call->args[1])};
       }},
      {"layout_transform",
       [](const Call* call, const Expr& grad) {
         auto* attrs = call->attrs_as<relay::LayoutTransformAttrs>();
         return Exprs{relay::layout_transform(grad, attrs->dst_layout, attrs->src_layout)};
       }},
      {"reverse", [](const Call* call, const Expr& grad) { return Exprs{call_op("reverse", {grad}, call->attrs)}; }},
      {"reverse_sequence",
       [](const Call* call, const Expr& grad) {
         return Exprs{call_op("reverse_sequence", {grad, call->args[1]}, call->attrs), zeros_like(call->args[1])};
       }},
      {"on_device", [](const Call*, const Expr& grad) { return Exprs{grad}; }},
      {"device_copy",
       [](const Call* call, const Expr& grad) {
         auto* attrs = call->attrs_as<relay::DeviceCopyAttrs>();
         return Exprs{call_op("device_copy", {grad}, make_attrs<relay::DeviceCopyAttrs>([&](auto& a) {
                                a.src_virtual_device = attrs->dst_virtual_device;
                                a.dst_virtual_device = attrs->src_virtual_device;
                              }))};
       }},
      {"meshgrid", meshgrid_gradient},
      {"full", [](const Call* call,
                  const Expr& grad) { return Exprs{call_op("cast_like", {summed_to_scalar(grad), call->args[0]})}; }},
      {"full_like",
       [](const Call* call, const Expr& grad) {
         return Exprs{zeros_like(call->args[0]), call_op("cast_like", {summed_to_scalar(grad), call->args[1]})};
       }},
      {"dyn.full",
       [](const Call* call, const Expr& grad) {
         return Exprs{call_op("cast_like", {summed_to_scalar(grad), call->args[0]}), zeros_like(call->args[1])};
       }},
      {"zeros", zero_gradients},
      {"ones", zero_gradients},
      {"dyn.zeros", zero_gradients},
      {"dyn.ones", zero_gradients},
      {"arange", arange_gradient},
  });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily transform_gradient_family{transform_gradients,
                                                                                  FillOrder::MoreSlots};

}  // namespace tessera::op

// Gradients of operators that read or write elements by index: what was read gets the gradient added, what was written
// over gets none.

#include "relay/attrs/index.h"
#include "op/gradient/gradient.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/search.h"

namespace tessera::op {
namespace {

using relay::Call;
using relay::call_op;
using relay::make_attrs;
using relay::make_get_item;
using relay::make_tuple;
using relay::where;
using relay::zeros_like;

Expr scatter_nd(const Expr& data, const Expr& indices, const Expr& updates, const char* mode) {
  return call_op("scatter_nd", {data, indices, updates},
                 make_attrs<relay::ScatterNDAttrs>([&](auto& a) { a.mode = mode; }));
}
Expr scatter_add(const Expr& data, const Expr& indices, const Expr& updates, int axis) {
  return call_op("scatter_add", {data, indices, updates},
                 make_attrs<relay::ScatterAddAttrs>([&](auto& a) { a.axis = axis; }));
}
Expr gather(const Expr& data, const Expr& indices, int axis) {
  return call_op("gather", {data, indices}, make_attrs<relay::GatherAttrs>([&](auto& a) { a.axis = PrimExpr(axis); }));
}

/// The indices as `take` reads them.
Expr bounded(const Expr& indices, const String& mode, int64_t size, DataType dtype) {
  if (mode == "clip") return relay::clip(indices, 0, static_cast<double>(size - 1));
  if (mode == "wrap") return call_op("floor_mod", {indices, relay::make_scalar(static_cast<double>(size), dtype)});
  return indices;
}

/// The axis is moved to the front, where rows of the gradient are added to the rows they were taken from.
Exprs take_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<relay::TakeAttrs>();
  auto *data = arg_type(call, 0), *places = arg_type(call, 1);
  if (attrs->batch_dims != 0) return copied_gradient(call, grad);
  Expr indices = call->args[1], flat, rows, target;
  int64_t size = 1;
  int axis = attrs->axis ? normal_axis(*as_int(attrs->axis), rank_of(data)) : -1;
  for (size_t i = 0; i < data->shape.size(); ++i) size *= axis < 0 ? known_extent(data, i) : 1;
  if (axis >= 0) size = known_extent(data, axis);
  flat = relay::reshape(bounded(indices, attrs->mode, size, places->dtype), {PrimExpr(1), PrimExpr(-1)});
  if (axis < 0) {
    target = relay::reshape(zeros_like(call->args[0]), {PrimExpr(-1)});
    rows = relay::reshape(grad, {PrimExpr(-1)});
    return {relay::reshape_like(scatter_nd(target, flat, rows, "add"), call->args[0]), zeros_like(indices)};
  }
  Array<PrimExpr> front{PrimExpr(axis)}, grad_front, back, row_shape{PrimExpr(-1)};
  int rank = rank_of(data), read = rank_of(places);
  for (int i = 0; i < read; ++i) grad_front.push_back(PrimExpr(axis + i));
  for (int i = 0; i < rank; ++i) {
    if (i == axis) continue;
    front.push_back(PrimExpr(i));
    grad_front.push_back(PrimExpr(i < axis ? i : i - 1 + read));
    row_shape.push_back(data->shape[i]);
  }
  for (int i = 0; i < rank; ++i) back.push_back(PrimExpr(i == axis ? 0 : i < axis ? i + 1 : i));
  target = relay::transpose(zeros_like(call->args[0]), front);
  rows = relay::reshape(grad_front.empty() ? grad : relay::transpose(grad, grad_front), row_shape);
  return {relay::transpose(scatter_nd(target, flat, rows, "add"), back), zeros_like(indices)};
}

Exprs gather_gradient(const Call* call, const Expr& grad) {
  int axis = normal_axis(*as_int(call->attrs_as<relay::GatherAttrs>()->axis), rank_of(arg_type(call, 0)));
  return {scatter_add(zeros_like(call->args[0]), call->args[1], grad, axis), zeros_like(call->args[1])};
}

Exprs gather_nd_gradient(const Call* call, const Expr& grad) {
  if (call->attrs_as<relay::GatherNDAttrs>()->batch_dims != 0) return copied_gradient(call, grad);
  return {scatter_nd(zeros_like(call->args[0]), call->args[1], grad, "add"), zeros_like(call->args[1])};
}

/// The indices, stretched to each other, are columns for scatter_nd.
Exprs adv_index_gradient(const Call* call, const Expr& grad) {
  auto* tuple = relay::checked_type(call->args[0]).as<TupleType>();
  Array<PrimExpr> common;
  for (size_t i = 1; i < tuple->fields_.size(); ++i)
    common = broadcast_type_shape(common, tensor_of(tuple->fields_[i])->shape);
  auto input = [&](size_t i) {
    auto* given = call->args[0].as<relay::Tuple>();
    return given ? given->fields_[i] : make_get_item(call->args[0], static_cast<int>(i));
  };
  Exprs columns, fields;
  for (size_t i = 1; i < tuple->fields_.size(); ++i)
    columns.push_back(relay::cast(relay::broadcast_to(input(i), common), DataType::Int(64)));
  fields.push_back(scatter_nd(zeros_like(input(0)), relay::stack(columns, 0), grad, "add"));
  for (size_t i = 1; i < tuple->fields_.size(); ++i) fields.push_back(zeros_like(input(i)));
  return {make_tuple(fields)};
}

Exprs where_gradient(const Call* call, const Expr& grad) {
  Expr condition = call->args[0], zero = zeros_like(grad);
  return {zeros_like(condition), relay::collapse_sum_like(where(condition, grad, zero), call->args[1]),
          relay::collapse_sum_like(where(condition, zero, grad), call->args[2])};
}

Exprs one_hot_gradient(const Call* call, const Expr& grad) {
  DataType flag = DataType::Int(32);
  Attrs attrs = make_attrs<relay::OneHotAttrs>([&](auto& a) {
    a = *call->attrs_as<relay::OneHotAttrs>();
    a.dtype = flag;
  });
  Expr is_hot = call_op("one_hot", {call->args[0], relay::make_scalar(1, flag), relay::make_scalar(0, flag)}, attrs);
  Expr zero = zeros_like(grad);
  auto total = [&](const Expr& part, size_t i) { return call_op("cast_like", {relay::sum(part), call->args[i]}); };
  return {zeros_like(call->args[0]), total(where(is_hot, grad, zero), 1), total(where(is_hot, zero, grad), 2)};
}

Exprs scatter_gradient(const Call* call, const Expr& grad) {
  int axis = normal_axis(call->attrs_as<relay::ScatterAttrs>()->axis, rank_of(arg_type(call, 0)));
  Expr kept = call_op("scatter", {grad, call->args[1], zeros_like(call->args[2])}, call->attrs);
  return {kept, zeros_like(call->args[1]), gather(grad, call->args[1], axis)};
}

Exprs scatter_add_gradient(const Call* call, const Expr& grad) {
  int axis = normal_axis(call->attrs_as<relay::ScatterAddAttrs>()->axis, rank_of(arg_type(call, 0)));
  return {grad, zeros_like(call->args[1]), gather(grad, call->args[1], axis)};
}

Exprs scatter_nd_gradient(const Call* call, const Expr& grad) {
  const String mode = call->attrs_as<relay::ScatterNDAttrs>()->mode;
  if (mode != "update" && mode != "add")
    throw Error(NotImplementedError) << "scatter_nd by " << mode << " has no gradient";
  Expr kept = mode == "add" ? grad : scatter_nd(grad, call->args[1], zeros_like(call->args[2]), "update");
  Expr read = call_op("gather_nd", {grad, call->args[1]}, make_attrs<relay::GatherNDAttrs>([](auto&) {}));
  return {kept, zeros_like(call->args[1]), read};
}

/// Element i of a vector, without dimensions.
Expr element(const Expr& vector, int64_t i) {
  Expr place = relay::make_scalar(static_cast<double>(i), DataType::Int(64));
  return call_op("take", {vector, place}, make_attrs<relay::TakeAttrs>([](auto& a) { a.axis = PrimExpr(0); }));
}

/// What was set is read back dimension by dimension: begin, begin + stride, ...
Exprs strided_set_gradient(const Call* call, const Expr& grad) {
  auto *data = arg_type(call, 0), *set = arg_type(call, 1);
  Exprs with_zeros{grad, zeros_like(call->args[1])};
  for (size_t i = 2; i < 5; ++i) with_zeros.push_back(call->args[i]);
  DataType int64 = DataType::Int(64);
  Expr begin = relay::cast(call->args[2], int64), strides = relay::cast(call->args[4], int64), read = grad;
  for (int64_t i = 0; i < known_extent(arg_type(call, 2), 0); ++i) {
    std::vector<int64_t> steps(static_cast<size_t>(known_extent(set, i)));
    for (size_t k = 0; k < steps.size(); ++k) steps[k] = static_cast<int64_t>(k);
    Expr first = element(begin, i), size = relay::make_scalar(static_cast<double>(known_extent(data, i)), int64);
    first = where(relay::less(first, zeros_like(first)), relay::add(first, size), first);
    Expr places = relay::add(first, relay::multiply(relay::make_ints(steps), element(strides, i)));
    read = call_op("take", {read, places},
                   make_attrs<relay::TakeAttrs>([&](auto& a) { a.axis = PrimExpr(static_cast<int>(i)); }));
  }
  Exprs out{call_op("strided_set", with_zeros), read};
  for (size_t i = 2; i < 5; ++i) out.push_back(zeros_like(call->args[i]));
  return out;
}

/// Where the sorted elements came from they get their gradients back.
Exprs sort_gradient(const Call* call, const Expr& grad) {
  auto* given = call->attrs_as<relay::ArgsortAttrs>();
  Attrs attrs = make_attrs<relay::ArgsortAttrs>([&](auto& a) { a = *given, a.dtype = DataType::Int(32); });
  int axis = normal_axis(given->axis, rank_of(arg_type(call, 0)));
  return {scatter_add(zeros_like(call->args[0]), call_op("argsort", {call->args[0]}, attrs), grad, axis)};
}

Exprs topk_gradient(const Call* call, const Expr& grad) {
  auto* given = call->attrs_as<relay::TopkAttrs>();
  if (given->ret_type == "indices") return zero_gradients(call, grad);
  Attrs attrs = make_attrs<relay::TopkAttrs>([&](auto& a) { a = *given, a.ret_type = "indices"; });
  Expr values = given->ret_type == "both" ? make_get_item(grad, 0) : grad;
  int axis = normal_axis(given->axis, rank_of(arg_type(call, 0)));
  return {scatter_add(zeros_like(call->args[0]), call_op("topk", {call->args[0]}, attrs), values, axis)};
}

Exprs sequence_mask_gradient(const Call* call, const Expr& grad) {
  Attrs attrs =
      make_attrs<relay::SequenceMaskAttrs>([&](auto& a) { a.axis = call->attrs_as<relay::SequenceMaskAttrs>()->axis; });
  return {call_op("sequence_mask", {grad, call->args[1]}, attrs), zeros_like(call->args[1])};
}

Exprs trilu_gradient(const Call* call, const Expr& grad) {
  return {call_op("trilu", {grad, call->args[1]}, call->attrs), zeros_like(call->args[1])};
}

}  // namespace

void index_gradients() {
  set_gradients({
      {"take", take_gradient},
      {"gather", gather_gradient},
      {"gather_nd", gather_nd_gradient},
      {"adv_index", adv_index_gradient},
      {"where", where_gradient},
      {"one_hot", one_hot_gradient},
      {"scatter", scatter_gradient},
      {"scatter_add", scatter_add_gradient},
      {"scatter_nd", scatter_nd_gradient},
      {"strided_set", strided_set_gradient},
      {"sort", sort_gradient},
      {"argsort", zero_gradients},
      {"topk", topk_gradient},
      {"sequence_mask", sequence_mask_gradient},
      {"trilu", trilu_gradient},
      {"invert_permutation", zero_gradients},
      {"searchsorted", zero_gradients},
      {"argwhere", zero_gradients},
      {"unravel_index", zero_gradients},
  });
}

}  // namespace tessera::op

// Gradients of operators that read elements by index, or sort them: what was read gets the gradient added.

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

/// The indices as `take` reads them from `size` elements.
Expr bounded(const Expr& indices, const String& mode, const Expr& size) {
  if (mode == "wrap") return call_op("floor_mod", {indices, size});
  if (mode != "clip") return indices;
  Expr last = relay::subtract(size, relay::ones_like(size));
  return relay::minimum(relay::maximum(indices, zeros_like(size)), last);
}

/// The axis is moved to the front, where rows of the gradient are added to the rows they were taken from.
Exprs take_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<relay::TakeAttrs>();
  auto *data = arg_type(call, 0), *index_type = arg_type(call, 1);
  if (attrs->batch_dims != 0) return copied_gradient(call, grad);
  Expr indices = call->args[1];
  auto added = [&](const Expr& target, const Expr& size, const Expr& rows) {
    // scatter_nd counts negative indices from the end, as a checked take does
    Expr read = attrs->checked_as.empty() ? bounded(indices, attrs->mode, size) : indices;
    return scatter_nd(target, relay::expand_dims(read, 0), rows, "add");
  };
  if (!attrs->axis) {
    Expr target = relay::reshape(zeros_like(call->args[0]), {PrimExpr(-1)});
    Expr size = element_count_of(call->args[0], index_type->dtype);
    return {relay::reshape_like(added(target, size, grad), call->args[0]), zeros_like(indices)};
  }
  const int rank = rank_of(data), read = rank_of(index_type), axis = normal_axis(*as_int(attrs->axis), rank);
  Array<PrimExpr> front{PrimExpr(axis)}, grad_front, back;
  for (int i = 0; i < read; ++i) grad_front.push_back(PrimExpr(axis + i));
  for (int i = 0; i < rank; ++i) {
    if (i == axis) continue;
    front.push_back(PrimExpr(i));
    grad_front.push_back(PrimExpr(i < axis ? i : i - 1 + read));
  }
  for (int i = 0; i < rank; ++i) back.push_back(PrimExpr(i == axis ? 0 : i < axis ? i + 1 : i));
  Expr target = relay::transpose(zeros_like(call->args[0]), front);
  Expr rows = grad_front.empty() ? grad : relay::transpose(grad, grad_front);
  Expr out = added(target, extent_of(call->args[0], axis, index_type->dtype), rows);
  return {relay::transpose(out, back), zeros_like(indices)};
}

Exprs gather_gradient(const Call* call, const Expr& grad) {
  int axis = normal_axis(*as_int(call->attrs_as<relay::GatherAttrs>()->axis), rank_of(arg_type(call, 0)));
  return {scatter_add(zeros_like(call->args[0]), call->args[1], grad, axis), zeros_like(call->args[1])};
}

Exprs gather_nd_gradient(const Call* call, const Expr& grad) {
  if (call->attrs_as<relay::GatherNDAttrs>()->batch_dims != 0) return copied_gradient(call, grad);
  return {scatter_nd(zeros_like(call->args[0]), call->args[1], grad, "add"), zeros_like(call->args[1])};
}

/// The indices, broadcast to each other, are columns for scatter_nd.
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

/// Element i of a vector, without dimensions.
Expr element(const Expr& vector, int64_t i) {
  Expr index = relay::make_scalar(static_cast<double>(i), DataType::Int(64));
  return call_op("take", {vector, index}, make_attrs<relay::TakeAttrs>([](auto& a) { a.axis = PrimExpr(0); }));
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
    Expr indices = relay::add(first, relay::multiply(relay::make_ints(steps), element(strides, i)));
    read = call_op("take", {read, indices},
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

static void index_gradients() {
  set_gradients({
      {"take", take_gradient},
      {"gather", gather_gradient},
      {"gather_nd", gather_nd_gradient},
      {"adv_index", adv_index_gradient},
      {"where", where_gradient},
      {"one_hot", one_hot_gradient},
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

[[gnu::init_priority(kFamilies)]] static const OpFamily index_gradient_family{index_gradients, FillOrder::MoreSlots};

}  // namespace tessera::op

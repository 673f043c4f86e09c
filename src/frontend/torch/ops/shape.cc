// Operators that rearrange elements. Most give views, which in-place operators write through.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/lists.h"
#include "frontend/torch/promote.h"
#include "frontend/torch/views.h"
#include "ir/prim/ops.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/rule.h"
#include "relay/type/type_of.h"

#include <algorithm>
#include <numeric>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls
using Change = std::function<Expr(const Expr&)>;

/// A view with the same elements, and the way back.
Values rearranged(Operation& in, Change there, Change back, std::optional<Ints> strides) {
  return {in.importer().view_of(
      in.value(0), {there, [back](const Expr&, const Expr& value) { return back(value); }, std::move(strides)})};
}
/// The same for other extents; a copy where PyTorch makes one.
Values in_extents(Operation& in, const Change& there, const Change& back) {
  std::optional<Ints> strides = strides_of(in, in.value(0));
  if (!strides) return rearranged(in, there, back, std::nullopt);
  Expr out = there(in[0]);
  std::optional<std::vector<int64_t>> wanted = in.fixed_shape(out);
  if (!wanted) return rearranged(in, there, back, std::nullopt);
  strides = strides_in_shape(*in.fixed_shape(in[0]), *strides, *wanted);
  return strides ? rearranged(in, there, back, strides) : Values{out};
}

Expr in_shape(const NodeContext& in, const Expr& x, const Expr& shape) {
  if (std::optional<std::vector<int64_t>> numbers = in.constant_ints(shape)) {
    std::optional<std::vector<int64_t>> own = in.fixed_shape(x);
    // What is left is a number where it can be: without elements there is no other way to say it.
    if (own && std::count(own->begin(), own->end(), 0) == 0)
      for (int64_t& extent : *numbers) {
        if (extent != -1) continue;
        int64_t rest = 1, whole = product_of(*own);
        for (int64_t other : *numbers) rest *= other == -1 ? 1 : other;
        if (rest < 1 || whole % rest) in.invalid("the shape does not fit the data");
        extent = whole / rest;
      }
    if (own && *own == *numbers) return x;
  }
  return onnx::apply(in, "Reshape", {x, shape}, {{"allowzero", 0}});
}

Values reshaped_by(Operation& in, const Expr& shape) {
  Expr own = shape_at_run_time(in[0]);
  if (std::optional<std::vector<int64_t>> fixed = in.fixed_shape(in[0])) own = make_ints(*fixed);
  auto node = std::make_shared<TitledNode>(in.title());
  return in_extents(
      in, [node, shape](const Expr& x) { return in_shape(*node, x, shape); },
      [node, own](const Expr& x) { return in_shape(*node, x, own); });
}

Values view_shaped(Operation& in) {
  if (in.has("dtype")) {
    DataType dtype = *in.dtype_given();
    if (dtype.bits != in.dtype(in[0]).bits) in.unsupported("a view as a type of another size");
    auto as = [](DataType type) {
      return [type](const Expr& x) {
        return call_op("reinterpret", {x}, make_attrs<CastAttrs>([&](auto& attrs) { attrs.dtype = type; }));
      };
    };
    return rearranged(in, as(dtype), as(in.dtype(in[0])), strides_of(in, in.value(0)));
  }
  return reshaped_by(in, in.int_vector(in.value(in.has("shape") ? "shape" : "size")));
}
Values reshaped_like_other(Operation& in) {
  return reshaped_by(in, in.int_vector(Value([&] {
    std::optional<std::vector<int64_t>> fixed = in.fixed_shape(in["other"]);
    return fixed ? make_ints(*fixed) : shape_at_run_time(in["other"]);
  }())));
}

/// Dimensions from start_dim to end_dim as one.
Values flattened(Operation& in) {
  Expr x = in[0];
  const size_t rank = in.rank(x);
  if (rank == 0) return reshaped_by(in, make_ints({1}));
  const int first = in.axis_of(in.integer("start_dim", 0), rank), last = in.axis_of(in.integer("end_dim", -1), rank);
  if (first > last) in.invalid("start_dim lies behind end_dim");
  if (first == last) return {in.value(0)};
  std::vector<Value> extents;
  const Array<PrimExpr> shape = in.shape(x);
  for (int i = 0; i < static_cast<int>(rank); ++i) {
    if (i > first && i <= last) continue;
    if (i == first) extents.push_back(Value::of(int64_t{-1}));
    else if (auto* extent = shape[static_cast<size_t>(i)].as<IntImm>()) extents.push_back(Value::of(extent->value));
    else extents.push_back(Value::number(Value::Int, extent_at_run_time(in, x, i)));
  }
  int64_t merged_extent = 1;
  for (int i = first; i <= last && merged_extent > 0; ++i) {
    auto* extent = shape[static_cast<size_t>(i)].as<IntImm>();
    merged_extent = extent ? merged_extent * extent->value : -1;
  }
  if (merged_extent >= 0) extents[static_cast<size_t>(first)] = Value::of(merged_extent);
  return reshaped_by(in, in.int_vector(Value::of(extents)));
}

/// One dimension as several.
Values unflattened(Operation& in) {
  Expr x = in[0];
  const int axis = in.axis_of(in.integer("dim"), in.rank(x));
  std::vector<Value> extents;
  for (int i = 0; i < static_cast<int>(in.rank(x)); ++i) {
    if (i == axis) {
      for (const Value& size : in.items("sizes")) extents.push_back(size);
      continue;
    }
    auto* extent = in.shape(x)[static_cast<size_t>(i)].as<IntImm>();
    extents.push_back(extent ? Value::of(extent->value) : Value::number(Value::Int, extent_at_run_time(in, x, i)));
  }
  return reshaped_by(in, in.int_vector(Value::of(extents)));
}

Values with_order(Operation& in, const std::vector<int64_t>& order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse.at(static_cast<size_t>(order[i])) = static_cast<int64_t>(i);
  std::optional<Ints> own = strides_of(in, in.value(0)), strides;
  if (own) {
    strides.emplace();
    for (int64_t axis : order) strides->push_back((*own)[static_cast<size_t>(axis)]);
  }
  return rearranged(
      in, [order](const Expr& x) { return transpose(x, int_array(order)); },
      [inverse](const Expr& x) { return transpose(x, int_array(inverse)); }, strides);
}

std::vector<int64_t> natural_order(size_t rank) {
  std::vector<int64_t> out(rank);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

Values permuted(Operation& in) {
  std::vector<int64_t> order;
  for (int64_t axis : in.integers("dims")) order.push_back(in.axis_of(axis, in.rank(in[0])));
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != natural_order(in.rank(in[0]))) in.invalid("dims are no permutation");
  return with_order(in, order);
}
Values swapped(Operation& in) {
  const size_t rank = in.rank(in[0]);
  if (rank == 0) return {in.value(0)};
  std::vector<int64_t> order = natural_order(rank);
  const Value &a = in.value(1), &b = in.value(2);
  std::swap(order[static_cast<size_t>(in.axis_of(in.int_of(a, "dim0"), rank))],
            order[static_cast<size_t>(in.axis_of(in.int_of(b, "dim1"), rank))]);
  return with_order(in, order);
}
Values matrix_transposed(Operation& in) {
  std::vector<int64_t> order = natural_order(in.rank(in[0]));
  if (order.size() < 2) return {in.value(0)};
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return with_order(in, order);
}
Values reversed_dims(Operation& in) {
  std::vector<int64_t> order = natural_order(in.rank(in[0]));
  std::reverse(order.begin(), order.end());
  return with_order(in, order);
}
Values moved_dims(Operation& in) {
  const size_t rank = in.rank(in[0]);
  Ints from = in.integers("source"), to = in.integers("destination");
  std::vector<int64_t> order(rank, -1), rest;
  for (size_t i = 0; i < from.size(); ++i)
    order.at(static_cast<size_t>(in.axis_of(to[i], rank))) = in.axis_of(from[i], rank);
  for (int64_t axis : natural_order(rank))
    if (std::count(order.begin(), order.end(), axis) == 0) rest.push_back(axis);
  size_t next = 0;
  for (int64_t& axis : order)
    if (axis < 0) axis = rest.at(next++);
  return with_order(in, order);
}

/// Without dimensions of extent 1; those of other extents stay.
Values squeezed_of(Operation& in) {
  Expr x = in[0];
  const size_t rank = in.rank(x);
  std::vector<int64_t> gone;
  Ints given = in.has("dim") ? in.axes_of("dim", rank) : Ints(natural_order(rank));
  for (int64_t axis : given)
    if (auto* extent = in.shape(x)[static_cast<size_t>(axis)].as<IntImm>(); extent && extent->value == 1)
      gone.push_back(axis);
  if (gone.empty()) return {in.value(0)};
  std::sort(gone.begin(), gone.end());
  auto there = [gone](const Expr& v) { return squeeze(v, int_array(gone)); };
  auto back = [gone](Expr v) {
    for (int64_t axis : gone) v = expand_dims(v, static_cast<int>(axis));
    return v;
  };
  return in_extents(in, there, back);
}
Values unsqueezed_of(Operation& in) {
  const int axis = in.axis(in.integer("dim"), in.rank(in[0]) + 1);
  return in_extents(
      in, [axis](const Expr& x) { return expand_dims(x, axis); },
      [axis](const Expr& x) { return squeeze(x, int_array({axis})); });
}

/// A view that repeats elements; one that repeats none is written through like any other.
Values broadcast_view(Operation& in, const Change& there) {
  std::optional<Ints> strides = strides_of(in, in.value(0));
  if (!strides) return {in.importer().view_of(in.value(0), {there})};
  std::optional<std::vector<int64_t>> own = in.fixed_shape(in[0]), wanted = in.fixed_shape(there(in[0]));
  if (!wanted) return {in.importer().view_of(in.value(0), {there})};
  if (product_of(*own) == product_of(*wanted)) {
    auto context = std::make_shared<TitledNode>(in.title());
    Expr shape = make_ints(*own);
    return in_extents(in, there, [=](const Expr& x) { return in_shape(*context, x, shape); });
  }
  const size_t added = wanted->size() - own->size();
  strides->insert(strides->begin(), added, 0);
  for (size_t i = 0; i < own->size(); ++i)
    if ((*own)[i] != (*wanted)[added + i]) (*strides)[added + i] = 0;
  return {in.importer().view_of(in.value(0), {there, nullptr, strides})};
}

/// -1 keeps an extent.
Values expanded_of(Operation& in) {
  Expr x = in[0];
  const std::vector<Value>& given = in.items("size");
  const size_t rank = in.rank(x);
  if (given.size() < rank) in.invalid("the size has fewer dimensions than the data");
  std::vector<Value> wanted;
  for (size_t i = 0; i < given.size(); ++i) {
    std::optional<int64_t> known = in.known_int(given[i]);
    if (known && *known == -1) {
      if (i < given.size() - rank) in.invalid("-1 for a new dimension");
      const size_t own = i - (given.size() - rank);
      auto* extent = in.shape(x)[own].as<IntImm>();
      wanted.push_back(extent ? Value::of(extent->value)
                              : Value::number(Value::Int, extent_at_run_time(in, x, static_cast<int>(own))));
    } else {
      wanted.push_back(known ? Value::of(*known) : given[i]);
    }
  }
  auto context = std::make_shared<TitledNode>(in.title());
  Expr shape = in.int_vector(Value::of(wanted));
  return broadcast_view(in, [=](const Expr& base) { return onnx::apply(*context, "Expand", {base, shape}); });
}
Values expanded_like_other(Operation& in) {
  Expr other = in["other"];
  return broadcast_view(in, [other](const Expr& base) { return broadcast_to_like(base, other); });
}

Values broadcast_all(Operation& in) {
  std::vector<Expr> tensors = in.tensors("tensors");
  Expr whole;
  for (const Expr& x : tensors) {
    Expr zero = zeros_like(as_type(in, x, DataType::Int(32)));
    whole = whole.defined() ? add(whole, zero) : zero;
  }
  std::vector<Value> out;
  for (const Expr& x : tensors) {
    std::optional<std::vector<int64_t>> shape = in.fixed_shape(whole);
    out.push_back(Value(shape ? broadcast_to(x, int_array(*shape)) : broadcast_to_like(x, whole)));
  }
  return {Value::of(std::move(out))};
}

Values repeated_whole(Operation& in) {
  Expr x = in[0];
  const Value& given = in.value(in.has("repeats") ? "repeats" : "dims");
  const size_t count = given.kind == Value::List ? given.items->size() : 1, rank = in.rank(x);
  Expr reps = in.int_vector(given);
  if (count > rank) x = expand_dims(x, 0, static_cast<int>(count - rank));
  if (count < rank) reps = concatenate({make_ints(std::vector<int64_t>(rank - count, 1)), reps}, 0);
  if (std::optional<std::vector<int64_t>> known = in.constant_ints(reps)) {
    bool is_one = true;
    for (int64_t number : *known) is_one &= number == 1;
    if (is_one) return {x};
    if (std::count(known->begin(), known->end(), 0)) {
      Ints shape = in.static_shape(x, "a tensor repeated zero times");
      for (size_t i = 0; i < shape.size(); ++i) shape[i] *= (*known)[i];
      return {filled(0, shape, in.dtype(x))};
    }
  }
  return {onnx::apply(in, "Tile", {x, reps})};
}
/// Each element so many times.
Values repeated_each(Operation& in) {
  Expr x = in[0];
  int axis = 0;
  if (in.has("dim")) axis = in.axis_of(in.integer("dim"), in.rank(x));
  else x = reshape(x, int_array({-1}));
  const Value& given = in.value("repeats");
  std::optional<std::vector<int64_t>> counts;
  if (given.is_number()) counts = {in.int_of(given, "repeats")};
  else counts = in.constant_ints(given.expr());
  if (!counts) in.unknown("repeats must be known", given.expr());
  if (counts->size() == 1) return {repeat(x, static_cast<int>((*counts)[0]), axis)};
  std::vector<int64_t> indices;
  for (size_t i = 0; i < counts->size(); ++i)
    for (int64_t k = 0; k < (*counts)[i]; ++k) indices.push_back(static_cast<int64_t>(i));
  return {take(x, make_ints(indices), axis)};
}

/// A list whose length a run decides is a tensor of rows already.
Values rows_concatenated(Operation& in, const Value& list) {
  const Expr rows = (*list.items)[0].expr();
  const size_t rank = in.rank(rows) - 1;
  if (rank == 0) in.invalid("tensors without dimensions are concatenated");
  const int axis = in.axis_of(in.integer("dim", 0), rank);
  // (n, .., a, ..) -> (.., n, a, ..) -> (.., n * a, ..)
  std::vector<int64_t> order, shape;
  for (int64_t i = 0; i < static_cast<int64_t>(rank); ++i) {
    if (i == axis) order.push_back(0);
    order.push_back(i + 1);
    shape.push_back(i == axis ? -3 : 0);
  }
  return {reshape(axis == 0 ? rows : transpose(rows, int_array(order)), int_array(shape))};
}
Values rows_stacked(Operation& in, const Value& list) {
  const Expr rows = (*list.items)[0].expr();
  const int axis = in.axis(in.integer("dim", 0), in.rank(rows));
  std::vector<int64_t> order;
  for (int64_t i = 1; i < static_cast<int64_t>(in.rank(rows)); ++i) order.push_back(i);
  order.insert(order.begin() + axis, 0);
  return {axis == 0 ? rows : transpose(rows, int_array(order))};
}

Values concatenated(Operation& in) {
  if (has_rows(in.value("tensors"))) return rows_concatenated(in, in.value("tensors"));
  std::vector<Value> given;
  for (const Value& item : in.items("tensors")) {
    Expr x = in.tensor_of(item);
    std::optional<std::vector<int64_t>> shape = in.fixed_shape(x);
    if (shape && shape->size() == 1 && (*shape)[0] == 0 && in.items("tensors").size() > 1) continue;  // as torch does
    given.push_back(item);
  }
  if (given.empty()) return {in.items("tensors").at(0)};
  const DataType dtype = promoted(in, given);
  Array<Expr> parts;
  for (const Value& item : given) parts.push_back(as_type(in, item, dtype));
  const int axis = in.axis_of(in.integer("dim", 0), in.rank(parts[0]));
  return {parts.size() == 1 ? parts[0] : concatenate(parts, axis)};
}
Values stacked(Operation& in) {
  if (has_rows(in.value("tensors"))) return rows_stacked(in, in.value("tensors"));
  const std::vector<Value>& given = in.items("tensors");
  if (given.empty()) in.invalid("there are no tensors");
  const DataType dtype = promoted(in, given);
  Array<Expr> parts;
  for (const Value& item : given) parts.push_back(as_type(in, item, dtype));
  return {stack(parts, in.axis(in.integer("dim", 0), in.rank(parts[0]) + 1))};
}

Values flipped(Operation& in) {
  Expr x = in[0];
  const size_t rank = in.rank(x);
  if (rank == 0) return {x};
  Ints dims = in.has("dims") ? in.integers("dims") : Ints{in.name() == "flipud" ? 0 : 1};
  for (int64_t dim : dims) {
    const int axis = in.axis_of(dim, rank);
    x = call_op("reverse", {x}, make_attrs<ReverseAttrs>([&](auto& attrs) { attrs.axis = PrimExpr(axis); }));
  }
  return {x};
}

Values rolled(Operation& in) {
  Expr x = in[0];
  Ints shifts = in.integers("shifts"), dims = in.integers("dims");
  const Expr given = x;
  const bool is_flat = dims.empty();
  if (is_flat) x = reshape(x, int_array({-1})), dims = Ints{0};
  for (size_t i = 0; i < dims.size(); ++i) {
    const int axis = in.axis_of(dims[i], in.rank(x));
    const int64_t extent = in.static_extent(x, axis, "roll");
    if (extent == 0) continue;
    const int64_t shift = ((shifts[i] % extent) + extent) % extent;
    if (shift == 0) continue;
    x = concatenate({slice(x, axis, extent - shift, extent), slice(x, axis, 0, extent - shift)}, axis);
  }
  return {is_flat ? reshape_to(x, in.static_shape(given, "roll")) : x};
}

Values pixels_shuffled(Operation& in) {
  const int64_t factor = in.integer("upscale_factor");
  return {onnx::apply(in, "DepthToSpace", {in[0]}, {{"blocksize", factor}, {"mode", "CRD"}})};
}
Values pixels_unshuffled(Operation& in) {
  const int64_t by = in.integer("downscale_factor");
  Ints shape = in.static_shape(in[0], "pixel_unshuffle");
  Expr parts = reshape_to(in[0], {shape[0], shape[1], shape[2] / by, by, shape[3] / by, by});
  return {reshape_to(transpose(parts, int_array({0, 1, 3, 5, 2, 4})),
                     {shape[0], shape[1] * by * by, shape[2] / by, shape[3] / by})};
}
Values channels_shuffled(Operation& in) {
  const int64_t groups = in.integer("groups");
  Ints shape = in.static_shape(in[0], "channel_shuffle");
  std::vector<int64_t> parts{shape[0], groups, shape[1] / groups}, order = natural_order(shape.size() + 1);
  parts.insert(parts.end(), shape.begin() + 2, shape.end());
  std::swap(order[1], order[2]);
  return {reshape_to(transpose(reshape_to(in[0], parts), int_array(order)), shape)};
}

Values meshed(Operation& in) {
  Array<Expr> tensors;
  for (const Expr& x : in.tensors("tensors")) tensors.push_back(in.rank(x) == 0 ? expand_dims(x, 0) : x);
  const std::string indexing = in.text("indexing", "ij");
  Expr all = call_op("meshgrid", {make_tuple(tensors)},
                     make_attrs<MeshgridAttrs>([&](auto& attrs) { attrs.indexing = indexing; }));
  std::vector<Value> out;
  for (size_t i = 0; i < tensors.size(); ++i) out.push_back(Value(make_get_item(all, static_cast<int>(i))));
  return {Value::of(std::move(out))};
}

/// The data itself: strides, devices and gradients mean nothing here.
Values same_value(Operation& in) { return {in.value(0)}; }
/// The same elements in a tensor of its own.
Values copied(Operation& in) {
  const Value& given = in.value(0);
  if (!given.is_tensor()) return {given};
  Value out(given.expr());
  out.quantized = given.quantized;
  return {out};
}
Values contiguous_of(Operation& in) { return is_contiguous(in, in.value(0)) ? same_value(in) : copied(in); }

}  // namespace

Rows shape_rows() {
  return {
      {"aten::_reshape_alias", view_shaped},
      {"aten::_unsafe_view", view_shaped},
      {"aten::adjoint", matrix_transposed},
      {"aten::alias", same_value},
      {"aten::alias_copy", copied},
      {"aten::broadcast_tensors", broadcast_all},
      {"aten::broadcast_to", expanded_of},
      {"aten::cat", concatenated},
      {"aten::channel_shuffle", channels_shuffled},
      {"aten::clone", copied},
      {"aten::concat", concatenated},
      {"aten::concatenate", concatenated},
      {"aten::contiguous", contiguous_of},
      {"aten::detach", same_value},
      {"aten::expand", expanded_of},
      {"aten::expand_as", expanded_like_other},
      {"aten::flatten", flattened},
      {"aten::flip", flipped},
      {"aten::fliplr", flipped},
      {"aten::flipud", flipped},
      {"aten::lift", same_value},
      {"aten::lift_fresh", same_value},
      {"aten::lift_fresh_copy", copied},
      {"aten::mT", matrix_transposed},
      {"aten::meshgrid", meshed},
      {"aten::movedim", moved_dims},
      {"aten::numpy_T", reversed_dims},
      {"aten::permute", permuted},
      {"aten::pixel_shuffle", pixels_shuffled},
      {"aten::pixel_unshuffle", pixels_unshuffled},
      {"aten::positive", same_value},
      {"aten::repeat", repeated_whole},
      {"aten::repeat_interleave", repeated_each},
      {"aten::requires_grad", same_value},
      {"aten::reshape", view_shaped},
      {"aten::reshape_as", reshaped_like_other},
      {"aten::resolve_conj", same_value},
      {"aten::resolve_neg", same_value},
      {"aten::roll", rolled},
      {"aten::squeeze", squeezed_of},
      {"aten::stack", stacked},
      {"aten::swapaxes", swapped},
      {"aten::swapdims", swapped},
      {"aten::t", matrix_transposed},
      {"aten::tile", repeated_whole},
      {"aten::transpose", swapped},
      {"aten::unflatten", unflattened},
      {"aten::unsqueeze", unsqueezed_of},
      {"aten::view", view_shaped},
      {"aten::view_as", reshaped_like_other},
      {"aten::view_copy", view_shaped},
  };
}

}  // namespace tessera::torch

#include "topi/transform.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/structural/expr_equal.h"
#include "runtime/registry.h"
#include "tir/layout.h"

namespace tessera::topi {
namespace {

size_t at_axis(int axis) { return static_cast<size_t>(axis); }

}  // namespace

PrimExpr flat_index(const Array<PrimExpr>& at, const Array<PrimExpr>& shape) {
  PrimExpr out = PrimExpr(0);
  for (size_t i = 0; i < at.size(); ++i) out = i ? out * shape[i] + at[i] : at[i];
  return out;
}

Array<PrimExpr> unflat_index(const PrimExpr& offset, const Array<PrimExpr>& shape) {
  std::vector<PrimExpr> out(shape.size());
  PrimExpr left = offset;
  for (size_t i = shape.size(); i-- > 0;) {
    const int64_t* extent = as_int(shape[i]);
    if (!i || (extent && *extent == 0)) {  // of a tensor without elements none is read
      out[i] = left;
      continue;
    }
    out[i] = floormod(left, shape[i]);
    left = floordiv(left, shape[i]);
  }
  return out;
}

namespace {

bool has_dynamic_extents(const Array<PrimExpr>& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const PrimExpr& extent) { return !as_int(extent); });
}

bool is_same_dimension(const PrimExpr& a, const PrimExpr& b) {
  const int64_t *left = as_int(a), *right = as_int(b);
  return left && right ? *left == *right : expr_equal(a, b);
}

/// The element of a tensor of shape `from` that is element `at` of the same tensor in shape `to`. First and last dimensions that both
/// have keep their indices: dividing by dynamic extents would hide which elements are neighbours.
Array<PrimExpr> reshaped_index(const Array<PrimExpr>& at, const Array<PrimExpr>& to, const Array<PrimExpr>& from) {
  size_t first = 0, to_end = to.size(), from_end = from.size();
  while (first < std::min(to_end, from_end) && is_same_dimension(to[first], from[first])) ++first;
  while (std::min(to_end, from_end) > first && is_same_dimension(to[to_end - 1], from[from_end - 1]))
    --to_end, --from_end;
  auto middle = [&](const Array<PrimExpr>& all, size_t end) {
    return Array<PrimExpr>(all.begin() + static_cast<long>(first), all.begin() + static_cast<long>(end));
  };
  Array<PrimExpr> out(at.begin(), at.begin() + static_cast<long>(first));
  const PrimExpr offset = flat_index(middle(at, to_end), middle(to, to_end));
  for (const PrimExpr& index : unflat_index(offset, middle(from, from_end))) out.push_back(index);
  for (size_t i = to_end; i < to.size(); ++i) out.push_back(at[i]);
  return out;
}

}  // namespace

te::Tensor reshape(const te::Tensor& x, const Array<PrimExpr>& shape) {
  const bool is_dynamic = has_dynamic_extents(shape) || has_dynamic_extents(x->shape);
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) {
        return te::load(
            x, is_dynamic ? reshaped_index(at, shape, x->shape) : unflat_index(flat_index(at, shape), x->shape));
      },
      "T_reshape", kInjective);
}

te::Tensor transpose(const te::Tensor& x, const std::vector<int>& axes) {
  Array<PrimExpr> shape;
  for (int axis : axes) shape.push_back(x->shape[at_axis(axis)]);
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) {
        std::vector<PrimExpr> source(axes.size());
        for (size_t i = 0; i < axes.size(); ++i) source[at_axis(axes[i])] = at[i];
        return te::load(x, source);
      },
      "T_transpose", kInjective);
}

te::Tensor expand_dims(const te::Tensor& x, int axis, int count) {
  Array<PrimExpr> shape = x->shape;
  for (int i = 0; i < count; ++i) shape.insert(at_axis(axis), PrimExpr(1));
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> source = at;
        for (int i = 0; i < count; ++i) source.erase(at_axis(axis));
        return te::load(x, source);
      },
      "T_expand_dims", kBroadcast);
}

te::Tensor squeeze(const te::Tensor& x, const std::vector<int>& axes) {
  auto is_gone = [&](size_t i) { return std::find(axes.begin(), axes.end(), static_cast<int>(i)) != axes.end(); };
  Array<PrimExpr> shape;
  for (size_t i = 0; i < x->shape.size(); ++i)
    if (!is_gone(i)) shape.push_back(x->shape[i]);
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> source;
        size_t next = 0;
        for (size_t i = 0; i < x->shape.size(); ++i)
          source.push_back(is_gone(i) ? make_zero(x->shape[i].dtype()) : at[next++]);
        return te::load(x, source);
      },
      "T_squeeze", kInjective);
}

namespace {

/// The element of the part, of those in [first, last), that `at` falls into. Of many parts one half is excluded first, so
/// that a few comparisons find the part; few are tried one after another, as v0.10 does.
PrimExpr find_part(const std::vector<PrimExpr>& elements, const std::vector<PrimExpr>& begins, const PrimExpr& at,
                   size_t first, size_t last) {
  constexpr size_t kFew = 4;
  if (last - first > kFew) {
    size_t middle = (first + last) / 2;
    return if_then_else(at >= begins[middle], find_part(elements, begins, at, middle, last),
                        find_part(elements, begins, at, first, middle));
  }
  PrimExpr out = elements[first];
  for (size_t i = first + 1; i < last; ++i) out = if_then_else(at >= begins[i], elements[i], out);
  return out;
}

}  // namespace

te::Tensor concatenate(const Array<te::Tensor>& parts, int axis) {
  Array<PrimExpr> shape = parts[0]->shape;
  std::vector<PrimExpr> begins{make_zero(shape[at_axis(axis)].dtype())};
  for (const te::Tensor& part : parts) begins.push_back(begins.back() + part->shape[at_axis(axis)]);
  shape.set(at_axis(axis), begins.back());
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) {
        std::vector<PrimExpr> elements;
        for (size_t i = 0; i < parts.size(); ++i) {
          Array<PrimExpr> source = at;
          source.set(at_axis(axis), at[at_axis(axis)] - begins[i]);
          elements.push_back(te::load(parts[i], source));
        }
        return find_part(elements, begins, at[at_axis(axis)], 0, parts.size());
      },
      "T_concat", kInjective);
}

te::Tensor stack(const Array<te::Tensor>& parts, int axis) {
  Array<PrimExpr> shape = parts[0]->shape;
  shape.insert(at_axis(axis), PrimExpr(static_cast<int>(parts.size())));
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> source = at;
        source.erase(at_axis(axis));
        PrimExpr out;
        for (size_t i = 0; i < parts.size(); ++i) {
          PrimExpr element = te::load(parts[i], source);
          out = out ? if_then_else(at[at_axis(axis)] >= static_cast<int>(i), element, out) : element;
        }
        return out;
      },
      "T_stack", kInjective);
}

Array<te::Tensor> split(const te::Tensor& x, const std::vector<PrimExpr>& begins, int axis, const String& name) {
  Array<te::Tensor> out;
  for (size_t i = 0; i <= begins.size(); ++i) {
    PrimExpr begin = i ? begins[i - 1] : make_zero(x->shape[at_axis(axis)].dtype());
    PrimExpr end = i < begins.size() ? begins[i] : x->shape[at_axis(axis)];
    Array<PrimExpr> shape = x->shape;
    shape.set(at_axis(axis), end - begin);
    out.push_back(compute(
        shape, "ax",
        [&](const Array<PrimExpr>& at) {
          Array<PrimExpr> source = at;
          source.set(at_axis(axis), at[at_axis(axis)] + begin);
          return te::load(x, source);
        },
        name, kInjective));
  }
  return out;
}

te::Tensor layout_transform(const te::Tensor& x, const String& from, const String& to) {
  Layout source = make_layout(from), target = make_layout(to);
  return compute(
      convert_shape(source, target, x->shape), "ax",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> plain_at = convert_indices(target, source, at);
        PrimExpr inside;
        for (size_t i = 0; i < plain_at.size(); ++i) {  // parts that do not divide are padded with zeros
          const int64_t *extent = as_int(x->shape[i]), factor = target->factor_of(source->letter(i));
          bool divides = factor <= 0 || (extent && *extent % factor == 0);
          if (divides) continue;
          PrimExpr fits = plain_at[i] < x->shape[i];
          inside = inside ? logical_and(inside, fits) : fits;
        }
        PrimExpr element = te::load(x, plain_at);
        return inside ? if_then_else(inside, element, make_zero(x->dtype)) : element;
      },
      "T_layout_trans", kInjective);
}

namespace {

int normal(int64_t axis, size_t rank) {
  auto n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n)
    throw Error(ValueError) << "axis " << axis << " is out of range for a tensor of " << rank << " dimensions";
  return static_cast<int>(axis < 0 ? axis + n : axis);
}

/// `axis` as Python gives it: one number or a list.
std::vector<int> normal_axes(const AnyView& given, size_t rank) {
  std::vector<int> out;
  if (auto* list = cast_or_null<ArrayNode>(given.object())) {
    for (const ObjectRef& item : list->items) out.push_back(normal(Any::of_object(item.get()).to<int64_t>(), rank));
  } else {
    out.push_back(normal(given.to<int64_t>(), rank));
  }
  return out;
}

te::Tensor transpose_of(te::Tensor x, Any axes) {
  std::vector<int> order;
  for (size_t i = x->shape.size(); i-- > 0;) order.push_back(static_cast<int>(i));
  return transpose(x, axes.is_null() ? order : normal_axes(axes, x->shape.size()));
}

te::Tensor squeeze_of(te::Tensor x, Any axes) {
  std::vector<int> gone;
  for (size_t i = 0; i < x->shape.size(); ++i)
    if (is_one(x->shape[i])) gone.push_back(static_cast<int>(i));
  return squeeze(x, axes.is_null() ? gone : normal_axes(axes, x->shape.size()));
}

/// Equal parts, or parts that begin at the indices given.
Array<te::Tensor> split_of(te::Tensor x, Any parts, int axis) {
  int dimension = normal(axis, x->shape.size());
  PrimExpr extent = x->shape[dimension];
  std::vector<PrimExpr> begins;
  if (auto* list = cast_or_null<ArrayNode>(parts.object())) {
    for (const PrimExpr& begin : Array<PrimExpr>(list)) begins.push_back(begin);
    return split(x, begins, dimension, "T_split");
  }
  int64_t count = parts.to<int64_t>();
  if (count < 1) throw Error(ValueError) << "a tensor cannot be split into " << count << " parts";
  if (as_int(extent) && *as_int(extent) % count != 0)
    throw Error(ValueError) << "an extent of " << extent << " cannot be split into " << count << " equal parts";
  PrimExpr part = floordiv(extent, make_const(extent.dtype(), count));
  for (int64_t i = 1; i < count; ++i) begins.push_back(part * make_const(extent.dtype(), i));
  return split(x, begins, dimension, "T_split_sections");
}

Globals transform_globals{
    {"topi.reshape", [](te::Tensor x, Array<PrimExpr> shape) { return reshape(x, shape); }},
    {"topi.transpose", transpose_of},
    {"topi.expand_dims",
     [](te::Tensor x, int axis, int count) { return expand_dims(x, normal(axis, x->shape.size() + 1), count); }},
    {"topi.squeeze", squeeze_of},
    {"topi.concatenate",
     [](Array<te::Tensor> parts, int axis) { return concatenate(parts, normal(axis, parts[0]->shape.size())); }},
    {"topi.stack",
     [](Array<te::Tensor> parts, int axis) { return stack(parts, normal(axis, parts[0]->shape.size() + 1)); }},
    {"topi.split", split_of},
    {"topi.layout_transform", [](te::Tensor x, String from, String to) { return layout_transform(x, from, to); }},
};

}  // namespace
}  // namespace tessera::topi

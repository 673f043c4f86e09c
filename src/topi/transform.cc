#include "topi/transform.h"

#include <algorithm>

#include "ir/prim_ops.h"
#include "tir/layout.h"
#include "topi/broadcast.h"

namespace tessera::topi {
namespace {

size_t at_axis(int axis) { return static_cast<size_t>(axis); }

}  // namespace

PrimExpr flat_index(const Array<PrimExpr>& at, const Array<PrimExpr>& shape) {
  PrimExpr out = PrimExpr(0);
  for (size_t i = 0; i < at.size(); ++i) out = i ? out * shape[i] + at[i] : at[i];
  return out;
}

Array<PrimExpr> unflat_index(const PrimExpr& place, const Array<PrimExpr>& shape) {
  std::vector<PrimExpr> out(shape.size());
  PrimExpr left = place;
  for (size_t i = shape.size(); i-- > 0;) {
    out[i] = i ? floormod(left, shape[i]) : left;
    if (i) left = floordiv(left, shape[i]);
  }
  return out;
}

te::Tensor reshape(const te::Tensor& x, const Array<PrimExpr>& shape) {
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) { return te::load(x, unflat_index(flat_index(at, shape), x->shape)); },
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

te::Tensor concatenate(const Array<te::Tensor>& parts, int axis) {
  Array<PrimExpr> shape = parts[0]->shape;
  std::vector<PrimExpr> begins{make_zero(shape[at_axis(axis)].dtype())};
  for (const te::Tensor& part : parts) begins.push_back(begins.back() + part->shape[at_axis(axis)]);
  shape.set(at_axis(axis), begins.back());
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) {
        PrimExpr out;
        for (size_t i = 0; i < parts.size(); ++i) {
          Array<PrimExpr> source = at;
          source.set(at_axis(axis), at[at_axis(axis)] - begins[i]);
          PrimExpr element = te::load(parts[i], source);
          out = out ? if_then_else(at[at_axis(axis)] >= begins[i], element, out) : element;
        }
        return out;
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

te::Tensor take(const te::Tensor& x, const te::Tensor& indices, int axis, int batch_dims, const String& mode) {
  PrimExpr extent = PrimExpr(1);
  for (const PrimExpr& e : x->shape) extent = axis < 0 ? extent * e : extent;
  if (axis >= 0) extent = x->shape[at_axis(axis)];
  auto bounded = [&](const PrimExpr& index) {
    if (mode == "fast") return index;
    PrimExpr size = tessera::cast(index.dtype(), extent), zero = make_zero(index.dtype());
    if (mode == "wrap") return truncmod(truncmod(index, size) + size, size);
    return min(max(zero, index), size - 1);
  };
  if (axis < 0)
    return compute(
        indices->shape, "ax",
        [&](const Array<PrimExpr>& at) { return te::load(x, unflat_index(bounded(te::load(indices, at)), x->shape)); },
        "T_take", kInjective);
  const size_t before = at_axis(axis), batch = static_cast<size_t>(batch_dims);
  Array<PrimExpr> shape;
  for (size_t i = 0; i < before; ++i) shape.push_back(x->shape[i]);
  for (size_t i = batch; i < indices->shape.size(); ++i) shape.push_back(indices->shape[i]);
  for (size_t i = before + 1; i < x->shape.size(); ++i) shape.push_back(x->shape[i]);
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) {
        const size_t inner = indices->shape.size() - batch;
        Array<PrimExpr> where_index, source;
        for (size_t i = 0; i < batch; ++i) where_index.push_back(at[i]);
        for (size_t i = 0; i < inner; ++i) where_index.push_back(at[before + i]);
        for (size_t i = 0; i < before; ++i) source.push_back(at[i]);
        source.push_back(bounded(te::load(indices, where_index)));
        for (size_t i = before + inner; i < at.size(); ++i) source.push_back(at[i]);
        return te::load(x, source);
      },
      "T_take", kInjective);
}

te::Tensor where(const te::Tensor& condition, const te::Tensor& x, const te::Tensor& y) {
  Array<PrimExpr> shape = broadcast_shape(broadcast_shape(condition->shape, x->shape), y->shape);
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) {
        auto element = [&](const te::Tensor& t) { return te::load(t, broadcast_indices(at, shape, t->shape)); };
        PrimExpr is_true = element(condition);
        if (!is_true.dtype().is_bool()) is_true = not_equal(is_true, make_zero(is_true.dtype()));
        return select(is_true, element(x), element(y));
      },
      "T_where", kBroadcast);
}

te::Tensor layout_transform(const te::Tensor& x, const String& from, const String& to) {
  Layout source = make_layout(from), target = make_layout(to);
  return compute(
      convert_shape(source, target, x->shape), "ax",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> place = convert_indices(target, source, at);
        PrimExpr inside;
        for (size_t i = 0; i < place.size(); ++i) {  // parts that do not divide are padded with zeros
          const int64_t *extent = as_int(x->shape[i]), factor = target->factor_of(source->letter(i));
          bool divides = factor <= 0 || (extent && *extent % factor == 0);
          if (divides) continue;
          PrimExpr fits = place[i] < x->shape[i];
          inside = inside ? logical_and(inside, fits) : fits;
        }
        PrimExpr element = te::load(x, place);
        return inside ? if_then_else(inside, element, make_zero(x->dtype)) : element;
      },
      "T_layout_trans", kInjective);
}

}  // namespace tessera::topi

#include "topi/index.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "topi/broadcast.h"
#include "topi/transform.h"

namespace tessera::topi {
namespace {

using Indices = Array<PrimExpr>;

}  // namespace

te::Tensor take(const te::Tensor& x, const te::Tensor& indices, int axis, int batch_dims, const String& mode,
                const IndexCheck& check) {
  PrimExpr extent = PrimExpr(1);
  for (const PrimExpr& e : x->shape) extent = axis < 0 ? extent * e : extent;
  if (axis >= 0) extent = x->shape[axis];
  auto chosen = [&](const PrimExpr& index, SafeAccess* access) {
    if (check || mode == "fast") return access->index(index, extent, std::max(axis, 0));
    PrimExpr wide = wide_index(index, extent);
    PrimExpr size = tessera::cast(wide.dtype(), extent), zero = make_zero(wide.dtype());
    if (mode == "wrap") return access->bounded(truncmod(truncmod(wide, size) + size, size), extent);
    return access->bounded(min(max(zero, wide), size - make_const(wide.dtype(), 1)), extent);
  };
  if (axis < 0)
    return compute(
        indices->shape, "ax",
        [&](const Indices& at) {
          SafeAccess access(check);
          PrimExpr index = chosen(te::load(indices, at), &access);
          return access.load(x, unflat_index(index, x->shape));
        },
        "T_take", kInjective);
  const size_t before = static_cast<size_t>(axis), batch = static_cast<size_t>(batch_dims);
  Indices shape;
  for (size_t i = 0; i < before; ++i) shape.push_back(x->shape[i]);
  for (size_t i = batch; i < indices->shape.size(); ++i) shape.push_back(indices->shape[i]);
  for (size_t i = before + 1; i < x->shape.size(); ++i) shape.push_back(x->shape[i]);
  return compute(
      shape, "ax",
      [&](const Indices& at) {
        const size_t inner = indices->shape.size() - batch;
        SafeAccess access(check);
        Indices where_index, source;
        for (size_t i = 0; i < batch; ++i) {
          where_index.push_back(at[i]);
          access.shares(x->shape[i], indices->shape[i], static_cast<int>(i));
        }
        for (size_t i = 0; i < inner; ++i) where_index.push_back(at[before + i]);
        for (size_t i = 0; i < before; ++i) source.push_back(at[i]);
        source.push_back(chosen(te::load(indices, where_index), &access));
        for (size_t i = before + inner; i < at.size(); ++i) source.push_back(at[i]);
        return access.load(x, source);
      },
      "T_take", kInjective);
}

te::Tensor gather(const te::Tensor& x, int axis, const te::Tensor& indices, const IndexCheck& check) {
  return compute(
      indices->shape, "ax",
      [&](const Indices& at) {
        SafeAccess access(check);
        Indices source = at;
        for (size_t i = 0; i < at.size(); ++i) {
          if (static_cast<int>(i) != axis) access.shares(indices->shape[i], x->shape[i], static_cast<int>(i));
        }
        source.set(axis, access.index(te::load(indices, at), x->shape[axis], axis));
        return access.load(x, source);
      },
      "T_gather", kInjective);
}

te::Tensor gather_nd(const te::Tensor& x, const te::Tensor& indices, int batch_dims, const IndexCheck& check) {
  const int64_t* given = as_int(indices->shape[0]);
  if (!given) throw Error(ValueError) << "gather_nd: the first extent of indices must be a constant";
  const size_t width = static_cast<size_t>(*given), batch = static_cast<size_t>(batch_dims);
  const size_t columns = indices->shape.size() - 1;
  Indices shape;
  for (size_t i = 1; i <= columns; ++i) shape.push_back(indices->shape[i]);
  for (size_t i = batch + width; i < x->shape.size(); ++i) shape.push_back(x->shape[i]);
  return compute(
      shape, "ax",
      [&](const Indices& at) {
        SafeAccess access(check);
        Indices source;
        for (size_t i = 0; i < batch; ++i) {
          source.push_back(at[i]);
          access.shares(indices->shape[i + 1], x->shape[i], static_cast<int>(i));
        }
        for (size_t i = 0; i < width; ++i) {
          Indices column{PrimExpr(static_cast<int>(i))};
          for (size_t k = 0; k < columns; ++k) column.push_back(at[k]);
          source.push_back(access.index(te::load(indices, column), x->shape[batch + i], static_cast<int>(batch + i)));
        }
        for (size_t i = columns; i < at.size(); ++i) source.push_back(at[i]);
        return access.load(x, source);
      },
      "T_gather_nd", kInjective);
}

te::Tensor adv_index(const te::Tensor& x, const Array<te::Tensor>& indices) {
  Indices common = indices[0]->shape;
  for (const te::Tensor& index : indices) common = broadcast_shape(common, index->shape);
  Indices shape = common;
  for (size_t i = indices.size(); i < x->shape.size(); ++i) shape.push_back(x->shape[i]);
  return compute(
      shape, "ax",
      [&](const Indices& at) {
        SafeAccess access({});
        Indices shared(at.begin(), at.begin() + static_cast<long>(common.size())), source;
        for (const te::Tensor& index : indices) {
          const size_t axis = source.size();
          PrimExpr given = te::load(index, broadcast_indices(shared, common, index->shape));
          source.push_back(access.index(given, x->shape[axis], static_cast<int>(axis)));
        }
        for (size_t i = common.size(); i < at.size(); ++i) source.push_back(at[i]);
        return access.load(x, source);
      },
      "advanced_index", kInjective);
}

te::Tensor one_hot(const te::Tensor& indices, const PrimExpr& on, const PrimExpr& off, const PrimExpr& depth, int axis,
                   DataType dtype) {
  Indices shape = indices->shape;
  size_t position = axis < 0 ? shape.size() : static_cast<size_t>(axis);
  shape.insert(position, depth);
  return compute(
      shape, "ax",
      [&](const Indices& at) {
        Indices source = at;
        source.erase(position);
        PrimExpr index = te::load(indices, source);
        return select(equal(index, tessera::cast(index.dtype(), at[position])), tessera::cast(dtype, on),
                      tessera::cast(dtype, off));
      },
      "T_one_hot", kInjective);
}

te::Tensor where(const te::Tensor& condition, const te::Tensor& x, const te::Tensor& y) {
  Indices shape = broadcast_shape(broadcast_shape(condition->shape, x->shape), y->shape);
  return compute(
      shape, "ax",
      [&](const Indices& at) {
        auto element = [&](const te::Tensor& t) { return te::load(t, broadcast_indices(at, shape, t->shape)); };
        PrimExpr is_true = element(condition);
        if (!is_true.dtype().is_bool()) is_true = not_equal(is_true, make_zero(is_true.dtype()));
        return select(is_true, element(x), element(y));
      },
      "T_where", kBroadcast);
}

te::Tensor sequence_mask(const te::Tensor& x, const te::Tensor& valid_length, double mask, int axis) {
  return compute(
      x->shape, "ax",
      [&](const Indices& at) {
        PrimExpr length = te::load(valid_length, {at[1 - axis]});
        return if_then_else(tessera::cast(length.dtype(), at[axis]) >= length, make_const(x->dtype, mask),
                            te::load(x, at));
      },
      "T_sequence_mask", kInjective);
}

te::Tensor reverse_sequence(const te::Tensor& x, const te::Tensor& lengths, int seq_axis, int batch_axis) {
  if (lengths) {
    const int64_t *given = as_int(lengths->shape[0]), *batch = as_int(x->shape[batch_axis]);
    if (given && batch && *given != *batch)
      throw Error(ValueError) << "there are " << *given << " lengths for a batch of " << *batch;
  }
  return compute(
      x->shape, "ax",
      [&](const Indices& at) {
        PrimExpr step = at[seq_axis], one = make_const(step.dtype(), 1);
        Indices source = at;
        if (!lengths) {
          source.set(seq_axis, x->shape[seq_axis] - one - step);
        } else {
          // Lengths count in 64 bits; inside the data they fit into the type of extents.
          PrimExpr given = tessera::cast(DataType::Int(64), te::load(lengths, {at[batch_axis]}));
          PrimExpr longest = tessera::cast(given.dtype(), x->shape[seq_axis]);
          PrimExpr length = tessera::cast(step.dtype(), min(max(given, make_zero(given.dtype())), longest));
          PrimExpr turned = length - one - step;
          PrimExpr is_inside = logical_and(length > one, step < length);
          source.set(seq_axis, if_then_else(is_inside, turned, step));
        }
        return te::load(x, source);
      },
      "T_reverse_sequence", kInjective);
}

te::Tensor matrix_set_diag(const te::Tensor& x, const te::Tensor& diagonal, int k1, int k2, bool super_right,
                           bool sub_right) {
  const size_t rank = x->shape.size();
  PrimExpr rows = x->shape[rank - 2], columns = x->shape[rank - 1];
  return compute(
      x->shape, "ax",
      [&](const Indices& at) {
        PrimExpr i = at[rank - 2], j = at[rank - 1], k = j - i, zero = make_zero(k.dtype());
        Indices source(at.begin(), at.begin() + static_cast<long>(rank - 2));
        if (k1 == k2) {
          source.push_back(k1 >= 0 ? i : j);
        } else {
          PrimExpr length = min(rows + min(k, zero), columns - max(k, zero));
          PrimExpr longest = diagonal->shape[diagonal->shape.size() - 1];
          auto shifted = [&](const PrimExpr& step, bool right) { return right ? step + (longest - length) : step; };
          source.push_back(make_const(k.dtype(), k2) - k);
          source.push_back(if_then_else(k >= zero, shifted(i, super_right), shifted(j, sub_right)));
        }
        PrimExpr from_below = if_then_else(k <= make_const(k.dtype(), k2), te::load(diagonal, source), te::load(x, at));
        return if_then_else(k >= make_const(k.dtype(), k1), from_below, te::load(x, at));
      },
      "T_matrix_set_diag", kInjective);
}

te::Tensor trilu(const te::Tensor& x, const PrimExpr& k, bool upper) {
  const size_t rank = x->shape.size();
  return compute(
      x->shape, "ax",
      [&](const Indices& at) {
        PrimExpr diagonal = tessera::cast(k.dtype(), at[rank - 1]) - tessera::cast(k.dtype(), at[rank - 2]);
        return if_then_else(upper ? diagonal >= k : diagonal <= k, te::load(x, at), make_zero(x->dtype));
      },
      "trilu", kElementwise);
}

te::Tensor unravel_index(const te::Tensor& offsets, const te::Tensor& shape) {
  const int64_t* given = as_int(shape->shape[0]);
  if (!given) throw Error(ValueError) << "unravel_index: the number of dimensions must be a constant";
  Indices result = offsets->shape;
  result.insert(0, shape->shape[0]);
  return compute(
      result, "ax",
      [&](const Indices& at) {
        Indices source = at;
        source.erase(0);
        PrimExpr left = te::load(offsets, source), out = make_zero(left.dtype());
        for (int64_t i = *given; i-- > 0;) {
          PrimExpr extent = tessera::cast(left.dtype(), te::load(shape, {PrimExpr(static_cast<int>(i))}));
          PrimExpr digit = i ? floormod(left, extent) : left;
          out = if_then_else(equal(at[0], make_const(at[0].dtype(), i)), digit, out);
          if (i) left = floordiv(left, extent);
        }
        return out;
      },
      "T_unravel", kInjective);
}

namespace {

int from_front(int64_t axis, size_t rank) {
  return static_cast<int>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

Globals index_globals{
    {"topi.take",
     [](te::Tensor x, te::Tensor indices, Any axis, int batch_dims, String mode) {
       int from = axis.is_null() ? -1 : from_front(axis.to<int64_t>(), x->shape.size());
       return take(x, indices, from, from_front(batch_dims, indices->shape.size()), mode, {});
     }},
    {"topi.gather", [](te::Tensor x, int axis,
                       te::Tensor indices) { return gather(x, from_front(axis, x->shape.size()), indices, {}); }},
    {"topi.gather_nd",
     [](te::Tensor x, te::Tensor indices, int batch_dims) { return gather_nd(x, indices, batch_dims, {}); }},
    {"topi.adv_index", adv_index},
    {"topi.one_hot", one_hot},
    {"topi.where", where},
    {"topi.sequence_mask", sequence_mask},
    {"topi.reverse_sequence",
     [](te::Tensor x, Any lengths, int seq_axis, int batch_axis) {
       te::Tensor given = lengths.is_null() ? te::Tensor() : lengths.to<te::Tensor>();
       return reverse_sequence(x, given, from_front(seq_axis, x->shape.size()),
                               from_front(batch_axis, x->shape.size()));
     }},
    {"topi.matrix_set_diag", matrix_set_diag},
    {"topi.trilu", trilu},
    {"topi.unravel_index", unravel_index},
};

}  // namespace
}  // namespace tessera::topi

#include "topi/nn/pool.h"

#include "ir/prim_ops.h"
#include "te/reduce.h"
#include "tir/layout.h"
#include "topi/nn/conv.h"
#include "topi/nn/pad.h"
#include "topi/operand.h"

namespace tessera::topi {
namespace {

PrimExpr product(const std::vector<PrimExpr>& factors) {
  PrimExpr out;
  for (const PrimExpr& factor : factors) out = out ? out * factor : factor;
  return out;
}

}  // namespace

std::vector<int> spatial_axes(const String& layout, size_t spatial) {
  const std::string letters = std::string("DHW").substr(3 - spatial);
  Layout parsed = make_layout(layout);
  std::vector<int> out;
  for (char letter : letters) {
    int at = parsed->index_of(letter);
    if (at < 0 || parsed->factor_of(letter) > 0)
      throw Error(ValueError) << "pooling over " << letters << " in the layout " << layout
                              << ", which has no whole dimension " << std::string(1, letter);
    out.push_back(at);
  }
  return out;
}

te::Tensor pool(const te::Tensor& data, PoolKind kind, const PoolOptions& options) {
  const size_t spatial = options.pool_size.size(), rank = data->shape.size();
  std::vector<int> axes = spatial_axes(options.layout, spatial);
  Array<PrimExpr> padding = full_padding(options.padding, spatial);
  Array<PrimExpr> before(rank, PrimExpr(0)), after(rank, PrimExpr(0)), shape = data->shape;
  bool pads = false;
  for (size_t i = 0; i < spatial; ++i) {
    auto axis = static_cast<size_t>(axes[i]);
    PrimExpr begin = padding[i], end = padding[i + spatial];
    PrimExpr inside = data->shape[axis] + begin + end;
    PrimExpr count =
        window_count(inside, options.pool_size[i], options.dilation[i], options.strides[i], options.ceil_mode);
    if (options.ceil_mode) end = end + options.strides[i] - 1;  // room for the last window
    before.set(axis, begin);
    after.set(axis, end);
    shape.set(axis, count);
    pads = pads || !is_zero(begin) || !is_zero(end);
  }
  PrimExpr border = kind == PoolKind::Max ? min_value(data->dtype) : make_zero(data->dtype);
  te::Tensor source = pads ? pad(data, before, after, border, "pad_temp") : data;

  Array<IterVar> taps;
  for (size_t i = 0; i < spatial; ++i)
    taps.push_back(te::reduce_axis(make_range(0, options.pool_size[i]), "rv" + std::to_string(i)));
  auto window = [&](const Array<PrimExpr>& at) {
    Array<PrimExpr> out = at;
    for (size_t i = 0; i < spatial; ++i) {
      auto axis = static_cast<size_t>(axes[i]);
      out.set(axis, at[axis] * options.strides[i] + taps[i]->var * options.dilation[i]);
    }
    return te::load(source, out);
  };
  if (kind == PoolKind::Max)
    return compute(
        shape, "ax", [&](const Array<PrimExpr>& at) { return te::max_over(window(at), taps); }, "tensor", "pool_max");
  te::Tensor total =
      compute(shape, "ax", [&](const Array<PrimExpr>& at) { return te::sum(window(at), taps); }, "tensor", "pool_avg");
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) {
        std::vector<PrimExpr> counts;
        for (size_t i = 0; i < spatial; ++i) {
          auto axis = static_cast<size_t>(axes[i]);
          PrimExpr size = options.pool_size[i];
          if (options.count_include_pad) {
            counts.push_back(size);
            continue;
          }
          // taps whose place lies in [0, extent): their first and last number
          PrimExpr start = at[axis] * options.strides[i] - padding[i], step = options.dilation[i];
          PrimExpr first = max(floordiv(0 - start + step - 1, step), make_zero(start.dtype()));
          PrimExpr last = min(floordiv(data->shape[axis] - 1 - start, step), size - 1);
          counts.push_back(max(last - first + 1, make_zero(start.dtype())));
        }
        PrimExpr count = product(counts);
        if (!options.count_include_pad) count = max(count, make_const(count.dtype(), 1));
        return div(te::load(total, at), tessera::cast(data->dtype, count));
      },
      "tensor", kElementwise);
}

te::Tensor adaptive_pool(const te::Tensor& data, PoolKind kind, const Array<PrimExpr>& size, const String& layout) {
  std::vector<int> axes = spatial_axes(layout, size.size());
  Array<PrimExpr> shape = data->shape;
  for (size_t i = 0; i < size.size(); ++i) shape.set(static_cast<size_t>(axes[i]), size[i]);
  auto begin = [&](const PrimExpr& at, size_t i) {
    return floordiv(at * data->shape[static_cast<size_t>(axes[i])], size[i]);
  };
  auto extent = [&](const PrimExpr& at, size_t i) {
    PrimExpr whole = data->shape[static_cast<size_t>(axes[i])];
    if (is_zero(floormod(whole, size[i]))) return floordiv(whole, size[i]);
    return floordiv((at + 1) * whole + size[i] - 1, size[i]) - begin(at, i);
  };
  auto reduce = [&](const Array<PrimExpr>& at) {
    Array<IterVar> taps;
    Array<PrimExpr> source = at;
    for (size_t i = 0; i < size.size(); ++i) {
      auto axis = static_cast<size_t>(axes[i]);
      taps.push_back(te::reduce_axis(make_range(0, extent(at[axis], i)), "rv" + std::to_string(i)));
      source.set(axis, begin(at[axis], i) + taps.back()->var);
    }
    PrimExpr element = te::load(data, source);
    return kind == PoolKind::Max ? te::max_over(element, taps) : te::sum(element, taps);
  };
  te::Tensor out =
      compute(shape, "ax", reduce, "tensor", kind == PoolKind::Max ? "adaptive_pool_max" : "adaptive_pool_avg");
  if (kind == PoolKind::Max) return out;
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) {
        std::vector<PrimExpr> counts;
        for (size_t i = 0; i < size.size(); ++i) counts.push_back(extent(at[static_cast<size_t>(axes[i])], i));
        return div(te::load(out, at), tessera::cast(data->dtype, product(counts)));
      },
      "tensor", kElementwise);
}

}  // namespace tessera::topi

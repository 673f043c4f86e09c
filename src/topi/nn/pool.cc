#include "topi/nn/pool.h"

#include "ir/prim/ops.h"
#include "te/reduce.h"
#include "tir/layout.h"
#include "topi/nn/conv.h"
#include "topi/nn/pad.h"
#include "topi/reduction.h"
#include "topi/transform.h"

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

namespace {

/// The windows of a pool: where they lie, and how many elements each has.
class Windows {
 public:
  Windows(const te::Tensor& data, const PoolOptions& options, const PrimExpr& border)
      : options_(options), extents_(data->shape), shape_(data->shape), source_(data) {
    const size_t spatial = options.pool_size.size(), rank = data->shape.size();
    axes_ = spatial_axes(options.layout, spatial);
    padding_ = full_padding(options.padding, spatial);
    Array<PrimExpr> before(rank, PrimExpr(0)), after(rank, PrimExpr(0));
    bool pads = false;
    for (size_t i = 0; i < spatial; ++i) {
      PrimExpr begin = padding_[i], end = padding_[i + spatial];
      PrimExpr count = window_count(extents_[axis(i)] + begin + end, options.pool_size[i], options.dilation[i],
                                    options.strides[i], options.ceil_mode);
      if (options.ceil_mode) end = end + options.strides[i] - 1;  // room for the last window
      before.set(axis(i), begin);
      after.set(axis(i), end);
      shape_.set(axis(i), count);
      pads = pads || !is_zero(begin) || !is_zero(end);
    }
    if (pads) source_ = pad(data, before, after, border, "pad_temp", "ax");
  }

  size_t spatial() const { return axes_.size(); }
  size_t axis(size_t i) const { return static_cast<size_t>(axes_[i]); }
  const Array<PrimExpr>& shape() const { return shape_; }  // of the result

  Array<IterVar> window_axes() const {
    Array<IterVar> out;
    for (size_t i = 0; i < spatial(); ++i)
      out.push_back(te::reduce_axis(make_range(0, options_.pool_size[i]), "rv" + std::to_string(i)));
    return out;
  }

  /// One element of window `at`.
  PrimExpr element(const Array<PrimExpr>& at, const Array<PrimExpr>& step) const {
    Array<PrimExpr> out = at;
    for (size_t i = 0; i < spatial(); ++i)
      out.set(axis(i), at[axis(i)] * options_.strides[i] + step[i] * options_.dilation[i]);
    return te::load(source_, out);
  }

  /// How many elements the mean of window `at` is taken over.
  PrimExpr count(const Array<PrimExpr>& at) const {
    std::vector<PrimExpr> counts;
    for (size_t i = 0; i < spatial(); ++i) {
      PrimExpr size = options_.pool_size[i];
      if (options_.count_include_pad) {
        counts.push_back(size);
        continue;
      }
      // window elements whose position lies in [0, extent): their first and last number
      PrimExpr start = at[axis(i)] * options_.strides[i] - padding_[i], step = options_.dilation[i];
      PrimExpr first = max(floordiv(0 - start + step - 1, step), make_zero(start.dtype()));
      PrimExpr last = min(floordiv(extents_[axis(i)] - 1 - start, step), size - 1);
      counts.push_back(max(last - first + 1, make_zero(start.dtype())));
    }
    PrimExpr out = product(counts);
    return options_.count_include_pad ? out : max(out, make_const(out.dtype(), 1));
  }

  /// The window in which element `at` of the data is at position `step`; `exists` says whether there is one.
  Array<PrimExpr> window_with(const Array<PrimExpr>& at, const Array<PrimExpr>& step, PrimExpr* exists) const {
    Array<PrimExpr> out = at;
    for (size_t i = 0; i < spatial(); ++i) {
      PrimExpr start = at[axis(i)] + padding_[i] - step[i] * options_.dilation[i];
      PrimExpr window = floordiv(start, options_.strides[i]);
      auto require = [&](const PrimExpr& fact) { *exists = *exists ? logical_and(*exists, fact) : fact; };
      require(start >= 0);
      if (!is_one(options_.strides[i])) require(equal(floormod(start, options_.strides[i]), 0));
      require(window < shape_[axis(i)]);
      out.set(axis(i), window);
    }
    return out;
  }

 private:
  PoolOptions options_;
  Array<PrimExpr> extents_, shape_, padding_;
  std::vector<int> axes_;
  te::Tensor source_;
};

Array<PrimExpr> vars_of(const Array<IterVar>& axes) {
  Array<PrimExpr> out;
  for (const IterVar& axis : axes) out.push_back(axis->var);
  return out;
}

PrimExpr border_of(const te::Tensor& data, PoolKind kind) {
  return kind == PoolKind::Max ? te::least_of(data->dtype) : make_zero(data->dtype);
}

}  // namespace

te::Tensor pool(const te::Tensor& data, PoolKind kind, const PoolOptions& options) {
  Windows windows(data, options, border_of(data, kind));
  Array<IterVar> window_axes = windows.window_axes();
  auto element = [&](const Array<PrimExpr>& at) { return windows.element(at, vars_of(window_axes)); };
  if (kind == PoolKind::Max)
    return compute(
        windows.shape(), "ax", [&](const Array<PrimExpr>& at) { return te::max_over(element(at), window_axes); },
        "tensor", "pool_max");
  te::Tensor total = compute(
      windows.shape(), "ax", [&](const Array<PrimExpr>& at) { return te::sum(element(at), window_axes); }, "tensor",
      "pool_avg");
  return compute(
      windows.shape(), "ax",
      [&](const Array<PrimExpr>& at) {
        return div(te::load(total, at), tessera::cast(data->dtype, windows.count(at)));
      },
      "tensor", kElementwise);
}

te::Tensor pool_grad(const te::Tensor& grad, const te::Tensor& data, PoolKind kind, const PoolOptions& options) {
  Windows windows(data, options, border_of(data, kind));
  const size_t rank = data->shape.size();
  te::Tensor greatest;  // the index of the greatest element in each window, row-major
  if (kind == PoolKind::Max) {
    Array<PrimExpr> shape = windows.shape();
    ReduceOptions window_axes{.axes = {}, .all_axes = false, .keepdims = false};
    for (size_t i = 0; i < windows.spatial(); ++i) {
      window_axes.axes.push_back(static_cast<int64_t>(rank + i));
      shape.push_back(options.pool_size[i]);
    }
    te::Tensor unfolded = compute(
        shape, "ax",
        [&](const Array<PrimExpr>& at) {
          return windows.element({at.begin(), at.begin() + rank}, {at.begin() + rank, at.end()});
        },
        "windows", kInjective);
    greatest = argmax(unfolded, window_axes, false);
  }
  Array<IterVar> window_axes = windows.window_axes();
  return compute(
      data->shape, "ax",
      [&](const Array<PrimExpr>& at) {
        PrimExpr exists;
        Array<PrimExpr> window = windows.window_with(at, vars_of(window_axes), &exists);
        PrimExpr part = te::load(grad, window);
        if (kind == PoolKind::Avg) {
          part = div(part, tessera::cast(grad->dtype, windows.count(window)));
        } else {
          exists = logical_and(exists,
                               equal(te::load(greatest, window), flat_index(vars_of(window_axes), options.pool_size)));
        }
        return te::sum(if_then_else(exists, part, make_zero(grad->dtype)), window_axes);
      },
      "T_pool_grad", kind == PoolKind::Max ? "pool_grad_max" : "pool_grad_avg");
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
    Array<IterVar> window_axes;
    Array<PrimExpr> source = at;
    for (size_t i = 0; i < size.size(); ++i) {
      auto axis = static_cast<size_t>(axes[i]);
      window_axes.push_back(te::reduce_axis(make_range(0, extent(at[axis], i)), "rv" + std::to_string(i)));
      source.set(axis, begin(at[axis], i) + window_axes.back()->var);
    }
    PrimExpr element = te::load(data, source);
    return kind == PoolKind::Max ? te::max_over(element, window_axes) : te::sum(element, window_axes);
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

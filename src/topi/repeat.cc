#include "topi/repeat.h"

#include "ir/prim/ops.h"
#include "ir/structural/expr_equal.h"
#include "runtime/registry.h"
#include "te/reduce.h"

namespace tessera::topi {

using Indices = Array<PrimExpr>;

te::Tensor tile(const te::Tensor& x, const Array<PrimExpr>& reps) {
  size_t rank = x->shape.size(), out_rank = std::max(rank, reps.size());
  Indices shape;
  auto count_of = [&](size_t back) { return back <= reps.size() ? reps[reps.size() - back] : PrimExpr(1); };
  for (size_t back = out_rank; back > 0; --back) {
    PrimExpr extent = back <= rank ? x->shape[rank - back] : PrimExpr(1);
    shape.push_back(extent * tessera::cast(extent.dtype(), count_of(back)));
  }
  return compute(
      shape, "ax",
      [&](const Indices& at) {
        Indices source;
        for (size_t i = 0; i < rank; ++i) {  // of an extent 0 no element is read
          PrimExpr extent = is_zero(x->shape[i]) ? make_const(x->shape[i].dtype(), 1) : x->shape[i];
          const PrimExpr& index = at[out_rank - rank + i];
          const bool stays = !as_int(extent) && is_one(count_of(rank - i));  // no division by what a run decides
          source.push_back(stays ? index : floormod(index, extent));
        }
        return te::load(x, source);
      },
      "T_tile", kBroadcast);
}

te::Tensor repeat(const te::Tensor& x, const PrimExpr& count, int axis) {
  Indices shape = x->shape;
  PrimExpr times = tessera::cast(shape[axis].dtype(), count);
  shape.set(axis, shape[axis] * times);
  return compute(
      shape, "ax",
      [&](const Indices& at) {
        Indices source = at;
        source.set(axis, floordiv(at[axis], times));
        return te::load(x, source);
      },
      "T_repeat", kBroadcast);
}

te::Tensor sliding_window(const te::Tensor& x, int axis, const Array<PrimExpr>& window,
                          const Array<PrimExpr>& strides) {
  const size_t first = static_cast<size_t>(axis), count = window.size();
  Indices shape(x->shape.begin(), x->shape.begin() + axis);
  for (size_t i = 0; i < count; ++i)
    shape.push_back(floordiv(x->shape[first + i] - window[i], strides[i]) + make_const(x->shape[first + i].dtype(), 1));
  for (const PrimExpr& extent : window) shape.push_back(extent);
  return compute(
      shape, "ax",
      [&](const Indices& at) {
        Indices source(at.begin(), at.begin() + axis);
        for (size_t i = 0; i < count; ++i) source.push_back(at[first + i] * strides[i] + at[first + count + i]);
        return te::load(x, source);
      },
      "T_sliding_window", kInjective);
}

te::Tensor arange(const PrimExpr& start, const PrimExpr& step, const PrimExpr& count, DataType dtype) {
  return compute(
      {count}, "ax",
      [&](const Indices& at) { return tessera::cast(dtype, start + step * tessera::cast(step.dtype(), at[0])); },
      "T_arange", kInjective);
}

Array<te::Tensor> meshgrid(const Array<te::Tensor>& vectors, bool swaps) {
  auto dimension = [&](size_t i) { return swaps && i < 2 && vectors.size() > 1 ? 1 - i : i; };
  std::vector<PrimExpr> shape(vectors.size());
  for (size_t i = 0; i < vectors.size(); ++i)
    shape[dimension(i)] = vectors[i]->shape.empty() ? PrimExpr(1) : vectors[i]->shape[0];
  Array<te::Tensor> out;
  for (size_t i = 0; i < vectors.size(); ++i)
    out.push_back(compute(
        shape, "ax",
        [&](const Indices& at) {
          return te::load(vectors[i], vectors[i]->shape.empty() ? Indices{} : Indices{at[dimension(i)]});
        },
        "T_meshgrid", kInjective));
  return out;
}

te::Tensor shape_of(const te::Tensor& x, DataType dtype) {
  return compute(
      {PrimExpr(static_cast<int>(x->shape.size()))}, "ax",
      [&](const Indices& at) {
        PrimExpr out = make_zero(dtype);
        for (size_t i = 0; i < x->shape.size(); ++i)
          out = if_then_else(equal(at[0], PrimExpr(static_cast<int>(i))), tessera::cast(dtype, x->shape[i]), out);
        return out;
      },
      "T_shape", kInjective);
}

te::Tensor ndarray_size(const te::Tensor& x, DataType dtype) {
  return compute(
      {}, "ax",
      [&](const Indices&) {
        PrimExpr out = make_const(dtype, 1);
        for (const PrimExpr& extent : x->shape) out = out * tessera::cast(dtype, extent);
        return out;
      },
      "ndarray_size", kInjective);
}

te::Tensor collapse_sum(const te::Tensor& x, const Array<PrimExpr>& shape) {
  const size_t extra = x->shape.size() - shape.size();
  Array<IterVar> reduced;
  std::vector<PrimExpr> summed_at(x->shape.size()), summed(x->shape.size());
  for (size_t i = 0; i < x->shape.size(); ++i) {
    PrimExpr extent = x->shape[i];
    PrimExpr wanted = i < extra ? PrimExpr(1) : shape[i - extra];
    bool is_kept = i >= extra && (expr_equal(extent, wanted) || (as_int(wanted) && !is_one(wanted)));
    if (is_kept) continue;
    // Whether an extent that is known only at run time is summed over is seen then.
    PrimExpr sums = is_one(wanted) ? PrimExpr() : equal(wanted, make_const(wanted.dtype(), 1));
    PrimExpr count = sums ? select(sums, extent, make_const(extent.dtype(), 1)) : extent;
    reduced.push_back(te::reduce_axis(make_range(make_zero(extent.dtype()), count), "k" + std::to_string(i)));
    summed_at[i] = reduced.back()->var;
    if (sums) summed[i] = sums;
  }
  return compute(
      shape, "ax",
      [&](const Indices& at) {
        Indices source;
        for (size_t i = 0; i < summed_at.size(); ++i) {
          if (summed[i]) source.push_back(select(summed[i], summed_at[i], at[i - extra]));
          else source.push_back(summed_at[i] ? summed_at[i] : at[i - extra]);
        }
        PrimExpr element = te::load(x, source);
        if (reduced.empty()) return element;
        return te::sum(element, reduced);
      },
      te::tensor_name(x.get()) + "_red", reduced.empty() ? kInjective : kReduce);
}

namespace {

/// How many elements arange has from start to before stop.
PrimExpr arange_count(const PrimExpr& start, const PrimExpr& stop, const PrimExpr& step) {
  DataType wide = DataType::Float(64);
  PrimExpr exact = div(tessera::cast(wide, stop) - tessera::cast(wide, start), tessera::cast(wide, step));
  return max(tessera::cast(DataType::Int(32), ceil(exact)), PrimExpr(0));
}

Globals repeat_globals{
    {"topi.tile", tile},
    {"topi.repeat",
     [](te::Tensor x, PrimExpr count, int axis) {
       return repeat(x, count, axis < 0 ? axis + static_cast<int>(x->shape.size()) : axis);
     }},
    {"topi.sliding_window", sliding_window},
    {"topi.arange", [](PrimExpr start, PrimExpr stop, PrimExpr step,
                       DataType dtype) { return arange(start, step, arange_count(start, stop, step), dtype); }},
    {"topi.meshgrid", [](Array<te::Tensor> vectors, String order) { return meshgrid(vectors, order == "xy"); }},
    {"topi.shape", shape_of},
    {"topi.ndarray_size", ndarray_size},
};

}  // namespace
}  // namespace tessera::topi

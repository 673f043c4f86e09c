#include "topi/image/sample.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "te/reduce.h"
#include "tir/layout.h"
#include "topi/block_rule.h"
#include "topi/nn/conv.h"
#include "topi/nn/pad.h"
#include "topi/nn/pool.h"
#include "topi/operand.h"
#include "topi/safe_index.h"

namespace tessera::topi {
namespace {

PrimExpr number(const PrimExpr& like, double value) { return make_const(like.dtype(), value); }
PrimExpr as_index(const PrimExpr& position) { return tessera::cast(DataType::Int(32), position); }
/// The whole part of a position and what is left. A position from data may be anything: its whole part is kept far from
/// the limits of integers, so that its neighbours can be counted, and a NaN is the least.
std::pair<PrimExpr, PrimExpr> parts_of(const PrimExpr& position, bool is_from_data) {
  PrimExpr below = floor(position), whole = as_index(below);
  if (!is_from_data) return {whole, position - tessera::cast(position.dtype(), whole)};
  PrimExpr far = make_const(DataType::Int(32), 1 << 30), near = make_const(DataType::Int(32), -(1 << 30));
  return {max(min(whole, far), near), position - below};
}

/// The element at `indices` of the dimensions `axes`; zero outside the data.
PrimExpr element_or_zero(const te::Tensor& data, const Array<PrimExpr>& source, const std::vector<int>& axes,
                         const std::vector<PrimExpr>& indices) {
  Array<PrimExpr> at = source;
  PrimExpr inside;
  for (size_t i = 0; i < axes.size(); ++i) {
    auto axis = static_cast<size_t>(axes[i]);
    at.set(axis, indices[i]);
    PrimExpr here = logical_and(indices[i] >= 0, indices[i] < data->shape[axis]);
    inside = inside ? logical_and(inside, here) : here;
  }
  return if_then_else(inside, te::load(data, at), make_zero(data->dtype));
}

PrimExpr blend_from(const std::vector<Taps>& taps, std::vector<PrimExpr>* chosen,
                    const std::function<PrimExpr(const std::vector<PrimExpr>&)>& read) {
  if (chosen->size() == taps.size()) return read(*chosen);
  PrimExpr out;
  for (const Tap& tap : taps[chosen->size()]) {
    chosen->push_back(tap.index);
    PrimExpr part = blend_from(taps, chosen, read);
    chosen->pop_back();
    if (tap.weight) part = part * tap.weight;
    out = out ? out + part : part;
  }
  return out;
}

}  // namespace

Taps linear_taps(const PrimExpr& position, bool is_from_data) {
  auto [whole, t] = parts_of(position, is_from_data);
  return {{whole, number(t, 1.0) - t}, {whole + 1, t}};
}

Taps cubic_taps(const PrimExpr& position, double a, bool is_from_data) {
  auto [whole, t] = parts_of(position, is_from_data);
  PrimExpr t2 = t * t, t3 = t2 * t;
  auto c = [&](double value) { return number(t, value); };
  return {{whole - 1, c(a) * (t3 - c(2.0) * t2 + t)},
          {whole, c(a + 2) * t3 - c(a + 3) * t2 + c(1.0)},
          {whole + 1, c(-(a + 2)) * t3 + c(2 * a + 3) * t2 - c(a) * t},
          {whole + 2, c(-a) * t3 + c(a) * t2}};
}

PrimExpr blend(const std::vector<Taps>& taps, const std::function<PrimExpr(const std::vector<PrimExpr>&)>& read) {
  std::vector<PrimExpr> chosen;
  return blend_from(taps, &chosen, read);
}

PrimExpr sample_linear(const te::Tensor& data, const Array<PrimExpr>& source, const std::vector<int>& axes,
                       const std::vector<PrimExpr>& positions) {
  std::vector<Taps> taps;
  for (const PrimExpr& position : positions) taps.push_back(linear_taps(position, true));
  return blend(taps, [&](const std::vector<PrimExpr>& indices) {
    return tessera::cast(positions[0].dtype(), element_or_zero(data, source, axes, indices));
  });
}

te::Tensor affine_grid(const te::Tensor& data, const Array<PrimExpr>& target_shape) {
  auto step = [&](size_t i) {  // a little less than whole, so that the last position is inside
    PrimExpr last = tessera::cast(data->dtype, target_shape[i] - 1);
    return div(make_const(data->dtype, 2.0 - 1e-7), last);
  };
  return compute(
      {data->shape[0], PrimExpr(2), target_shape[0], target_shape[1]}, "i",
      [&](const Array<PrimExpr>& at) {
        auto position = [&](size_t i) {
          return make_const(data->dtype, -1.0) + tessera::cast(data->dtype, at[i + 2]) * step(i);
        };
        auto entry = [&](int column) { return te::load(data, {at[0], at[1], PrimExpr(column)}); };
        return entry(0) * position(1) + entry(1) * position(0) + entry(2);
      },
      "affine_grid", "affine_grid");
}

namespace {

/// Positions of a grid, and indices around them, brought into the data.
class Folding {
 public:
  Folding(const GridSampleOptions& options) : options_(options) {}

  /// From [-1, 1] to positions among `extent` elements.
  PrimExpr unnormalise(const PrimExpr& position, const PrimExpr& extent) const {
    PrimExpr size = tessera::cast(position.dtype(), extent), one = number(position, 1.0), half = number(position, 0.5);
    if (options_.align_corners) return (position + one) * (size - one) * half;
    return (position + one) * size * half - half;
  }

  PrimExpr operator()(const PrimExpr& position, const PrimExpr& extent) const {
    if (options_.padding_mode == "zeros") return position;
    PrimExpr last = tessera::cast(position.dtype(), extent - 1), zero = number(position, 0.0);
    PrimExpr inside = options_.padding_mode == "reflection" ? reflect(position, extent) : position;
    return min(max(inside, zero), last);
  }

 private:
  /// Mirrored at the first and the last element, or at their outer edges, as often as needed.
  PrimExpr reflect(const PrimExpr& position, const PrimExpr& extent) const {
    double edge = options_.align_corners ? 0.0 : -0.5;
    PrimExpr size = tessera::cast(position.dtype(), options_.align_corners ? extent - 1 : extent);
    PrimExpr from = abs(position - number(position, edge));
    PrimExpr times = floor(div(from, max(size, number(position, 1.0))));
    PrimExpr extra = from - times * size;
    PrimExpr is_even = equal(floormod(as_index(times), 2), 0);
    return if_then_else(is_even, extra, size - extra) + number(position, edge);
  }

  GridSampleOptions options_;
};

}  // namespace

namespace {

/// Where a point of a grid lies along one axis of the data.
Taps taps_along(const PrimExpr& position, const PrimExpr& extent, const Folding& fold,
                const GridSampleOptions& options) {
  if (options.method == "nearest") return {{as_index(nearbyint(fold(position, extent))), {}}};
  if (options.method == "bilinear") return linear_taps(fold(position, extent), true);
  if (options.method != "bicubic")
    throw Error(ValueError) << "method is " << options.method << ", but must be bilinear, nearest or bicubic";
  Taps out = cubic_taps(position, -0.75, true);
  for (Tap& tap : out)
    if (options.padding_mode != "zeros") tap.index = as_index(fold(tessera::cast(position.dtype(), tap.index), extent));
  return out;
}

/// An index outside of the data is -1.
PrimExpr index_or_none(const PrimExpr& index, const PrimExpr& extent) {
  const PrimExpr count = tessera::cast(index.dtype(), extent);
  return select(logical_and(index >= 0, index < count), index, make_const(index.dtype(), -1));
}

/// A stage that is computed once for all channels.
te::Tensor once_for_all(const Array<PrimExpr>& shape, const char* name,
                        const std::function<PrimExpr(const Array<PrimExpr>&)>& body) {
  Array<IterVar> axes;
  Array<PrimExpr> at;
  for (const PrimExpr& extent : shape) {
    Var var = make_var("i" + std::to_string(axes.size()), DataType::Int(32));
    axes.push_back(make_iter_var(make_range(0, extent), var, IterType::DataPar));
    at.push_back(var);
  }
  return te::output(te::compute_op(name, "", {{String(kComputedOnce), PrimExpr(1)}}, axes, {body(at)}), 0);
}

}  // namespace

te::Tensor grid_sample(const te::Tensor& data, const te::Tensor& grid, const GridSampleOptions& options) {
  const size_t spatial = data->shape.size() - 2;
  const Folding fold(options);
  Array<PrimExpr> shape{data->shape[0], data->shape[1]}, points{data->shape[0]};
  for (size_t i = 0; i < spatial; ++i) shape.push_back(grid->shape[2 + i]), points.push_back(grid->shape[2 + i]);
  auto taps_at = [&](const Array<PrimExpr>& point, size_t axis) {
    SafeAccess grids({});
    grids.shares(data->shape[0], grid->shape[0], 0);
    Array<PrimExpr> at = point;
    at.insert(1, PrimExpr(static_cast<int>(spatial - 1 - axis)));
    const PrimExpr& extent = data->shape[2 + axis];
    return taps_along(fold.unnormalise(grids.load(grid, at), extent), extent, fold, options);
  };
  // Channels share what is known of a point: indices and weights along each axis.
  struct Along {
    te::Tensor index, weight;
  };
  std::vector<std::vector<Along>> known(spatial);
  for (size_t axis = 0; axis < spatial; ++axis) {
    const size_t count = taps_at(points, axis).size();
    for (size_t tap = 0; tap < count; ++tap) {
      auto index = [&](const Array<PrimExpr>& point) {
        return index_or_none(taps_at(point, axis)[tap].index, data->shape[2 + axis]);
      };
      auto weight = [&](const Array<PrimExpr>& point) { return taps_at(point, axis)[tap].weight; };
      known[axis].push_back(
          {once_for_all(points, "sample_index", index),
           taps_at(points, axis)[tap].weight ? once_for_all(points, "sample_weight", weight) : te::Tensor()});
    }
  }
  const bool has_pixels = std::all_of(data->shape.begin() + 2, data->shape.end(), [](const PrimExpr& extent) {
    const int64_t* value = as_int(extent);
    return value && *value > 0;
  });
  return compute(
      shape, "i",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> point{at[0]};
        for (size_t i = 0; i < spatial; ++i) point.push_back(at[2 + i]);
        std::vector<Taps> taps(spatial);
        for (size_t axis = 0; axis < spatial; ++axis)
          for (const Along& along : known[axis])
            taps[axis].push_back(
                {te::load(along.index, point), along.weight ? te::load(along.weight, point) : PrimExpr()});
        PrimExpr value = blend(taps, [&](const std::vector<PrimExpr>& indices) {
          Array<PrimExpr> from{at[0], at[1]};
          PrimExpr inside;
          for (const PrimExpr& index : indices) {
            from.push_back(max(index, make_zero(index.dtype())));
            inside = inside ? logical_and(inside, index >= 0) : index >= 0;
          }
          const PrimExpr element = te::load(data, from), zero = make_zero(data->dtype);
          return has_pixels ? select(inside, element, zero) : if_then_else(inside, element, zero);
        });
        return tessera::cast(data->dtype, value);
      },
      "grid_sample", "grid_sample");
}

te::Tensor dilation2d(const te::Tensor& data, const te::Tensor& filter, const DilationOptions& options) {
  Layout plain = make_layout("NCHW"), plain_kernel = make_layout("IHW");
  Layout in = make_layout(options.data_layout), kernel = make_layout(options.kernel_layout);
  Array<PrimExpr> padding = full_padding(options.padding, 2), before, after;
  for (size_t i = 0; i < 4; ++i) {
    size_t dim = std::string("HW").find(in->letter(i));
    before.push_back(dim > 1 ? PrimExpr(0) : padding[dim]);
    after.push_back(dim > 1 ? PrimExpr(0) : padding[dim + 2]);
  }
  te::Tensor padded = pad(data, before, after, te::least_of(data->dtype), "pad_temp");
  Array<PrimExpr> shape = convert_shape(in, plain, padded->shape);
  Array<PrimExpr> taps = convert_shape(kernel, plain_kernel, filter->shape);
  Array<IterVar> reduce;
  for (size_t i = 0; i < 2; ++i) {
    shape.set(i + 2, window_count(shape[i + 2], taps[i + 1], options.dilations[i], options.strides[i]));
    reduce.push_back(te::reduce_axis(make_range(0, taps[i + 1]), i ? "rx" : "ry"));
  }
  return compute(
      convert_shape(plain, in, shape), "i",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> plain_at = convert_indices(in, plain, at), data_at = plain_at;
        for (size_t i = 0; i < 2; ++i)
          data_at.set(i + 2, plain_at[i + 2] * options.strides[i] + reduce[i]->var * options.dilations[i]);
        auto cast = [&](const PrimExpr& e) { return tessera::cast(options.out_dtype, e); };
        PrimExpr sum = cast(te::load(padded, convert_indices(plain, in, data_at))) +
                       cast(te::load(filter, convert_indices(plain_kernel, kernel,
                                                             {plain_at[1], reduce[0]->var, reduce[1]->var})));
        return te::max_over(sum, reduce);
      },
      "dilation2d", options.data_layout == "NHWC" ? "dilation2d_nhwc" : "dilation2d_nchw");
}

}  // namespace tessera::topi

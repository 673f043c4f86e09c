// Pools, and what undoes them.

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/nn/pad_dynamic.h"
#include "frontend/onnx/nn/windows.h"
#include "frontend/onnx/tensor_ops/checked_indices.h"
#include "relay/attrs/index.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"
#include "runtime/function/element.h"

#include <cmath>
#include <utility>

namespace tessera::onnx {

using namespace relay;  // NOLINT: makers of calls

namespace {

/// What `auto_pad` adds along an axis whose extent a run decides: before and after, as int64 vectors of one number.
std::pair<Expr, Expr> same_padding_at_run_time(Operation& in, int axis, int64_t window, int64_t stride,
                                               bool more_before) {
  auto number = [](int64_t value) { return make_ints({value}); };
  Expr rest = call_op("floor_mod", {reshape(extent_at_run_time(in, in[0], axis), int_array({1})), number(stride)});
  Expr last = where(equal(rest, number(0)), number(stride), rest);
  Expr total = maximum(subtract(number(window), last), number(0));
  Expr less = call_op("floor_divide", {total, number(2)}), more = subtract(total, less);
  return more_before ? std::pair(more, less) : std::pair(less, more);
}

}  // namespace

Ints padding_of(Operation& in, const Ints& kernel, const Ints& strides, const Ints& dilations, Expr* data,
                double value) {
  size_t spatial = kernel.size();
  std::string automatic = in.text("auto_pad", "NOTSET");
  if (automatic == "NOTSET") return in.integers("pads", std::vector<int64_t>(2 * spatial, 0));
  if (automatic == "VALID") return Ints(2 * spatial, 0);
  const bool more_before = automatic == "SAME_LOWER";
  const Array<PrimExpr> shape = in.shape(in[0]);
  if (shape.size() < 2) in.invalid("data without batch and channels");
  Ints extents, axes;
  Array<Expr> before, after;
  for (size_t i = 0; i < spatial; ++i) {
    auto* extent = shape[i + 2].as<IntImm>();
    extents.push_back(extent ? extent->value : strides[i]);  // with a stride of 1 all extents are padded alike
    if (extent || strides[i] == 1) continue;
    if (!data) in.static_shape(in[0], "auto_pad");
    axes.push_back(static_cast<int64_t>(i) + 2);
    auto [first, last] = same_padding_at_run_time(in, static_cast<int>(i) + 2, dilated(kernel[i], dilations[i]),
                                                  strides[i], more_before);
    before.push_back(first), after.push_back(last);
  }
  Ints out = same_padding(extents, kernel, strides, dilations, more_before);
  if (axes.empty()) return out;
  for (int64_t axis : axes) out[size_t(axis) - 2] = out[size_t(axis) - 2 + spatial] = 0;
  for (const Expr& part : after) before.push_back(part);
  *data = padded_at_run_time(in, *data, concatenate(before, 0), axes, make_scalar(value, in.dtype(*data)), "constant");
  return out;
}

void check_windows(const Operation& in, size_t spatial) {
  constexpr int64_t kMax = INT32_MAX;
  auto check = [&](const char* name, size_t count, int64_t least) {
    if (!in.has_attribute(name)) return;
    std::vector<int64_t> given = in.integers(name);
    if (given.size() != count)
      in.invalid(std::string(name) + " has " + std::to_string(given.size()) + " numbers, not " + std::to_string(count));
    for (int64_t number : given)
      if (number < least || number > kMax)
        in.invalid(std::string(name) + " has the number " + std::to_string(number) + ", which makes no window");
  };
  for (const char* name : {"kernel_shape", "strides", "dilations"}) check(name, spatial, 1);
  check("pads", 2 * spatial, -kMax);
  check("output_padding", spatial, 0);
}

namespace {

/// `data` and `value`: as in `padding_of`.
PoolWindows pool_of(Operation& in, Expr* data = nullptr, double value = 0) {
  const size_t spatial = in.spatial(in[0]);
  check_windows(in, spatial);
  Ints kernel = in.integers("kernel_shape"), ones(spatial, 1);
  if (kernel.size() != spatial) in.invalid("kernel_shape has not as many numbers as there are dimensions");
  Ints strides = in.integers("strides", ones), dilations = in.integers("dilations", ones);
  Ints padding = padding_of(in, kernel, strides, dilations, data, value), extents;
  const bool is_automatic = in.text("auto_pad", "NOTSET") != "NOTSET";
  if (auto shape = in.fixed_shape(in[0])) extents.assign(shape->begin() + 2, shape->end());
  return pool_windows(in, kernel, strides, dilations, padding, in.integer("ceil_mode", 0) != 0 && !is_automatic,
                      extents);
}

/// The least number of a type, which is no maximum of anything.
double lowest(DataType dtype) {
  if (is_float(dtype)) return -INFINITY;
  return dtype.code == DataType::kUInt ? 0 : -std::ldexp(1.0, dtype.bits - 1);
}

/// The greatest of each window, and where in the whole tensor it stands. One slice for each window element is stacked;
/// the offset of element t in window w is that of the window plus that of the element.
Values max_pool_with_indices(Operation& in, const PoolWindows& pool) {
  Ints shape = in.static_shape(in[0], "the indices of a pool");
  size_t spatial = pool.spatial();
  std::vector<int64_t> before(spatial + 2, 0), after(spatial + 2, 0), steps(spatial, 1);
  for (size_t i = 0; i < spatial; ++i) before[i + 2] = pool.padding[i], after[i + 2] = pool.padding[i + spatial];
  bool by_column = in.integer("storage_order", 0) != 0;
  for (size_t i = 0; i + 1 < spatial; ++i) {
    if (by_column) steps[i + 1] = steps[i] * pool.extents[i];
    else steps[spatial - 2 - i] = steps[spatial - 1 - i] * pool.extents[spatial - 1 - i];
  }
  Expr padded = pad_with(in[0], before, after, lowest(in.dtype(in[0])));
  Array<Expr> slices;
  std::vector<int64_t> of_elements;
  for (const std::vector<int64_t>& element : indices_of(pool.kernel)) {
    Expr part = padded;
    int64_t offset = 0;
    for (size_t i = 0; i < spatial; ++i) {
      int64_t begin = element[i] * pool.dilations[i];
      part = slice(part, static_cast<int>(i) + 2, begin, begin + (pool.counts[i] - 1) * pool.strides[i] + 1,
                   pool.strides[i]);
      offset += begin * steps[i];
    }
    slices.push_back(part);
    of_elements.push_back(offset);
  }
  std::vector<int64_t> of_windows, of_channels;
  for (const std::vector<int64_t>& window : indices_of(pool.counts)) {
    int64_t offset = 0;
    for (size_t i = 0; i < spatial; ++i) offset += (window[i] * pool.strides[i] - pool.padding[i]) * steps[i];
    of_windows.push_back(offset);
  }
  int64_t size = product_of(pool.extents);
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i) of_channels.push_back(i * size);
  std::vector<int64_t> window_shape{1, 1}, channel_shape{shape[0], shape[1]};
  window_shape.insert(window_shape.end(), pool.counts.begin(), pool.counts.end());
  channel_shape.resize(spatial + 2, 1);
  Expr all = stack(slices, 0);
  Expr chosen = call_op("argmax", {all}, make_attrs<ArgReduceAttrs>([](auto& attrs) { attrs.axis = {PrimExpr(0)}; }));
  Expr indices = add(take(make_ints(of_elements), chosen, 0), reshape_to(make_ints(of_windows), window_shape));
  return {reduce("max", all, {PrimExpr(0)}), add(indices, reshape_to(make_ints(of_channels), channel_shape))};
}

Expr int64_number(int64_t value) { return make_constant(int_scalar(value, DataType::Int(64))); }

/// How many windows there are along an axis whose extent a run decides.
Expr windows_at_run_time(Operation& in, const PoolWindows& pool, size_t i) {
  const int64_t before = pool.padding[i], after = pool.padding[i + pool.spatial()], stride = pool.strides[i];
  Expr extent = extent_at_run_time(in, in[0], static_cast<int>(i) + 2);
  Expr room = add(extent, int64_number(before + after - dilated(pool.kernel[i], pool.dilations[i])));
  auto divided = [&](const Expr& x) { return call_op("floor_divide", {x, int64_number(stride)}); };
  if (!pool.rounds_up) return add(divided(room), int64_number(1));
  // None begins in the padding behind the data.
  return minimum(add(divided(add(room, int64_number(stride - 1))), int64_number(1)),
                 divided(add(extent, int64_number(before + stride - 1))));
}

/// The same as `max_pool_with_indices` for extents that a run decides: elements of windows are taken by index.
Values max_pool_with_indices_at_run_time(Operation& in, const PoolWindows& pool) {
  const size_t spatial = pool.spatial(), rank = spatial + 2;
  std::vector<int64_t> before(rank, 0), after(rank, 0);
  for (size_t i = 0; i < spatial; ++i) {
    before[i + 2] = pool.padding[i];
    after[i + 2] = pool.padding[i + spatial] + (pool.rounds_up ? pool.strides[i] : 0);
  }
  std::vector<Expr> begins;
  for (size_t i = 0; i < spatial; ++i)
    begins.push_back(multiply(call_op("dyn.iota", {windows_at_run_time(in, pool, i)}), int64_number(pool.strides[i])));
  Expr padded = pad_with(in[0], before, after, lowest(in.dtype(in[0])));
  Array<Expr> slices;
  std::vector<std::vector<int64_t>> elements(spatial);  // where in its window each slice is from
  for (const std::vector<int64_t>& element : indices_of(pool.kernel)) {
    Expr part = padded;
    for (size_t i = 0; i < spatial; ++i) {
      elements[i].push_back(element[i] * pool.dilations[i]);
      part = take(part, add(begins[i], int64_number(elements[i].back())), static_cast<int>(i) + 2);
    }
    slices.push_back(part);
  }
  Expr all = stack(slices, 0);
  Expr chosen = call_op("argmax", {all}, make_attrs<ArgReduceAttrs>([](auto& attrs) { attrs.axis = {PrimExpr(0)}; }));
  auto along = [&](const Expr& numbers, size_t axis) {
    int behind = static_cast<int>(rank - axis) - 1;
    return behind ? expand_dims(numbers, 1, behind) : numbers;
  };
  const bool by_column = in.integer("storage_order", 0) != 0;
  Expr offset;
  for (size_t k = 0; k < spatial; ++k) {
    size_t i = by_column ? spatial - 1 - k : k;
    Expr at =
        add(subtract(along(begins[i], i + 2), int64_number(pool.padding[i])), take(make_ints(elements[i]), chosen, 0));
    Expr extent = extent_at_run_time(in, in[0], static_cast<int>(i) + 2);
    offset = offset.defined() ? add(multiply(offset, extent), at) : at;
  }
  Expr channels = extent_at_run_time(in, in[0], 1), size = int64_number(1);
  for (size_t i = 0; i < spatial; ++i) size = multiply(size, extent_at_run_time(in, in[0], static_cast<int>(i) + 2));
  Expr planes =
      add(multiply(along(positions_along(in, in[0], 0), 0), channels), along(positions_along(in, in[0], 1), 1));
  return {reduce("max", all, {PrimExpr(0)}), add(multiply(planes, size), offset)};
}

Values max_pool_node(Operation& in) {
  if (in.wants(1)) {
    PoolWindows pool = pool_of(in);
    return in.fixed_shape(in[0]) ? max_pool_with_indices(in, pool) : max_pool_with_indices_at_run_time(in, pool);
  }
  Expr data = in[0];
  PoolWindows pool = pool_of(in, &data, lowest(in.dtype(data)));
  return {max_pool(data, pool)};
}

/// How many elements each window's mean is over: padding that the node asks for counts, what lies behind it does not.
Expr counts_of(Operation& in, const PoolWindows& pool) {
  size_t spatial = pool.spatial();
  std::vector<double> values;
  for (const std::vector<int64_t>& window : indices_of(pool.counts)) {
    double count = 1;
    for (size_t i = 0; i < spatial; ++i) {
      int64_t start = window[i] * pool.strides[i] - pool.padding[i], inside = 0;
      for (int64_t element = 0; element < pool.kernel[i]; ++element)
        inside += start + element * pool.dilations[i] < pool.extents[i] + pool.given[i + spatial];
      count *= static_cast<double>(inside);
    }
    values.push_back(static_cast<double>(product_of(pool.kernel)) / count);
  }
  Ints shape{1, 1};
  shape.insert(shape.end(), pool.counts.begin(), pool.counts.end());
  return numbers_of(values, shape, in.dtype(in[0]));
}

Values average_pool_node(Operation& in) {
  Expr data = in[0];
  PoolWindows pool = pool_of(in, &data);
  bool counts = in.integer("count_include_pad", 0) != 0;
  if (counts && pool.rounds_up) {  // what is asked for is part of the data, and what lies behind does not count
    std::vector<int64_t> before(pool.spatial() + 2, 0), after = before;
    for (size_t i = 0; i < pool.spatial(); ++i) {
      before[i + 2] = std::exchange(pool.padding[i], 0);
      after[i + 2] = std::exchange(pool.padding[i + pool.spatial()], 0);
    }
    return {average_pool(pad_with(data, before, after, 0), pool, false)};
  }
  if (!data.same_as(in[0]) && !counts) {  // a border of zeros, which do not count: so many of each window are no border
    Expr ones = call_op("ones_like", {in[0]}), inside = ones;
    padding_of(in, pool.kernel, pool.strides, pool.dilations, &inside);
    return {divide(average_pool(data, pool, true), average_pool(inside, pool, true))};
  }
  Expr out = average_pool(data, pool, counts);
  if (!counts || pool.padding == pool.given) return {out};
  return {multiply(out, counts_of(in, pool))};
}

Expr powers(const Expr& x, double p) {
  Expr size = call_op("abs", {x});
  return p == 1 ? size : power(size, make_scalar(p, dtype_of(typed(x))));
}
Expr root(Operation& in, Expr x, double p) { return p == 1 ? x : power(x, make_scalar(1 / p, in.dtype(in[0]))); }
double exponent_of(Operation& in) {
  const Attribute* given = in.find("p");
  if (!given) return 2;
  return given->kind == Attribute::Float ? given->f : static_cast<double>(in.integer("p"));
}

Values lp_pool(Operation& in) {
  Expr data = in[0];
  PoolWindows pool = pool_of(in, &data);
  double p = exponent_of(in), size = static_cast<double>(product_of(pool.kernel));
  Expr means = average_pool(powers(data, p), pool, true);
  return {root(in, multiply(means, make_scalar(size, in.dtype(in[0]))), p)};
}

Array<PrimExpr> spatial_axes(Operation& in) {
  Ints out;
  for (size_t i = 2; i < in.rank(in[0]); ++i) out.push_back(static_cast<int64_t>(i));
  return int_array(out);
}
Values global_average_pool(Operation& in) { return {mean(in[0], spatial_axes(in), true)}; }
Values global_max_pool(Operation& in) { return {reduce("max", in[0], spatial_axes(in), true)}; }
Values global_lp_pool(Operation& in) {
  double p = exponent_of(in);
  return {root(in, sum(powers(in[0], p), spatial_axes(in), true), p)};
}

/// The same as `max_unpool` for shapes that a run decides.
Expr max_unpool_at_run_time(Operation& in, const Ints& kernel, const Ints& strides, const Ints& pads) {
  const size_t spatial = kernel.size();
  DataType dtype = in.dtype(in[0]);
  Array<Expr> extents;
  Ints axes;
  for (size_t i = 0; i < spatial + 2; ++i) {
    Expr extent = extent_at_run_time(in, in[0], static_cast<int>(i));
    axes.push_back(static_cast<int64_t>(i));
    if (i >= 2) {
      int64_t more = kernel[i - 2] - strides[i - 2] - pads[i - 2] - pads[i - 2 + spatial];
      extent = add(multiply(extent, int64_number(strides[i - 2])), int64_number(more));
    }
    extents.push_back(reshape(extent, int_array({1})));
  }
  Expr shape = concatenate(extents, 0), count = reshape(reduce("prod", shape, int_array({0})), int_array({1}));
  Expr none = call_op("dyn.full", {make_scalar(0, dtype), count},
                      make_attrs<InitOpAttrs>([&](auto& attrs) { attrs.dtype = dtype; }));
  Expr flat = call_op("scatter", {none, reshape(in[1], int_array({-1})), reshape(in[0], int_array({-1}))},
                      make_attrs<ScatterAttrs>([&](auto& attrs) {
                        attrs.axis = 0;
                        attrs.checked_as = run_time_name(in);
                      }));
  Expr out = call_op("dyn.reshape", {flat, shape}, make_attrs<ReshapeAttrs>([](auto& attrs) {
                       attrs.newshape = int_array({-1});
                       attrs.allowzero = true;
                     }));
  if (!in.has(2)) return out;
  Expr more = subtract(cast_if_needed(in, in[2], DataType::Int(64)), shape);
  Expr before = make_ints(std::vector<int64_t>(spatial + 2, 0));
  return padded_at_run_time(in, out, concatenate({before, more}, 0), axes, make_scalar(0, dtype), "constant");
}

/// Puts each element where its index says in a tensor of zeros, whose shape the pool would have had; a larger shape that
/// is asked for is filled up behind.
Values max_unpool(Operation& in) {
  Ints kernel = in.integers("kernel_shape");
  size_t spatial = in.spatial(in[0]);
  check_windows(in, spatial);
  if (kernel.size() != spatial) in.invalid("kernel_shape is missing");
  Ints strides = in.integers("strides", std::vector<int64_t>(spatial, 1));
  Ints pads = in.integers("pads", std::vector<int64_t>(2 * spatial, 0));
  if (!in.fixed_shape(in[0]) || (in.has(2) && !in.constant_ints(in[2])))
    return {max_unpool_at_run_time(in, kernel, strides, pads)};
  Ints shape = in.static_shape(in[0], "MaxUnpool");
  std::vector<int64_t> result = shape;
  for (size_t i = 0; i < spatial; ++i)
    result[i + 2] = (shape[i + 2] - 1) * strides[i] - pads[i] - pads[i + spatial] + kernel[i];
  int64_t count = product_of(shape), total = product_of(result);
  Expr flat =
      call_op("scatter", {filled(0, {total}, in.dtype(in[0])), reshape_to(in[1], {count}), reshape_to(in[0], {count})},
              make_attrs<ScatterAttrs>([&](auto& attrs) {
                attrs.axis = 0;
                attrs.checked_as = run_time_name(in);
              }));
  Expr out = reshape_to(flat, result);
  if (!in.has(2)) return {out};
  Ints wanted = in.needed_ints(in[2], "output_shape");
  if (wanted.size() != result.size()) in.invalid("output_shape has not as many numbers as the data has dimensions");
  std::vector<int64_t> before(result.size(), 0), after(result.size(), 0);
  for (size_t i = 0; i < result.size(); ++i) after[i] = wanted[i] - result[i];
  for (int64_t more : after)
    if (more < 0) in.unsupported("an output_shape that is smaller than the pool's data");
  return {pad_with(out, before, after, 0)};
}

}  // namespace

Rows pool_rows() {
  return {
      {"AveragePool", 1, average_pool_node},
      {"GlobalAveragePool", 1, global_average_pool},
      {"GlobalLpPool", 1, global_lp_pool},
      {"GlobalMaxPool", 1, global_max_pool},
      {"LpPool", 1, lp_pool},
      {"MaxPool", 1, max_pool_node},
      {"MaxUnpool", 9, max_unpool},
  };
}

}  // namespace tessera::onnx

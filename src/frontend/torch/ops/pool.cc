// Pooling.

#include "relay/attrs/pool.h"
#include "frontend/common/parts.h"
#include "frontend/common/windows.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/ops/windows.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

std::vector<int64_t> twice(const Ints& pads) {
  std::vector<int64_t> out = pads;
  out.insert(out.end(), pads.begin(), pads.end());
  return out;
}

/// The data with a batch, which it may lack.
Expr batched_data(const Operation& in, size_t spatial, bool* is_new) {
  const size_t rank = in.rank(in[0]);
  if (rank != spatial + 1 && rank != spatial + 2)
    in.invalid("data of " + std::to_string(rank) + " dimensions where windows have " + std::to_string(spatial));
  *is_new = rank == spatial + 1;
  return *is_new ? expand_dims(in[0], 0) : in[0];
}
Expr unbatched(const Expr& x, bool is_new) { return is_new ? squeeze(x, int_array({0})) : x; }

Converter max_pool_over(size_t spatial, bool with_indices) {
  return [spatial, with_indices](Operation& in) {
    bool is_new = false;
    Expr data = batched_data(in, spatial, &is_new);
    Ints kernel = per_dimension(in, "kernel_size", spatial, 1), strides = kernel;
    if (!in.integers("stride").empty()) strides = per_dimension(in, "stride", spatial, 1);
    Ints pads = per_dimension(in, "padding", spatial, 0), dilations = per_dimension(in, "dilation", spatial, 1);
    auto pooled = [&](size_t outputs) {
      return onnx::apply_all(in, "MaxPool", {data},
                             {{"kernel_shape", std::vector<int64_t>(kernel)},
                              {"strides", std::vector<int64_t>(strides)},
                              {"dilations", std::vector<int64_t>(dilations)},
                              {"pads", twice(pads)},
                              {"ceil_mode", in.flag("ceil_mode", false)}},
                             outputs)
          .back();
    };
    Values values{Value(unbatched(pooled(1), is_new))};
    if (!with_indices) return values;
    // By themselves, as few programs use them; within each image of a channel, where ONNX counts through the whole tensor.
    Expr size = make_scalar(1, DataType::Int(64));
    for (size_t i = 0; i < spatial; ++i) size = multiply(size, extent_at_run_time(in, data, static_cast<int>(i) + 2));
    values.push_back(Value(unbatched(call_op("floor_mod", {pooled(2), size}), is_new)));
    return values;
  };
}

std::vector<int64_t> with_batch_and_channels(const Ints& pads) {
  std::vector<int64_t> out{0, 0};
  out.insert(out.end(), pads.begin(), pads.end());
  return out;
}
/// The padding behind the data that the last windows reach into: with `rounds_up` also windows that end outside of the padding, but
/// not those that begin behind the data.
Ints reached(const Operation& in, const Expr& data, const Ints& kernel, const Ints& strides, const Ints& pads,
             bool rounds_up) {
  if (!rounds_up) return pads;
  Ints shape = in.static_shape(data, "windows that are counted up"), out = pads;
  for (size_t i = 0; i < kernel.size(); ++i) {
    const int64_t extent = shape[i + 2] + 2 * pads[i], rest = extent - kernel[i];
    if (rest < 0 || strides[i] < 1) in.invalid("a window is larger than the data");
    int64_t last = (rest + strides[i] - 1) / strides[i];
    if (last * strides[i] >= shape[i + 2] + pads[i]) --last;
    out[i] = std::max<int64_t>(0, last * strides[i] + kernel[i] - shape[i + 2] - pads[i]);
  }
  return out;
}

Converter average_pool_over(size_t spatial) {
  return [spatial](Operation& in) {
    bool is_new = false;
    Expr data = batched_data(in, spatial, &is_new);
    Ints kernel = per_dimension(in, "kernel_size", spatial, 1), strides = kernel;
    if (!in.integers("stride").empty()) strides = per_dimension(in, "stride", spatial, 1);
    Ints pads = per_dimension(in, "padding", spatial, 0);
    std::vector<int64_t> around = twice(pads);
    bool counts = in.flag("count_include_pad", true), rounds_up = in.flag("ceil_mode", false);
    const bool has_divisor = in.has("divisor_override");
    if (has_divisor) {  // sums over another number: what lies outside counts as zeros
      data = pad_with(data, with_batch_and_channels(pads),
                      with_batch_and_channels(reached(in, data, kernel, strides, pads, rounds_up)), 0);
      around.assign(around.size(), 0), rounds_up = false;
    }
    Expr out = onnx::apply(in, "AveragePool", {data},
                           {{"kernel_shape", std::vector<int64_t>(kernel)},
                            {"strides", std::vector<int64_t>(strides)},
                            {"pads", around},
                            {"count_include_pad", counts},
                            {"ceil_mode", rounds_up}});
    if (has_divisor) {
      double window = static_cast<double>(product_of(kernel));
      out = multiply(out, make_scalar(window / in.number("divisor_override"), in.dtype(data)));
    }
    return Values{unbatched(out, is_new)};
  };
}

constexpr const char* kAdaptiveAverage[] = {"nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d",
                                            "nn.adaptive_avg_pool3d"};
constexpr const char* kAdaptiveMax[] = {"nn.adaptive_max_pool1d", "nn.adaptive_max_pool2d", "nn.adaptive_max_pool3d"};

template <class T>
Attrs adaptive_attrs(const Ints& size) {
  return make_attrs<T>([&](auto& attrs) { attrs.output_size = int_array(size); });
}

Expr adaptive_pool(const Operation& in, const char* const* ops, size_t spatial, bool* is_new, Expr* data) {
  *data = batched_data(in, spatial, is_new);
  const std::vector<Value> one{in.value("output_size")};
  const std::vector<Value>& given = in.value("output_size").kind == Value::List ? in.items("output_size") : one;
  Ints size;
  for (size_t i = 0; i < spatial; ++i) {
    const Value& own = given.size() == 1 ? given[0] : given.at(i);
    if (!own.is_absent()) {
      size.push_back(in.int_of(own, "output_size"));
      continue;
    }
    auto* extent = in.shape(*data)[i + 2].as<IntImm>();
    if (!extent) in.unknown("the extents of the data must be known", *data);
    size.push_back(extent->value);
  }
  Attrs attrs = spatial == 1   ? adaptive_attrs<AdaptivePool1DAttrs>(size)
                : spatial == 2 ? adaptive_attrs<AdaptivePool2DAttrs>(size)
                               : adaptive_attrs<AdaptivePool3DAttrs>(size);
  return call_op(ops[spatial - 1], {*data}, attrs);
}

Converter adaptive_average_over(size_t spatial) {
  return [spatial](Operation& in) {
    bool is_new = false;
    Expr data;
    Value out(unbatched(adaptive_pool(in, kAdaptiveAverage, spatial, &is_new, &data), is_new));
    return Values{out};
  };
}

/// The indices of maxima are found window by window: they cost what they need only where they are used.
Converter adaptive_max_over(size_t spatial) {
  return [spatial](Operation& in) {
    bool is_new = false;
    Expr data;
    Expr out = adaptive_pool(in, kAdaptiveMax, spatial, &is_new, &data);
    Values values{Value(unbatched(out, is_new))};
    std::optional<std::vector<int64_t>> shape = in.fixed_shape(data), counts = in.fixed_shape(out);
    if (!shape || !counts) return values;
    std::vector<int64_t> extents(shape->begin() + 2, shape->end()), bins(counts->begin() + 2, counts->end());
    constexpr int64_t kMaxWindows = 4096;
    if (product_of(bins) > kMaxWindows || product_of(extents) > (1 << 20)) return values;
    const int64_t size = product_of(extents);
    Expr flat = reshape_to(data, {(*shape)[0], (*shape)[1], size});
    Array<Expr> parts;
    for (const std::vector<int64_t>& bin : indices_of(bins)) {
      std::vector<int64_t> members;
      std::vector<int64_t> lengths, begins;
      for (size_t i = 0; i < spatial; ++i) {
        const int64_t begin = bin[i] * extents[i] / bins[i], end = ((bin[i] + 1) * extents[i] + bins[i] - 1) / bins[i];
        begins.push_back(begin);
        lengths.push_back(end - begin);
      }
      for (const std::vector<int64_t>& step : indices_of(lengths)) {
        int64_t at = 0;
        for (size_t i = 0; i < spatial; ++i) at = at * extents[i] + begins[i] + step[i];
        members.push_back(at);
      }
      Expr own = take(flat, make_ints(members), 2);
      Expr at = onnx::apply(in, "ArgMax", {own}, {{"axis", 2}, {"keepdims", 1}});
      parts.push_back(take(make_ints(members), at, 0));
    }
    values.push_back(Value(unbatched(reshape_to(concatenate(parts, 2), *counts), is_new)));
    return values;
  };
}

/// Maxima go back to where they came from.
Converter max_unpool_over(size_t spatial) {
  return [spatial](Operation& in) {
    Expr x = in[0], indices = in["indices"];
    Ints shape = in.static_shape(x, "max_unpool"), size = in.integers("output_size");
    const size_t lead = shape.size() - spatial;
    if (size.size() > spatial) size.erase(size.begin(), size.end() - static_cast<int64_t>(spatial));
    std::vector<int64_t> whole(shape.begin(), shape.begin() + static_cast<int64_t>(lead)), flat = whole, all = whole;
    flat.push_back(product_of({shape.begin() + static_cast<int64_t>(lead), shape.end()}));
    all.push_back(product_of(size));
    Expr none = filled(0, all, in.dtype(x));
    Expr out = onnx::apply(in, "ScatterElements", {none, reshape_to(indices, flat), reshape_to(x, flat)},
                           {{"axis", static_cast<int64_t>(lead)}});
    whole.insert(whole.end(), size.begin(), size.end());
    return Values{reshape_to(out, whole)};
  };
}

}  // namespace

Rows pool_rows() {
  return {
      {"aten::_adaptive_avg_pool2d", adaptive_average_over(2)},
      {"aten::_adaptive_avg_pool3d", adaptive_average_over(3)},
      {"aten::adaptive_avg_pool1d", adaptive_average_over(1)},
      {"aten::adaptive_avg_pool2d", adaptive_average_over(2)},
      {"aten::adaptive_avg_pool3d", adaptive_average_over(3)},
      {"aten::adaptive_max_pool1d", adaptive_max_over(1)},
      {"aten::adaptive_max_pool2d", adaptive_max_over(2)},
      {"aten::adaptive_max_pool3d", adaptive_max_over(3)},
      {"aten::avg_pool1d", average_pool_over(1)},
      {"aten::avg_pool2d", average_pool_over(2)},
      {"aten::avg_pool3d", average_pool_over(3)},
      {"aten::max_pool1d", max_pool_over(1, false)},
      {"aten::max_pool1d_with_indices", max_pool_over(1, true)},
      {"aten::max_pool2d", max_pool_over(2, false)},
      {"aten::max_pool2d_with_indices", max_pool_over(2, true)},
      {"aten::max_pool3d", max_pool_over(3, false)},
      {"aten::max_pool3d_with_indices", max_pool_over(3, true)},
      {"aten::max_unpool2d", max_unpool_over(2)},
      {"aten::max_unpool3d", max_unpool_over(3)},
  };
}

}  // namespace tessera::torch

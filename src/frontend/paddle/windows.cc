// Convolutions and pools.

#include <algorithm>

#include "frontend/common/parts.h"
#include "frontend/common/windows.h"
#include "frontend/onnx/apply.h"
#include "frontend/paddle/paddle.h"
#include "relay/attrs/pool.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::paddle {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

/// The data and what becomes of the result, where channels stand last.
struct Data {
  Expr x;
  bool is_last;

  Data(const LayerNode& in, const char* slot) : is_last(has_channels_last(in)) {
    x = is_last ? channels_second(in, in.slot(slot)) : in.slot(slot);
  }
  Expr back(const LayerNode& in, const Expr& out) const { return is_last ? channels_last(in, typed(out)) : out; }
};

/// Begins, then ends: one number a dimension stands for both, two for one each ("top, bottom, left, right").
std::vector<int64_t> pads_of(const LayerNode& in, size_t spatial, bool is_last) {
  Ints given = in.fields().integers("paddings", std::vector<int64_t>(spatial, 0));
  if (given.size() == 1) given = Ints(spatial, given[0]);
  if (given.size() == 2 * spatial + 4)  // of all dimensions, of which two have none
    given = is_last ? Ints(given.begin() + 2, given.end() - 2) : Ints(given.begin() + 4, given.end());
  std::vector<int64_t> out;
  if (given.size() == spatial) {
    out = given;
    out.insert(out.end(), given.begin(), given.end());
  } else if (given.size() == 2 * spatial) {
    for (size_t half = 0; half < 2; ++half)
      for (size_t i = 0; i < spatial; ++i) out.push_back(given[2 * i + half]);
  } else {
    in.invalid("paddings has " + std::to_string(given.size()) + " numbers for " + std::to_string(spatial) +
               " dimensions");
  }
  return out;
}

/// The padding of convolutions and pools as ONNX says it.
void add_padding(const LayerNode& in, size_t spatial, bool is_last, std::vector<onnx::Given>* attributes) {
  const std::string kind = in.text("padding_algorithm", "EXPLICIT");
  if (kind == "SAME") attributes->emplace_back("auto_pad", "SAME_UPPER");
  else if (kind == "VALID") attributes->emplace_back("auto_pad", "VALID");
  else attributes->emplace_back("pads", pads_of(in, spatial, is_last));
}

/// "SAME" knows no dilation.
std::vector<int64_t> dilations_of(const LayerNode& in, size_t spatial) {
  if (in.text("padding_algorithm", "EXPLICIT") == "SAME") return std::vector<int64_t>(spatial, 1);
  return in.integers("dilations", spatial, 1);
}

Exprs convolved(LayerNode& in) {
  Data data(in, "Input");
  const size_t spatial = in.spatial(data.x);
  std::vector<onnx::Given> attributes{{"strides", std::vector<int64_t>(in.integers("strides", spatial, 1))},
                                      {"dilations", dilations_of(in, spatial)},
                                      {"group", in.integer("groups", 1)}};
  add_padding(in, spatial, data.is_last, &attributes);
  Expr bias = in.has_slot("Bias") ? in.slot("Bias") : Expr();
  return only(in, data.back(in, apply(in, "Conv", {data.x, in.slot("Filter"), bias}, attributes)), "Output");
}

/// What the result is asked to be larger than its windows reach is added behind it.
Exprs deconvolved(LayerNode& in) {
  Data data(in, "Input");
  const size_t spatial = in.spatial(data.x);
  Ints strides = in.integers("strides", spatial, 1), filter = in.static_shape(in.slot("Filter"), "a filter");
  Ints dilations(dilations_of(in, spatial));
  if (filter.size() != spatial + 2) in.invalid("the filter has not as many dimensions as the data");
  Ints kernel(filter.begin() + 2, filter.end());
  Ints more = in.fields().integers("output_padding"), size = known_ints(in, "output_size");
  if (more.empty()) more = Ints(spatial, 0);
  Ints extents, pads(2 * spatial, 0);
  const std::string algorithm = in.text("padding_algorithm", "EXPLICIT");
  if (!size.empty() || algorithm == "SAME") {
    Ints shape = in.static_shape(data.x, "the size of the result");
    extents = Ints(shape.begin() + 2, shape.end());
  }
  if (algorithm == "SAME") pads = same_padding(extents, kernel, strides, dilations, false);
  else if (algorithm != "VALID") pads = pads_of(in, spatial, data.is_last);
  if (!size.empty() && size.size() != spatial) in.invalid("output_size has not as many numbers as the data");
  for (size_t i = 0; i < size.size(); ++i) {
    more[i] =
        size[i] - ((extents[i] - 1) * strides[i] + dilated(kernel[i], dilations[i]) - pads[i] - pads[i + spatial]);
    if (more[i] < 0) in.invalid("output_size is smaller than what the windows reach");
  }
  Expr bias = in.has_slot("Bias") ? in.slot("Bias") : Expr();
  Expr out = apply(in, "ConvTranspose", {data.x, in.slot("Filter"), bias},
                   {{"strides", std::vector<int64_t>(strides)},
                    {"dilations", std::vector<int64_t>(dilations)},
                    {"pads", std::vector<int64_t>(pads)},
                    {"output_padding", std::vector<int64_t>(more)},
                    {"group", in.integer("groups", 1)}});
  return only(in, data.back(in, out), "Output");
}

template <class T>
Expr adaptive_call(const char* op, const Expr& x, const Ints& size) {
  return call_op(op, {x}, make_attrs<T>([&](auto& to) { to.output_size = int_array(size); }));
}

Exprs pooled(LayerNode& in) {
  Data data(in, "X");
  const size_t spatial = in.spatial(data.x);
  const std::string kind = in.text("pooling_type", "max");
  if (kind != "max" && kind != "avg") in.unsupported("a pool of the kind " + kind);
  const bool is_max = kind == "max";
  auto finish = [&](const Expr& out) { return only(in, data.back(in, out), "Out"); };
  Ints size = known_ints(in, "ksize");
  if (size.size() == 1) size = Ints(spatial, size[0]);
  const bool is_adaptive = in.flag("adaptive");
  const bool is_one = std::all_of(size.begin(), size.end(), [](int64_t extent) { return extent == 1; });
  if (in.flag("global_pooling") || (is_adaptive && is_one)) {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < spatial; ++i) axes.push_back(static_cast<int64_t>(i) + 2);
    return finish(is_max ? reduce("max", data.x, int_array(axes), true) : mean(data.x, int_array(axes), true));
  }
  if (size.size() != spatial) in.invalid("ksize has not as many numbers as the data");
  if (is_adaptive) {
    if (spatial == 2)
      return finish(adaptive_call<AdaptivePool2DAttrs>(is_max ? "nn.adaptive_max_pool2d" : "nn.adaptive_avg_pool2d",
                                                       data.x, size));
    if (spatial == 3)
      return finish(adaptive_call<AdaptivePool3DAttrs>(is_max ? "nn.adaptive_max_pool3d" : "nn.adaptive_avg_pool3d",
                                                       data.x, size));
    in.unsupported("an adaptive pool over " + std::to_string(spatial) + " dimensions");
  }
  std::vector<onnx::Given> attributes{{"kernel_shape", std::vector<int64_t>(size)},
                                      {"strides", std::vector<int64_t>(in.integers("strides", spatial, 1))},
                                      {"ceil_mode", in.flag("ceil_mode")}};
  add_padding(in, spatial, data.is_last, &attributes);
  if (!is_max) attributes.emplace_back("count_include_pad", !in.flag("exclusive", true));
  return finish(apply(in, is_max ? "MaxPool" : "AveragePool", {data.x}, attributes));
}

}  // namespace

LayerRows window_rows() {
  return {
      {"conv2d", convolved},
      {"conv2d_transpose", deconvolved},
      {"conv3d", convolved},
      {"conv3d_transpose", deconvolved},
      {"depthwise_conv2d", convolved},
      {"depthwise_conv2d_transpose", deconvolved},
      {"max_pool2d_with_index", pooled},
      {"max_pool3d_with_index", pooled},
      {"pool2d", pooled},
      {"pool3d", pooled},
  };
}

}  // namespace tessera::paddle

// Layers of images: convolutions, pools, padding, other sizes.

#include <algorithm>
#include <cmath>

#include "frontend/common/parts.h"
#include "frontend/common/windows.h"
#include "frontend/coreml/coreml.h"
#include "frontend/onnx/apply.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::coreml {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

constexpr int64_t kMaxWindow = 1 << 20;

/// What `make` makes of the data as (batch, channels, rows, columns); all dimensions before the channels are batch.
template <class F>
Expr over_images(LayerNode& in, const Expr& x, F&& make) {
  const size_t rank = in.rank(x);
  if (rank == 4) return make(x);
  if (rank == 3) return squeeze(typed(make(typed(expand_dims(x, 0)))), int_array({0}));
  if (rank == 2 && !in.flag(kHasExactShapes)) return make(typed(expand_dims(x, 2, 2)));
  if (rank < 3) in.invalid("the data is no image");
  Ints shape = in.static_shape(x, "images in batches of batches");
  const size_t batch = rank - 3;
  Expr made = typed(make(typed(reshape_to(x, {-1, shape[batch], shape[batch + 1], shape[batch + 2]}))));
  Ints image = in.static_shape(made, "images in batches of batches");
  std::vector<int64_t> whole(shape.begin(), shape.begin() + static_cast<int64_t>(batch));
  whole.insert(whole.end(), image.begin() + 1, image.end());
  return reshape_to(made, whole);
}

/// Two numbers, of rows and columns.
Ints pair(const LayerNode& in, const Fields& fields, const char* name, int64_t otherwise) {
  Ints out = fields.integers(name, {otherwise, otherwise});
  if (out.size() != 2) in.invalid(std::string(name) + " must have two numbers, of rows and columns");
  for (int64_t extent : out)
    if (extent < 0 || extent > kMaxWindow) in.invalid(std::string(name) + " is " + std::to_string(extent));
  return out;
}
Ints windows(const LayerNode& in, const char* name, int64_t otherwise) {
  Ints out = pair(in, in.fields(), name, otherwise);
  if (out[0] < 1 || out[1] < 1) in.invalid(std::string(name) + " must be above zero");
  return out;
}

/// Begins, then ends.
Ints borders(const LayerNode& in, const Fields& amounts) {
  const std::vector<Fields> edges = messages_of(amounts, "borderAmounts");
  if (edges.empty()) return Ints(4, 0);
  if (edges.size() != 2) in.invalid("borders must be two, of rows and columns");
  Ints out{edges[0].integer("startEdgeSize", 0), edges[1].integer("startEdgeSize", 0),
           edges[0].integer("endEdgeSize", 0), edges[1].integer("endEdgeSize", 0)};
  for (int64_t extent : out)
    if (extent < 0 || extent > kMaxWindow) in.invalid("a border is " + std::to_string(extent));
  return out;
}

bool is_heavy_before(const LayerNode& in) {
  return in.fields().object("same").text("asymmetryMode") == "TOP_LEFT_HEAVY";
}

Ints padding_around(const LayerNode& in, const Expr& x, const Ints& kernel, const Ints& strides,
                    const Ints& dilations) {
  if (!in.fields().has("same")) return borders(in, in.fields().object("valid").object("paddingAmounts"));
  Ints shape = in.static_shape(x, "padding of the kind SAME");
  return same_padding({shape[2], shape[3]}, kernel, strides, dilations, is_heavy_before(in));
}

/// What is cropped around a transposed convolution, and added behind it, for a result of this size.
void fit_transposed(const LayerNode& in, const Expr& x, const Ints& kernel, const Ints& strides, Ints* pads,
                    Ints* added) {
  Ints wanted = in.fields().integers("outputShape");
  if (wanted.empty() && !in.fields().has("same")) return;
  Ints shape = in.static_shape(x, "a transposed convolution of this padding");
  for (size_t i = 0; i < 2; ++i) {
    const int64_t extent = wanted.empty() ? shape[i + 2] * strides[i] : wanted[i];
    const int64_t more = (shape[i + 2] - 1) * strides[i] + kernel[i] - extent;
    if (extent < 1 || more < -kMaxWindow || more > kMaxWindow) in.invalid("outputShape does not fit the data");
    const int64_t total = std::max<int64_t>(more, 0), less = total / 2;
    (*pads)[i] = is_heavy_before(in) ? total - less : less;
    (*pads)[i + 2] = total - (*pads)[i];
    (*added)[i] = std::max<int64_t>(-more, 0);
  }
}

Exprs convolution_layer(LayerNode& in) {
  const Ints kernel = windows(in, "kernelSize", 3), strides = windows(in, "stride", 1);
  const bool is_transposed = in.flag("isDeconvolution");
  const Ints dilations = is_transposed ? Ints{1, 1} : windows(in, "dilationFactor", 1);
  Expr weights = weights_of(in, in.fields(), "weights");
  Expr bias = in.flag("hasBias") ? weights_of(in, in.fields(), "bias") : Expr();
  return {over_images(in, in[0], [&](const Expr& x) {
    std::vector<onnx::Given> given{{"kernel_shape", kernel},
                                   {"strides", strides},
                                   {"dilations", dilations},
                                   {"group", std::max<int64_t>(in.integer("nGroups", 1), 1)}};
    if (!is_transposed) {
      given.emplace_back("pads", padding_around(in, x, kernel, strides, dilations));
      return apply(in, "Conv", {x, weights, bias}, given);
    }
    Ints pads = borders(in, in.fields().object("valid").object("paddingAmounts")), added(2, 0);
    fit_transposed(in, x, kernel, strides, &pads, &added);
    given.emplace_back("pads", pads);
    given.emplace_back("output_padding", added);
    return apply(in, "ConvTranspose", {x, weights, bias}, given);
  })};
}

Exprs pooling_layer(LayerNode& in) {
  const std::string type = in.text("type", "MAX");
  auto squared = [&](const Expr& x) { return type == "L2" ? typed(multiply(x, x)) : x; };
  if (in.flag("globalPooling")) {
    return {over_images(in, in[0], [&](const Expr& x) {
      const Array<PrimExpr> axes = int_array({2, 3});
      if (type == "MAX") return reduce("max", x, axes, true);
      return type == "AVERAGE" ? mean(x, axes, true) : sqrt(sum(squared(x), axes, true));
    })};
  }
  const Ints kernel = windows(in, "kernelSize", 3), strides = windows(in, "stride", 1);
  return {over_images(in, in[0], [&](const Expr& x) {
    const bool reaches_last = in.fields().has("includeLastPixel");
    Ints pads = padding_around(in, x, kernel, strides, {1, 1});
    if (reaches_last) {
      Ints both = pair(in, in.fields().object("includeLastPixel"), "paddingAmounts", 0);
      pads = {both[0], both[1], both[0], both[1]};
    }
    std::vector<onnx::Given> given{
        {"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"ceil_mode", reaches_last}};
    if (type == "MAX") return apply(in, "MaxPool", {x}, given);
    given.emplace_back("count_include_pad", type == "L2" || !in.flag("avgPoolExcludePadding"));
    Expr out = apply(in, "AveragePool", {squared(x)}, given);
    if (type == "AVERAGE") return out;
    return sqrt(multiply(out, make_scalar(static_cast<double>(kernel[0] * kernel[1]), in.dtype(x))));
  })};
}

Exprs padding_layer(LayerNode& in) {
  const size_t rank = in.rank(in[0]);
  if (rank < 2) in.invalid("the data is no image");
  const Ints edges = borders(in, in.fields().object("paddingAmounts"));
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t i = 0; i < 2; ++i) pads[rank - 2 + i] = edges[i], pads[2 * rank - 2 + i] = edges[i + 2];
  const char* mode = in.fields().has("reflection") ? "reflect" : in.fields().has("replication") ? "edge" : "constant";
  Expr value = make_scalar(in.fields().object("constant").number("value", 0), in.dtype(in[0]));
  return {apply(in, "Pad", {in[0], make_ints(pads), value}, {{"mode", mode}})};
}

/// Rows (axis -2) or columns (-1) at these positions, linear between neighbours.
Expr sampled(const LayerNode& in, const Expr& x, int axis, const std::vector<double>& positions, int64_t extent) {
  std::vector<int64_t> before, behind;
  std::vector<double> shares;
  for (double position : positions) {
    const double at = std::clamp(position, 0.0, static_cast<double>(extent - 1)), low = std::floor(at);
    before.push_back(static_cast<int64_t>(low));
    behind.push_back(std::min(before.back() + 1, extent - 1));
    shares.push_back(at - low);
  }
  const int from_start = static_cast<int>(in.rank(x)) + axis;
  auto at = [&](const std::vector<int64_t>& indices) { return take(x, make_ints(indices), from_start); };
  std::vector<int64_t> shape{static_cast<int64_t>(positions.size())};
  if (axis == -2) shape.push_back(1);
  Expr low = at(before);
  return typed(add(low, multiply(subtract(at(behind), low), numbers_of(shares, shape, in.dtype(x)))));
}

/// So many positions of an axis, as the way of sampling has them.
std::vector<double> sampling(const LayerNode& in, const std::string& method, int64_t extent, int64_t count) {
  const auto x = static_cast<double>(extent), n = static_cast<double>(count);
  double start = 0, step = 0;
  if (method == "STRICT_ALIGN_ENDPOINTS_MODE" || method == "ALIGN_ENDPOINTS_MODE") {
    step = count > 1 ? (x - 1) / (n - 1) : 0;
    if (count == 1 && method == "ALIGN_ENDPOINTS_MODE") start = (x - 1) / 2;
  } else if (method == "UPSAMPLE_MODE") {
    step = x / n;
  } else if (method == "ROI_ALIGN_MODE") {
    step = std::max(1.0, x - 1) / n, start = 0.5 * step;
  } else if (method == "HALF_PIXEL") {
    step = x / n, start = 0.5 * step - 0.5;
  } else {
    in.unsupported("sampling of the kind " + method);
  }
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(start + static_cast<double>(i) * step);
  return out;
}

Expr resized(LayerNode& in, const Expr& x, const Ints& size, const std::string& method) {
  Ints shape = in.static_shape(x, "another size");
  if (shape.size() < 2) in.invalid("the data is no image");
  Expr out = x;
  for (size_t i : {0, 1}) {
    const int axis = static_cast<int>(i) - 2;
    const int64_t extent = shape[shape.size() - 2 + i], count = size[i];
    if (count < 1 || extent < 1 || count > kMaxWindow) in.invalid("a size is " + std::to_string(count));
    out = sampled(in, out, axis, sampling(in, method, extent, count), extent);
  }
  return out;
}

Exprs resize_layer(LayerNode& in) {
  const std::string method = in.fields().object("mode").text("samplingMethod", "STRICT_ALIGN_ENDPOINTS_MODE");
  return {resized(in, in[0], pair(in, in.fields(), "targetSize", 1), method)};
}

Exprs upsample_layer(LayerNode& in) {
  std::vector<double> scales = in.fields().numbers("fractionalScalingFactor");
  if (scales.empty()) scales = in.fields().numbers("scalingFactor", {1, 1});
  if (scales.size() != 2) in.invalid("scalingFactor must have two numbers, of rows and columns");
  Ints shape = in.static_shape(in[0], "another size"), size;
  if (shape.size() < 2) in.invalid("the data is no image");
  for (size_t i = 0; i < 2; ++i) {
    const double made = static_cast<double>(shape[shape.size() - 2 + i]) * scales[i];
    if (!(made >= 1 && made <= kMaxWindow)) in.invalid("a scale is " + std::to_string(scales[i]));
    size.push_back(static_cast<int64_t>(made));
  }
  if (in.text("mode", "NN") == "BILINEAR") {
    static const std::unordered_map<std::string, const char*> methods{{"DEFAULT", "UPSAMPLE_MODE"},
                                                                      {"ALIGN_CORNERS_TRUE", "ALIGN_ENDPOINTS_MODE"},
                                                                      {"ALIGN_CORNERS_FALSE", "HALF_PIXEL"}};
    auto method = methods.find(in.text("linearUpsampleMode", "DEFAULT"));
    if (method == methods.end()) in.unsupported("this linearUpsampleMode");
    return {resized(in, in[0], size, method->second)};
  }
  Expr out = in[0];
  for (size_t i = 0; i < 2; ++i) {
    const size_t axis = shape.size() - 2 + i;
    if (const auto whole = static_cast<int>(scales[i]); whole == scales[i]) {
      if (whole > 1) out = repeat(out, whole, static_cast<int>(axis));
      continue;
    }
    std::vector<int64_t> from;
    for (int64_t k = 0; k < size[i]; ++k)
      from.push_back(std::min(static_cast<int64_t>(static_cast<double>(k) / scales[i]), shape[axis] - 1));
    out = take(out, make_ints(from), static_cast<int>(axis));
  }
  return {out};
}

/// Edges of one input, or the rows and columns of the second input from an offset on.
Exprs crop_layer(LayerNode& in) {
  Ints shape = in.static_shape(in[0], "a crop");
  const size_t rank = shape.size();
  if (rank < 2) in.invalid("the data is no image");
  Ints begins = borders(in, in.fields().object("cropAmounts")), ends = begins;
  for (size_t i = 0; i < 2; ++i) ends[i] = shape[rank - 2 + i] - begins[i + 2];
  if (in.has(1)) {
    Ints like = in.static_shape(in[1], "a crop");
    if (like.size() != rank) in.invalid("the inputs have other ranks");
    begins = pair(in, in.fields(), "offset", 0);
    for (size_t i = 0; i < 2; ++i) ends[i] = begins[i] + like[rank - 2 + i];
  }
  Expr out = in[0];
  for (size_t i = 0; i < 2; ++i) {
    const size_t axis = rank - 2 + i;
    if (begins[i] >= ends[i] || ends[i] > shape[axis]) in.invalid("the crop lies outside of the data");
    out = slice(out, static_cast<int>(axis), begins[i], ends[i]);
  }
  return {out};
}

Exprs reorganize(LayerNode& in) {
  const std::string mode = in.text("mode", "SPACE_TO_DEPTH");
  const int64_t block = in.integer("blockSize", 0);
  if (block < 2 || block > kMaxWindow) in.invalid("blockSize is " + std::to_string(block));
  return {over_images(in, in[0], [&](const Expr& x) {
    if (mode == "SPACE_TO_DEPTH") return apply(in, "SpaceToDepth", {x}, {{"blocksize", block}});
    return apply(in, "DepthToSpace", {x}, {{"blocksize", block}, {"mode", mode == "PIXEL_SHUFFLE" ? "CRD" : "DCR"}});
  })};
}

}  // namespace

LayerRows window_rows() {
  return {
      {"convolution", convolution_layer}, {"crop", crop_layer},           {"padding", padding_layer},
      {"pooling", pooling_layer},         {"reorganizeData", reorganize}, {"resizeBilinear", resize_layer},
      {"upsample", upsample_layer},
  };
}

}  // namespace tessera::coreml

#include "op/winograd_choice.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "ir/prim/ops.h"
#include "relay/make.h"
#include "topi/nn/conv.h"
#include "topi/nn/winograd_filter.h"

namespace tessera::op {
namespace {

using relay::Expr;

constexpr const char* kWinogradOption = "relay.conv2d.winograd";
constexpr int kTile = 4, kSide = kTile + topi::kWinogradKernelSize - 1;
constexpr int64_t kLikelyExtents[] = {14, 28};  // of images whose height or width is known only at run time

/// Numbers of a layer, with likely ones for what is dynamic.
struct LayerNumbers {
  double ins, outs, pairs, batch, lanes, group;
  std::vector<double> kernel, results, dilation;
  double cache_bytes;     // that a weight may take
  bool is_dynamic_image;  // rows of tiles go through all stages one by one
};

LayerNumbers numbers_of(const relay::ConvAttrs& attrs, const WinogradLayer& layer, int64_t likely) {
  auto value = [](const PrimExpr& extent, int64_t otherwise) {
    return static_cast<double>(as_int(extent) ? *as_int(extent) : otherwise);
  };
  LayerNumbers out{.ins = double(layer.ins),
                   .outs = double(layer.outs),
                   .pairs = double(layer.ins) * double(layer.outs) / double(layer.groups),
                   .batch = value(layer.results[0], 1),  // a dynamic batch is one image after the other
                   .lanes = double(layer.lanes),
                   .group = double(layer.group),
                   .kernel = {},
                   .results = {},
                   .dilation = {},
                   .cache_bytes = double(layer.cache_bytes) / 2,
                   .is_dynamic_image = false};
  for (size_t s = 0; s < layer.kernel.size(); ++s) {
    out.kernel.push_back(value(layer.kernel[s], 1));
    out.results.push_back(value(layer.results[2 + s], likely));
    out.dilation.push_back(value(attrs.dilation[s], 1));
    out.is_dynamic_image |= !as_int(layer.results[2 + s]);
  }
  return out;
}

double product_of(const std::vector<double>& values) {
  double out = 1;
  for (double value : values) out *= value;
  return out;
}

/// Costs in vector multiplications.
double direct_cost(const LayerNumbers& n) {
  return product_of(n.kernel) * n.pairs * product_of(n.results) * n.batch / n.lanes / n.group;
}

/// A transform of six elements takes some 21 of them, one of six products some 20; a larger weight comes from memory, a
/// multiplication every kBytes, for each row of tiles of a dynamic image where the cache does not hold it.
double winograd_cost(const LayerNumbers& n, const std::vector<size_t>& axes) {
  constexpr double kBytes = 6, kDataCost = 21, kResultCost = 20, kLoss = 1.1;
  const bool is_tile_of_two = axes.size() == 2;  // a transform for each row and column
  double tiles = n.batch, side = 1, summed = 1, reads = 1, rows = 1;
  for (size_t s = 0; s < n.kernel.size(); ++s) {
    const bool is_transformed = std::find(axes.begin(), axes.end(), s) != axes.end();
    // each phase of a dilated axis has tiles of its own
    const double along =
        is_transformed ? std::ceil(n.results[s] / n.dilation[s] / kTile) * n.dilation[s] : n.results[s];
    tiles *= along;
    if (s + 1 < n.kernel.size()) rows *= along;
    if (is_transformed) side *= kSide;
    else summed *= n.kernel[s];
    if (!is_transformed && s + 2 < n.kernel.size()) reads *= n.kernel[s];  // images that are transformed again for each
  }
  const double vectors = 1 / n.lanes, pairs = n.pairs;
  const double matmuls = kLoss * side * summed * tiles * pairs * vectors;
  const double transforms = tiles * vectors *
                            (n.ins * reads * kDataCost * (is_tile_of_two ? 2 * kSide : 1) +
                             n.outs * kResultCost * (is_tile_of_two ? kSide + kTile : 1));
  const bool is_read_by_row = n.is_dynamic_image && side * summed * pairs * 4 > n.cache_bytes;
  const double weight = (side * summed - product_of(n.kernel)) * pairs * 4 / kBytes * (is_read_by_row ? rows : 1);
  return matmuls + transforms + weight;
}

/// The cheapest axes among those of three elements, without strides; none without a gain.
std::vector<size_t> cheapest_axes(const LayerNumbers& n, const std::vector<size_t>& possible) {
  constexpr double kGain = 0.8, kMinCost = 1e5;
  const double direct = direct_cost(n);
  if (direct < kMinCost) return {};
  std::vector<size_t> out;
  double least = kGain * direct;
  auto consider = [&](const std::vector<size_t>& axes) {
    const double cost = winograd_cost(n, axes);
    if (cost < least) least = cost, out = axes;
  };
  for (size_t i = 0; i < possible.size(); ++i) {
    consider({possible[i]});
    for (size_t j = i + 1; j < possible.size(); ++j) consider({possible[i], possible[j]});
  }
  return out;
}

/// Will be a constant when the model is compiled: constants, and what operators make of them (a scale that was folded in).
bool is_made_of_constants(const Expr& expr) {
  constexpr size_t kMaxSeen = 32;
  std::vector<Expr> seen{expr};
  for (size_t i = 0; i < seen.size(); ++i) {
    auto* call = seen[i].as<relay::Call>();
    if (!call && !seen[i].as<relay::Constant>()) return false;
    if (call) seen.insert(seen.end(), call->args.begin(), call->args.end());
    if (seen.size() > kMaxSeen) return false;
  }
  return true;
}

Array<PrimExpr> as_array(const std::vector<size_t>& axes) {
  Array<PrimExpr> out;
  for (size_t axis : axes) out.push_back(PrimExpr(static_cast<int>(axis)));
  return out;
}

template <class A>
Attrs winograd_attrs(const relay::ConvAttrs& attrs, const Array<PrimExpr>& axes) {
  A out;
  static_cast<relay::ConvAttrs&>(out) = attrs;
  out.tile_size = kTile;
  out.axes = axes;
  return Attrs(make(std::move(out)));
}

ConfigKeys keys{config_flag(kWinogradOption)};

}  // namespace

std::vector<size_t> winograd_axes(const relay::ConvAttrs& attrs, const WinogradLayer& layer, const Expr& weight,
                                  const PassContext& context) {
  std::vector<size_t> possible;
  const size_t spatial = layer.kernel.size();
  // Dynamic images go through the stages row by row, for which phases of dilated axes are computed anew.
  const bool may_be_dilated = std::all_of(layer.results.begin() + 2, layer.results.end(),
                                          [](const PrimExpr& extent) { return as_int(extent); });
  for (size_t s = 0; s < spatial; ++s)
    if (is_const_int(layer.kernel[s], topi::kWinogradKernelSize) && is_one(attrs.strides[s]) &&
        (is_one(attrs.dilation[s]) || (as_int(attrs.dilation[s]) && may_be_dilated)))
      possible.push_back(s);
  if (spatial < 2 || possible.empty() || !context.flag(kWinogradOption, true) || !is_made_of_constants(weight))
    return {};
  std::vector<size_t> out;
  for (int64_t likely : kLikelyExtents) {
    const std::vector<size_t> axes = cheapest_axes(numbers_of(attrs, layer, likely), possible);
    if (axes.empty() || (likely != kLikelyExtents[0] && axes != out)) return {};
    out = axes;
  }
  return out;
}

Expr make_winograd(const Array<Expr>& args, const relay::ConvAttrs& attrs, const String& kernel_layout, int64_t block,
                   const std::vector<size_t>& axes) {
  const size_t spatial = attrs.strides.size();
  const std::string name = "nn.contrib_conv" + std::to_string(spatial) + "d_winograd_";
  relay::ConvWinogradWeightTransformAttrs transform;
  transform.tile_size = kTile;
  transform.axes = as_array(axes);
  Expr weight = args[1];
  const String plain = topi::plain_kernel_layout(spatial);
  if (kernel_layout != plain) weight = relay::layout_transform(weight, kernel_layout, plain);
  weight = relay::make_call(Op::get(name + "weight_transform"), {weight}, Attrs(make(std::move(transform))));
  const std::string ordered = plain.str().substr(2) + "OI";  // the order of the others does not matter
  weight = relay::layout_transform(weight, ordered, ordered + std::to_string(block) + "o");
  const Attrs given = spatial == 2 ? winograd_attrs<relay::Conv2DWinogradAttrs>(attrs, as_array(axes))
                                   : winograd_attrs<relay::Conv3DWinogradAttrs>(attrs, as_array(axes));
  return relay::make_call(Op::get(name + "without_weight_transform"), {args[0], weight}, given);
}

}  // namespace tessera::op

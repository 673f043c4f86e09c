// Images of other sizes, and samples at any position.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/promote.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <algorithm>
#include <cmath>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

struct ResizeKind {
  std::string mode = "nearest", coordinates = "asymmetric", nearest = "floor";
  bool antialias = false;
};

/// Elements by the indices that PyTorch computes, in single precision: a last bit decides between two. Nothing where sizes are not
/// known, or are multiples of the data's, which have no such cases.
std::optional<Expr> picked_nearest(Operation& in, const ResizeKind& kind,
                                   const std::optional<std::vector<int64_t>>& sizes,
                                   const std::vector<double>& scales) {
  Expr x = in[0];
  if (!sizes) return std::nullopt;
  bool is_multiple = true;
  for (size_t i = 0; i < sizes->size(); ++i) {
    auto* extent = in.shape(x)[i + 2].as<IntImm>();
    if (!extent || extent->value < 1) return std::nullopt;
    is_multiple &= (*sizes)[i] % extent->value == 0 && (scales.empty() || scales[i] == std::floor(scales[i]));
  }
  if (is_multiple) return std::nullopt;
  const float begin = kind.coordinates == "half_pixel" ? 0.5f : 0.0f;
  for (size_t i = 0; i < sizes->size(); ++i) {
    const int64_t from = in.shape(x)[i + 2].as<IntImm>()->value, to = (*sizes)[i];
    const float step =
        scales.empty() ? static_cast<float>(from) / static_cast<float>(to) : static_cast<float>(1.0 / scales[i]);
    std::vector<int64_t> indices;
    for (int64_t k = 0; k < to; ++k)
      indices.push_back(std::min(static_cast<int64_t>(std::floor((static_cast<float>(k) + begin) * step)), from - 1));
    x = take(x, make_ints(indices), static_cast<int>(i) + 2);
  }
  return x;
}

/// Scales where the node gives them (they decide where samples lie), else sizes.
Expr resized_by(Operation& in, const ResizeKind& kind) {
  Expr x = in[0];
  const size_t rank = in.rank(x), spatial = rank - 2;
  if (rank < 3) in.invalid("the data has no spatial dimensions");
  const char* scale_names[3][3] = {
      {"scales", nullptr, nullptr}, {"scales_h", "scales_w", nullptr}, {"scales_d", "scales_h", "scales_w"}};
  std::vector<double> factors;
  if (in.has("scale_factors")) factors = in.numbers("scale_factors");
  else if (in.has("scale_factor") && in.value("scale_factor").kind == Value::List) factors = in.numbers("scale_factor");
  else if (in.has("scale_factor")) factors.assign(spatial, in.number("scale_factor"));
  if (factors.size() == 1 && spatial > 1) factors.assign(spatial, factors[0]);
  const Value& size = in.has("output_size") ? in.value("output_size") : in.value_or_absent("size");
  std::vector<double> scales(spatial, 0);
  bool all_given = !in.flag("align_corners", false);
  for (size_t i = 0; i < spatial; ++i) {
    if (!factors.empty()) scales[i] = factors.at(i);
    else if (spatial <= 3 && in.has(scale_names[spatial - 1][i])) scales[i] = in.number(scale_names[spatial - 1][i]);
    all_given &= scales[i] > 0;
  }
  std::vector<int64_t> axes;
  for (size_t i = 0; i < spatial; ++i) axes.push_back(static_cast<int64_t>(i) + 2);
  std::vector<onnx::Given> attributes{{"mode", kind.mode},
                                      {"coordinate_transformation_mode", kind.coordinates},
                                      {"nearest_mode", kind.nearest},
                                      {"antialias", kind.antialias},
                                      {"exclude_outside", kind.antialias},
                                      {"cubic_coeff_a", kind.antialias ? -0.5 : -0.75},
                                      {"axes", axes}};
  Expr wanted;
  if (!size.is_absent()) {
    wanted = in.int_vector(size);
  } else {
    std::vector<Value> extents;
    for (size_t i = 0; i < spatial; ++i) {
      auto* extent = in.shape(x)[i + 2].as<IntImm>();
      if (!extent) {
        extents.clear();
        break;
      }
      extents.push_back(Value::of(static_cast<int64_t>(std::floor(double(extent->value) * scales[i]))));
    }
    if (!extents.empty()) wanted = in.int_vector(Value::of(extents));
  }
  if (kind.mode == "nearest" && wanted.defined())
    if (std::optional<Expr> picked =
            picked_nearest(in, kind, in.constant_ints(wanted), all_given ? scales : std::vector<double>()))
      return *picked;
  // Where scales are given and sizes follow from them exactly, both say the same.
  bool is_exact = wanted.defined();
  if (std::optional<std::vector<int64_t>> sizes = wanted.defined() ? in.constant_ints(wanted) : std::nullopt;
      sizes && all_given) {
    for (size_t i = 0; i < spatial; ++i) {
      auto* extent = in.shape(x)[i + 2].as<IntImm>();
      is_exact &= extent && std::abs(double(extent->value) * scales[i] - double((*sizes)[i])) < 1e-6;
    }
  }
  if (all_given && !is_exact)
    return onnx::apply(in, "Resize",
                       {x, Expr(), numbers_of(scales, {static_cast<int64_t>(spatial)}, DataType::Float(32))},
                       attributes);
  return onnx::apply(in, "Resize", {x, Expr(), Expr(), wanted}, attributes);
}

Converter nearest_of(bool is_exact) {
  return [is_exact](Operation& in) {
    ResizeKind kind;
    if (is_exact) kind.coordinates = "half_pixel", kind.nearest = "round_prefer_ceil";
    return Values{resized_by(in, kind)};
  };
}
Converter smooth_of(const char* mode, bool antialias = false) {
  return [mode, antialias](Operation& in) {
    ResizeKind kind;
    kind.mode = mode;
    kind.coordinates = in.flag("align_corners", false) ? "align_corners" : "half_pixel";
    kind.antialias = antialias;
    return Values{resized_by(in, kind)};
  };
}
Values interpolated_image(Operation& in) {
  const std::string mode = in.text("mode", "nearest");
  if (mode == "nearest") return nearest_of(false)(in);
  if (mode == "nearest-exact") return nearest_of(true)(in);
  if (mode == "bicubic") return smooth_of("cubic", in.flag("antialias", false))(in);
  if (mode == "linear" || mode == "bilinear" || mode == "trilinear")
    return smooth_of("linear", in.flag("antialias", false))(in);
  in.unsupported("the mode " + mode);
}

Values sampled_at_grid(Operation& in) {
  constexpr const char *kModes[] = {"linear", "nearest", "cubic"}, *kBorders[] = {"zeros", "border", "reflection"};
  const int64_t mode = in.integer("interpolation_mode", 0), border = in.integer("padding_mode", 0);
  if (mode < 0 || mode > 2 || border < 0 || border > 2) in.invalid("an unknown mode");
  return {onnx::apply(in, "GridSample", {in[0], in[1]},
                      {{"mode", kModes[mode]},
                       {"padding_mode", kBorders[border]},
                       {"align_corners", in.flag("align_corners", false)}})};
}
Values affine_grid_of(Operation& in) {
  return {onnx::apply(in, "AffineGrid", {in[0], in.int_vector(in.value("size"))},
                      {{"align_corners", in.flag("align_corners", false)}})};
}

}  // namespace

Rows resize_rows() {
  return {
      {"aten::__interpolate", interpolated_image},
      {"aten::_upsample_bicubic2d_aa", smooth_of("cubic", true)},
      {"aten::_upsample_bilinear2d_aa", smooth_of("linear", true)},
      {"aten::_upsample_nearest_exact1d", nearest_of(true)},
      {"aten::_upsample_nearest_exact2d", nearest_of(true)},
      {"aten::_upsample_nearest_exact3d", nearest_of(true)},
      {"aten::affine_grid_generator", affine_grid_of},
      {"aten::grid_sampler", sampled_at_grid},
      {"aten::grid_sampler_2d", sampled_at_grid},
      {"aten::grid_sampler_3d", sampled_at_grid},
      {"aten::upsample_bicubic2d", smooth_of("cubic")},
      {"aten::upsample_bilinear2d", smooth_of("linear")},
      {"aten::upsample_linear1d", smooth_of("linear")},
      {"aten::upsample_nearest1d", nearest_of(false)},
      {"aten::upsample_nearest2d", nearest_of(false)},
      {"aten::upsample_nearest3d", nearest_of(false)},
      {"aten::upsample_trilinear3d", smooth_of("linear")},
  };
}

}  // namespace tessera::torch

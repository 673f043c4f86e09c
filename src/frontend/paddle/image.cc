// Images in other sizes, borders, and elements that move between channels and pixels.

#include <algorithm>

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/paddle/paddle.h"
#include "relay/attrs/image.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::paddle {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

/// How positions of the result lie in the data.
const char* coordinates_of(const LayerNode& in, const std::string& mode) {
  if (in.flag("align_corners")) return "align_corners";
  if (mode == "nearest") return "asymmetric";
  return mode == "cubic" || in.integer("align_mode", 1) == 0 ? "half_pixel" : "asymmetric";
}

/// The size is a tensor, or numbers; a scale that is given comes before the numbers.
LayerConverter resized(const char* kind) {
  return [kind](LayerNode& in) {
    const std::string mode = kind;
    const bool is_last = has_channels_last(in, "data_layout");
    Expr x = is_last ? channels_second(in, in.slot("X")) : in.slot("X");
    const size_t spatial = in.spatial(x);
    std::vector<int64_t> axes;
    for (size_t i = 0; i < spatial; ++i) axes.push_back(static_cast<int64_t>(i) + 2);
    static const char* const kExtents[] = {"out_d", "out_h", "out_w"};
    Expr sizes, scales;
    Exprs parts = in.slots("SizeTensor");
    if (in.has_slot("OutSize") || !parts.empty()) {
      sizes = ints_of(in, "OutSize", {in.has_slot("OutSize") ? "OutSize" : "SizeTensor"});
    } else {
      std::vector<double> factors = in.fields().numbers("scale");
      if (in.has_slot("Scale")) {
        scales = cast_if_needed(in, in.slot("Scale"), DataType::Float(32));
        if (spatial > 1 && in.static_shape(scales, "a scale").size() < 2) {
          scales = typed(reshape_to(scales, {-1}));
          if (in.static_shape(scales, "a scale")[0] == 1) scales = typed(repeat(scales, static_cast<int>(spatial), 0));
        }
      } else if (!factors.empty() && *std::min_element(factors.begin(), factors.end()) > 0) {
        if (factors.size() == 1) factors.assign(spatial, factors[0]);
        scales = numbers_of(factors, {static_cast<int64_t>(factors.size())}, DataType::Float(32));
      } else {
        if (spatial > 3) in.unsupported("images of more than three dimensions");
        std::vector<int64_t> wanted;
        for (size_t i = 3 - spatial; i < 3; ++i) wanted.push_back(in.integer(kExtents[i], 0));
        sizes = make_ints(wanted);
      }
    }
    std::vector<onnx::Given> attributes{{"mode", mode},
                                        {"coordinate_transformation_mode", coordinates_of(in, mode)},
                                        {"nearest_mode", in.flag("align_corners") ? "round_prefer_ceil" : "floor"},
                                        {"cubic_coeff_a", -0.75},
                                        {"axes", axes}};
    Expr out = typed(apply(in, "Resize", {x, nullptr, scales, sizes}, attributes));
    return only(in, is_last ? channels_last(in, out) : out);
  };
}

Exprs pixel_shuffle(LayerNode& in) {
  const bool is_last = has_channels_last(in);
  Expr x = is_last ? channels_second(in, in.slot("X")) : in.slot("X");
  std::vector<onnx::Given> attributes{{"blocksize", in.integer("upscale_factor", 1)}, {"mode", "CRD"}};
  Expr out = typed(apply(in, "DepthToSpace", {x}, attributes));
  return only(in, is_last ? channels_last(in, out) : out);
}

Expr padded(const LayerNode& in, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
            const char* value) {
  std::vector<int64_t> pads = before;
  pads.insert(pads.end(), after.begin(), after.end());
  std::string mode = in.text("mode", "constant");
  if (mode == "replicate") mode = "edge";
  if (mode == "circular") mode = "wrap";
  Expr x = in.slot("X");
  return apply(in, "Pad",
               {x, make_ints(pads), mode == "constant" ? make_scalar(in.number(value, 0), in.dtype(x)) : Expr()},
               {{"mode", mode}});
}
/// Pairs of numbers, of the last spatial dimension first; or, of the operator of Paddle 1, of the first one first.
LayerConverter spatial_pad(size_t spatial, bool first_one_first, const char* value) {
  return [=](LayerNode& in) {
    Ints pairs = known_ints(in, "paddings", {"Paddings"});
    const size_t rank = in.rank(in.slot("X"));
    if (rank != spatial + 2) in.unsupported("data of " + std::to_string(rank) + " dimensions");
    if (pairs.size() != 2 * spatial) in.invalid("paddings has not two numbers for each dimension");
    std::vector<int64_t> before(rank, 0), after(rank, 0);
    const size_t begin = has_channels_last(in) ? 1 : 2;
    for (size_t i = 0; i < spatial; ++i) {
      const size_t axis = begin + (first_one_first ? i : spatial - 1 - i);
      before[axis] = pairs[2 * i], after[axis] = pairs[2 * i + 1];
    }
    return only(in, padded(in, before, after, value));
  };
}
/// A pair of numbers for each dimension.
Exprs pad(LayerNode& in) {
  Ints pairs = known_ints(in, "paddings");
  const size_t rank = in.rank(in.slot("X"));
  if (pairs.size() != 2 * rank) in.invalid("paddings has not two numbers for each dimension");
  std::vector<int64_t> before, after;
  for (size_t i = 0; i < rank; ++i) before.push_back(pairs[2 * i]), after.push_back(pairs[2 * i + 1]);
  return only(in, padded(in, before, after, "pad_value"));
}

Exprs grid_sampler(LayerNode& in) {
  const std::string mode = in.text("mode", "bilinear"), border = in.text("padding_mode", "zeros");
  Expr grid = in.slot("Grid");
  if (in.rank(grid) != 4) in.unsupported("grids of other than four dimensions");
  if (border != "zeros" && border != "border" && border != "reflection") in.unsupported("the border " + border);
  grid = transpose(grid, int_array({0, 3, 1, 2}));
  return only(in, call_op("image.grid_sample", {in.slot("X"), grid}, make_attrs<GridSampleAttrs>([&](auto& to) {
                            to.method = mode;
                            to.padding_mode = border;
                            to.align_corners = in.flag("align_corners", true);
                          })),
              "Output");
}

}  // namespace

LayerRows image_rows() {
  return {
      {"bicubic_interp_v2", resized("cubic")},
      {"bilinear_interp_v2", resized("linear")},
      {"grid_sampler", grid_sampler},
      {"linear_interp_v2", resized("linear")},
      {"nearest_interp_v2", resized("nearest")},
      {"pad", pad},
      {"pad1d", spatial_pad(1, false, "value")},
      {"pad2d", spatial_pad(2, true, "pad_value")},
      {"pad3d", spatial_pad(3, false, "value")},
      {"pixel_shuffle", pixel_shuffle},
      {"trilinear_interp_v2", resized("linear")},
  };
}

}  // namespace tessera::paddle

// Images: sampling at points, cropping, boxes.

#include "relay/attrs/image.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/nn/pad_dynamic.h"
#include "frontend/onnx/nn/windows.h"
#include "ir/prim/ops.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/index.h"
#include "relay/attrs/transform.h"
#include "relay/attrs/vision.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

#include <cmath>

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

Values grid_sample(Operation& in) {
  size_t rank = in.rank(in[0]);
  if (rank != 4 && rank != 5) in.unsupported("data of " + std::to_string(rank) + " dimensions");
  std::string mode = in.text("mode", in.version() >= 20 ? "linear" : "bilinear");
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  if (rank == 5 && mode == "bicubic") in.unsupported("cubic sampling of volumes");
  std::vector<int64_t> axes{0, static_cast<int64_t>(rank) - 1};
  for (size_t i = 1; i + 1 < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  return {call_op("image.grid_sample", {in[0], transpose(in[1], int_array(axes))},
                  make_attrs<GridSampleAttrs>([&](auto& attrs) {
                    attrs.method = mode;
                    attrs.layout = rank == 4 ? "NCHW" : "NCDHW";
                    attrs.padding_mode = in.text("padding_mode", "zeros");
                    attrs.align_corners = in.integer("align_corners", 0) != 0;
                  }))};
}

/// Points of a regular grid, x first and a 1 behind, moved by each matrix.
Values affine_grid(Operation& in) {
  Ints size = in.needed_ints(in[1], "size");
  std::vector<int64_t> extents(size.begin() + 2, size.end());
  bool aligns = in.integer("align_corners", 0) != 0;
  auto dimensions = static_cast<int64_t>(extents.size());
  std::vector<std::vector<int64_t>> points = indices_of(extents);
  auto count = static_cast<int64_t>(points.size());
  std::vector<double> values;
  for (size_t i = extents.size(); i-- > 0;)
    for (const std::vector<int64_t>& point : points) {
      auto at = static_cast<double>(point[i]), extent = static_cast<double>(extents[i]);
      values.push_back(aligns ? (extent == 1 ? -1 : -1 + 2 * at / (extent - 1)) : -1 + (2 * at + 1) / extent);
    }
  values.resize(values.size() + points.size(), 1);
  Expr grid = numbers_of(values, {1, dimensions + 1, count}, in.dtype(in[0]));
  std::vector<int64_t> shape{size[0]};
  shape.insert(shape.end(), extents.begin(), extents.end());
  shape.push_back(dimensions);
  return {reshape_to(transpose(matmul_like_numpy(in, in[0], grid), int_array({0, 2, 1})), shape)};
}

/// Half of what is added, or cropped where it is negative, lies before, rounded towards 0; the rest behind.
Expr center_crop_pad_at_run_time(Operation& in, const Ints& axes) {
  Array<Expr> extents;
  for (int64_t axis : axes)
    extents.push_back(reshape(extent_at_run_time(in, in[0], in.axis(axis, in.rank(in[0]))), int_array({1})));
  Expr more = subtract(cast_if_needed(in, in[1], DataType::Int(64)), concatenate(extents, 0));
  Expr before = divide(more, make_ints({2}));
  return padded_at_run_time(in, in[0], concatenate({before, subtract(more, before)}, 0), axes,
                            make_scalar(0, in.dtype(in[0])), "constant");
}

Values center_crop_pad(Operation& in) {
  Ints all;
  for (size_t i = 0; i < in.rank(in[0]); ++i) all.push_back(static_cast<int64_t>(i));
  Ints axes = in.integers("axes", all);
  if (!in.fixed_shape(in[0]) || !in.constant_ints(in[1])) return {center_crop_pad_at_run_time(in, axes)};
  Ints shape = in.static_shape(in[0], "CenterCropPad"), wanted = in.needed_ints(in[1], "shape");
  std::vector<int64_t> before(shape.size(), 0), after(shape.size(), 0);
  if (axes.size() != wanted.size()) in.invalid("there are not as many extents as axes");
  Expr out = in[0];
  for (size_t i = 0; i < axes.size(); ++i) {
    int axis = in.axis(axes[i], shape.size());
    auto at = static_cast<size_t>(axis);
    int64_t more = wanted[i] - shape[at];
    if (more < 0) out = slice(out, axis, -more / 2, -more / 2 + wanted[i]);
    if (more > 0) before[at] = more / 2, after[at] = more - more / 2;
  }
  return {pad_with(out, before, after, 0)};
}

// ---- boxes ----------------------------------------------------------------------------------------------------------

Expr number_or(Operation& in, size_t i, double otherwise, DataType dtype) {
  if (!in.has(i)) return make_scalar(otherwise, dtype);
  Expr out = cast_if_needed(in, in[i], dtype);
  return in.rank(out) == 0 ? out : reshape(out, Array<PrimExpr>());
}

/// Boxes as (y, x) of two corners, the lesser first.
Expr corners(Operation& in, const Expr& boxes) {
  auto part = [&](int i) { return slice(boxes, 2, i, i + 1); };
  if (in.integer("center_point_box", 0) != 0) {
    Expr half = make_scalar(0.5, in.dtype(boxes)), width = multiply(part(2), half), height = multiply(part(3), half);
    return concatenate({subtract(part(1), height), subtract(part(0), width), add(part(1), height), add(part(0), width)},
                       2);
  }
  return concatenate(
      {minimum(part(0), part(2)), minimum(part(1), part(3)), maximum(part(0), part(2)), maximum(part(1), part(3))}, 2);
}

/// The next greater float: what Relay calls too much from a threshold on, ONNX does above it. Three quarters of a unit in
/// the last place, or up to one and a half, are added and rounded to one. It is positive: boxes apart never are too much.
Expr just_above(const Expr& x, DataType dtype) {
  int digits = dtype.bits == 64 ? 52 : dtype.bits == 16 ? 10 : 23;
  int least = dtype.bits == 64 ? -1022 : dtype.bits == 16 ? -14 : -126;
  Expr next = add(x, multiply(x, make_scalar(std::ldexp(1.5, -digits - 1), dtype)));
  return maximum(next, make_scalar(std::ldexp(1.0, least), dtype));
}

Values non_max_suppression(Operation& in) {
  if (!in.has(2)) return {make_constant(NDArray::empty(std::vector<int64_t>{0, 3}, DataType::Int(64)))};
  DataType dtype = in.dtype(in[0]);
  Expr pair = call_op("vision.all_class_non_max_suppression",
                      {corners(in, in[0]), in[1], number_or(in, 2, 0, DataType::Int(64)),
                       just_above(number_or(in, 3, 0, dtype), dtype), number_or(in, 4, -INFINITY, dtype)},
                      make_attrs<AllClassNonMaximumSuppressionAttrs>([](auto&) {}));
  Expr all = make_get_item(pair, 0), count = make_get_item(pair, 1);
  count = reshape(cast_if_needed(in, count, DataType::Int(64)), int_array({1}));
  Expr end = concatenate({count, make_ints({3})}, 0);
  Expr kept = call_op("dyn.strided_slice", {all, make_ints({0, 0}), end, make_ints({1, 1})},
                      make_attrs<StridedSliceAttrs>([](auto& attrs) { attrs.slice_mode = "end"; }));
  return {cast_if_needed(in, kept, DataType::Int(64))};
}

// ---- windows at positions that data says ----------------------------------------------------------------------------

/// What each kernel element sees is sampled, and weighed by the mask, and all are multiplied with the weight as a matrix. Between
/// the outermost elements and what lies outside, which is 0, samples are interpolated; nn.deformable_conv2d has 0 there.
Expr sampled_deform_conv(Operation& in) {
  Ints data = in.static_shape(in[0], "DeformConv"), weight = in.static_shape(in[1], "DeformConv");
  Ints strides = in.integers("strides", {1, 1}), dilations = in.integers("dilations", {1, 1});
  Ints pads = in.integers("pads", {0, 0, 0, 0});
  int64_t groups = in.integer("group", 1), moved = in.integer("offset_group", 1), kernel_size = weight[2] * weight[3];
  Ints out = in.static_shape(in[2], "DeformConv");
  int64_t batch = data[0], channels = data[1], rows = out[2], columns = out[3];
  if (moved < 1 || groups < 1 || channels % moved || channels % groups)
    in.invalid("groups that do not divide the channels");
  DataType dtype = in.dtype(in[0]);
  Expr offsets = reshape_to(in[2], {batch * moved, kernel_size, 2, rows, columns});
  // Of dimension `axis`, where each element of each window lies, as a fraction of the image from -1 to 1.
  auto positions = [&](int axis) {
    std::vector<double> values;
    for (int64_t element = 0; element < kernel_size; ++element)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column) {
          auto at = static_cast<size_t>(axis);
          int64_t step = axis == 0 ? element / weight[3] : element % weight[3], window = axis == 0 ? row : column;
          values.push_back(static_cast<double>(window * strides[at] - pads[at] + step * dilations[at]));
        }
    Expr at = add(squeeze(slice(offsets, 2, axis, axis + 1), int_array({2})),
                  numbers_of(values, {kernel_size, rows, columns}, dtype));
    double extent = static_cast<double>(data[static_cast<size_t>(axis) + 2]);
    at = subtract(multiply(add(at, make_scalar(0.5, dtype)), make_scalar(2 / extent, dtype)), make_scalar(1, dtype));
    return reshape_to(at, {batch * moved, 1, kernel_size * rows, columns});
  };
  Expr seen = call_op("image.grid_sample",
                      {reshape_to(in[0], {batch * moved, channels / moved, data[2], data[3]}),
                       concatenate({positions(1), positions(0)}, 1)},
                      make_attrs<GridSampleAttrs>([](auto& attrs) {
                        attrs.method = "bilinear";
                        attrs.layout = "NCHW";
                        attrs.padding_mode = "zeros";
                        attrs.align_corners = false;
                      }));
  if (in.has(4)) seen = multiply(seen, reshape_to(in[4], {batch * moved, 1, kernel_size * rows, columns}));
  seen = reshape_to(seen, {batch, groups, channels / groups * kernel_size, rows * columns});
  Expr sums = matmul_like_numpy(in, reshape_to(in[1], {1, groups, weight[0] / groups, weight[1] * kernel_size}), seen);
  return reshape_to(sums, {batch, weight[0], rows, columns});
}

Values deform_conv(Operation& in) {
  if (in.rank(in[0]) != 4) in.unsupported("other than two spatial dimensions");
  check_windows(in, 2);
  if (in.rank(in[1]) != 4) in.invalid("the weight has not as many dimensions as the data");
  Expr out = sampled_deform_conv(in);
  return {in.has(3) ? add(out, expand_dims(in[3], 1, 2)) : out};
}

/// Regions (x1, y1, x2, y2), each of an image of the batch, in bins of so many samples along each dimension. Neither their
/// number nor the size of the images need be known.
class RegionSamples {
 public:
  RegionSamples(Operation& in, int64_t samples) : in_(in), samples_(samples), dtype_(in.dtype(in[0])) {
    auto* channels = in.shape(in[0])[1].as<IntImm>();
    if (!channels) in.unknown("the number of channels must be known", in[0]);
    channels_ = channels->value;
    height_ = extent_at_run_time(in, in[0], 2);
    width_ = extent_at_run_time(in, in[0], 3);
    shifts_ = in.text("coordinate_transformation_mode", in.version() >= 16 ? "half_pixel" : "output_half_pixel") ==
              "half_pixel";
  }

  /// Of what the four neighbours of each sample weigh, the sum and its mean in each bin, or the greatest.
  Expr pooled(bool takes_max) const {
    Line rows = line(1, in_.integer("output_height", 1), height_, 1);
    Line columns = line(0, in_.integer("output_width", 1), width_, 2);
    Expr image = multiply(cast_if_needed(in_, in_[2], DataType::Int(64)), multiply(height_, width_));
    image = expand_dims(image, 1, 2);
    Expr flat = reshape_to(transpose(in_[0], int_array({0, 2, 3, 1})), {-1, channels_}), out;
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) {
        Expr index = add(image, add(multiply(rows.indices[i], width_), columns.indices[j]));
        Expr weight = expand_dims(multiply(rows.weights[i], columns.weights[j]), 3);
        Expr part = multiply(take(flat, index, 0), weight);
        out = !out.defined() ? part : takes_max ? maximum(out, part) : add(out, part);
      }
    out = reshape_to(out, {-1, rows.bins, samples_, columns.bins, samples_, channels_});
    Array<PrimExpr> axes = int_array({2, 4});
    return transpose(takes_max ? reduce("max", out, axes) : mean(out, axes), int_array({0, 3, 1, 2}));
  }

 private:
  struct Line {
    int64_t bins;
    Expr indices[2], weights[2];  // of the neighbours on either side
  };

  /// Samples along one dimension, whose coordinates are numbers `first` and `first` + 2 of a region; the result has it as
  /// dimension `axis` of three.
  Line line(int first, int64_t bins, const Expr& extent, int axis) const {
    auto number = [&](double value) { return make_scalar(value, dtype_); };
    auto edge = [&](int i) {
      Expr x = multiply(slice(in_[1], 1, i, i + 1), number(in_.number("spatial_scale", 1)));
      return expand_dims(shifts_ ? subtract(x, number(0.5)) : x, 2);
    };
    Expr begin = edge(first), size = subtract(edge(first + 2), begin);
    if (!shifts_) size = maximum(size, number(1));
    std::vector<double> steps;
    for (int64_t i = 0; i < bins * samples_; ++i)
      steps.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(samples_ * bins));
    std::vector<int64_t> shape{1, 1, 1};
    shape[static_cast<size_t>(axis)] = bins * samples_;
    Expr x = add(begin, multiply(size, numbers_of(steps, shape, dtype_)));
    Expr end = cast(extent, dtype_), last = subtract(end, number(1));
    Expr is_outside = call_op("logical_or", {less(x, number(-1)), greater(x, end)});
    Expr inside = minimum(maximum(x, number(0)), last), low = call_op("floor", {inside}), rest = subtract(inside, low);
    auto weight = [&](Expr w) { return where(is_outside, number(0), w); };
    auto index = [&](Expr at) { return cast(at, DataType::Int(64)); };
    return {bins,
            {index(low), index(minimum(add(low, number(1)), last))},
            {weight(subtract(number(1), rest)), weight(rest)}};
  }

  Operation& in_;
  int64_t samples_, channels_ = 0;
  Expr height_, width_;
  DataType dtype_;
  bool shifts_ = false;
};

Values roi_align(Operation& in) {
  int64_t samples = in.integer("sampling_ratio", 0);
  std::string mode = in.text("mode", "avg");
  if (mode != "avg" && mode != "max") in.invalid("the mode is avg or max");
  const bool is_shifted = in.text("coordinate_transformation_mode",
                                  in.version() >= 16 ? "half_pixel" : "output_half_pixel") == "half_pixel";
  // The operator knows neither half pixels nor the greatest of what neighbours weigh.
  if (samples > 0 && (is_shifted || mode == "max")) return {RegionSamples(in, samples).pooled(mode == "max")};
  // As many samples as elements are covered: only the operator itself can count them.
  if (mode == "max") in.unsupported("mode max with sampling_ratio 0");
  Expr images = expand_dims(cast_if_needed(in, in[2], in.dtype(in[1])), 1);
  Expr regions = concatenate({images, in[1]}, 1), data = transpose(in[0], int_array({0, 2, 3, 1}));
  Expr out = call_op("vision.roi_align", {data, regions}, make_attrs<ROIAlignAttrs>([&](auto& attrs) {
                       attrs.pooled_size = int_array({in.integer("output_height", 1), in.integer("output_width", 1)});
                       attrs.spatial_scale = in.number("spatial_scale", 1);
                       attrs.sample_ratio = static_cast<int32_t>(samples > 0 ? samples : -1);
                       attrs.layout = "NHWC";  // channels side by side are read together
                       if (is_shifted) attrs.coordinates = "half_pixel";
                     }));
  return {transpose(out, int_array({0, 3, 1, 2}))};
}

Values max_roi_pool(Operation& in) {
  return {call_op("vision.roi_pool", {in[0], in[1]}, make_attrs<ROIPoolAttrs>([&](auto& attrs) {
                    attrs.pooled_size = int_array(in.integers("pooled_shape"));
                    attrs.spatial_scale = in.number("spatial_scale", 1);
                  }))};
}

/// Columns of windows are added up where the windows lie. Inputs: columns, the image's shape, the window's.
Values col2im(Operation& in) {
  Ints image = in.needed_ints(in[1], "image_shape"), block = in.needed_ints(in[2], "block_shape");
  size_t spatial = image.size();
  check_windows(in, spatial);
  if (block.size() != spatial) in.invalid("image_shape and block_shape differ in length");
  for (const std::vector<int64_t>& extents : {image, block})
    for (int64_t extent : extents)
      if (extent < 1 || extent > INT32_MAX) in.invalid("an extent is " + std::to_string(extent));
  std::vector<int64_t> ones(spatial, 1), strides = in.integers("strides", ones),
                                         dilations = in.integers("dilations", ones);
  Ints pads = in.integers("pads", std::vector<int64_t>(2 * spatial, 0)), counts;
  const Array<PrimExpr> extents = in.shape(in[0]);
  if (extents.size() != 3) in.invalid("columns have three dimensions");
  auto *channels = extents[1].as<IntImm>(), *columns = extents[2].as<IntImm>();
  if (!channels || !columns) in.unknown("the number of channels and columns must be known", in[0]);
  for (size_t i = 0; i < spatial; ++i)
    counts.push_back((image[i] + pads[i] + pads[i + spatial] - (block[i] - 1) * dilations[i] - 1) / strides[i] + 1);
  int64_t kernel_size = product_of(block), windows = product_of(counts), size = product_of(image);
  if (channels->value % kernel_size || columns->value != windows)
    in.invalid("the columns do not fit the image and the window");
  std::vector<int64_t> offsets;
  for (const std::vector<int64_t>& element : indices_of(block))
    for (const std::vector<int64_t>& window : indices_of(counts)) {
      int64_t offset = 0;
      bool is_in = true;
      for (size_t i = 0; i < spatial; ++i) {
        int64_t at = window[i] * strides[i] - pads[i] + element[i] * dilations[i];
        is_in = is_in && at >= 0 && at < image[i];
        offset = offset * image[i] + at;
      }
      offsets.push_back(is_in ? offset : size);  // what lies outside goes behind the image
    }
  Expr updates = reshape_to(in[0], {-1, kernel_size * windows}),
       indices = broadcast_to_like(make_ints(offsets), updates);
  Expr none = call_op("zeros_like", {repeat(slice(updates, 1, 0, 1), static_cast<int>(size + 1), 1)});
  Expr sums = call_op("scatter_add", {none, indices, updates},
                      make_attrs<ScatterAddAttrs>([](auto& attrs) { attrs.axis = 1; }));
  std::vector<int64_t> result{-1, channels->value / kernel_size};
  result.insert(result.end(), image.begin(), image.end());
  return {reshape_to(slice(sums, 1, 0, size), result)};
}

}  // namespace

Rows image_rows() {
  return {
      {"AffineGrid", 20, affine_grid}, {"CenterCropPad", 18, center_crop_pad},
      {"Col2Im", 18, col2im},          {"DeformConv", 19, deform_conv},
      {"GridSample", 16, grid_sample}, {"NonMaxSuppression", 10, non_max_suppression},
      {"MaxRoiPool", 1, max_roi_pool}, {"RoiAlign", 10, roi_align},
  };
}

}  // namespace tessera::onnx

// Gradients of operators that crop regions from images: image.crop_and_resize, vision.roi_align and vision.roi_pool. What
// they do to rows and to columns are two matrices for each region:
//
//   out[r, c, y, x] = sum over h and w of rows[r, y, h] * image(r)[c, h, w] * columns[r, x, w]

#include <limits>

#include "op/gradient/expansion.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/image.h"
#include "relay/attrs/vision.h"
#include "tir/layout.h"
#include "topi/image/resize.h"

namespace tessera::op {
namespace {

using namespace relay;
using Call = relay::Call;

/// Images and regions in plain layout.
struct Regions {
  const Call* call;
  String layout;
  Array<PrimExpr> image;  // n, c, height, width
  int64_t pooled[2], count;
  DataType dtype;

  Regions(const Call* call, const String& layout, const Array<PrimExpr>& size) : call(call), layout(layout) {
    auto* data = arg_type(call, 0);
    dtype = data->dtype;
    for (size_t i = 0; i < 4; ++i) known_extent(data, i);
    image = convert_shape(make_layout(layout), make_layout("NCHW"), data->shape);
    count = known_extent(arg_type(call, 1), 0);
    for (size_t i = 0; i < 2; ++i) pooled[i] = constant_of(size[i], "the size of regions");
  }
  int64_t size(size_t i) const { return *as_int(image[i + 2]); }
  Expr real(double value) const { return make_scalar(value, dtype); }

  /// The image of each region: (regions, c, height, width).
  Expr images(const Expr& data, const Expr& numbers) const {
    return taken(in_layout(data, layout, "NCHW"), cast(numbers, DataType::Int(64)), 0);
  }

  /// How much each element along an axis of the images takes part at `positions` (regions, n) between them: a tent of
  /// width 2 around each position; nothing where `is_read` is 0.
  Expr tents(const Expr& positions, const Expr& is_read, size_t axis) const {
    Expr elements = reshape(counted(size(axis), dtype), {extent(1), extent(1), extent(-1)});
    Expr distance = call_op("abs", {subtract(elements, expand_dims(positions, 2))});
    return multiply(call_op("nn.relu", {subtract(real(1), distance)}), expand_dims(is_read, 2));
  }

  /// rows times images times columns, each by region: (regions, c, y, x).
  Expr crop(const Expr& images, const Expr& rows, const Expr& columns, int64_t height, int64_t width) const {
    int64_t channels = *as_int(image[1]);
    Expr lines = reshape(images, {extent(count), extent(channels * size(0)), extent(size(1))});
    Expr wide = batch_matmul(lines, columns, false, true);  // (regions, c * h, x)
    wide = reshape(wide, {extent(count), extent(channels), extent(size(0)), extent(width)});
    wide = transpose(wide, {extent(0), extent(1), extent(3), extent(2)});
    wide = reshape(wide, {extent(count), extent(channels * width), extent(size(0))});
    Expr out = reshape(batch_matmul(wide, rows, false, true),
                       {extent(count), extent(channels), extent(width), extent(height)});
    return transpose(out, {extent(0), extent(1), extent(3), extent(2)});
  }
  /// 1 where low <= x <= high, else 0.
  Expr between(const Expr& x, double low, double high) const {
    Expr above = call_op("greater_equal", {x, real(low)});
    return both_as_number(above, call_op("less_equal", {x, real(high)}), dtype);
  }
  /// In the layout and type of the call.
  Expr back(const Expr& out) const {
    return cast(in_layout(out, "NCHW", layout), tensor_of(checked_type(Expr(call)))->dtype);
  }
};

/// What the operator itself reads along one axis of the images, taken as it is: it is applied to the identity as the channels
/// of one image that is one element wide. (regions, results, elements)
Given matrix_of(const Regions& regions, const std::function<Expr(const Expr& image)>& apply, size_t axis) {
  Expr elements = counted(regions.size(axis), regions.dtype);
  Expr identity = cast(equal(expand_dims(elements, 1), expand_dims(elements, 0)), regions.dtype);
  Expr matrix = squeeze(apply(expand_dims(expand_dims(identity, 2), 0)), {PrimExpr(3)});
  return {transpose(matrix, {extent(0), extent(2), extent(1)}),
          TensorType({extent(regions.count), extent(regions.pooled[axis]), extent(regions.size(axis))}, regions.dtype)};
}

// ---- crop_and_resize ---------------------------------------------------------------------------------------------

/// Of the nearest elements, which do not change with a box nearly everywhere.
Given nearest_matrix(const Regions& regions, size_t axis) {
  Expr boxes = cast(regions.call->args[1], regions.dtype);
  Expr from = column(boxes, static_cast<int>(axis)), to = column(boxes, static_cast<int>(axis) + 2);
  Expr along = concatenate({from, zeros_like(from), to, zeros_like(to)}, 1);
  Expr first = make_ints(std::vector<int64_t>(static_cast<size_t>(regions.count)), DataType::Int(32));
  Attrs attrs = make_attrs<CropAndResizeAttrs>([&](auto& a) {
    a.crop_size = {extent(regions.pooled[axis]), extent(1)};
    a.method = regions.call->attrs_as<CropAndResizeAttrs>()->method;
  });
  return matrix_of(
      regions, [&](const Expr& image) { return call_op("image.crop_and_resize", {image, along, first}, attrs); }, axis);
}

/// Of the elements around positions that lie evenly between the ends of a box.
Expr linear_matrix(const Regions& regions, const Expr& boxes, size_t axis) {
  Expr from = column(boxes, static_cast<int>(axis)), to = column(boxes, static_cast<int>(axis) + 2);
  double last = static_cast<double>(regions.size(axis) - 1), steps = static_cast<double>(regions.pooled[axis] - 1);
  Expr share = steps > 0 ? multiply(counted(regions.pooled[axis], regions.dtype), regions.real(1 / steps))
                         : reshape(regions.real(0.5), {extent(1)});
  Expr position = add(from, multiply(expand_dims(share, 0), subtract(to, from)));
  position = multiply(position, regions.real(last));
  return regions.tents(position, regions.between(position, 0, last), axis);
}

Exprs crop_and_resize_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<CropAndResizeAttrs>();
  String method = topi::upsampling_options(attrs->method, attrs->layout, false).method;
  if (method != "linear" && method != "nearest_neighbor")
    throw Error(NotImplementedError) << "image.crop_and_resize by " << attrs->method << " has no gradient";
  Regions regions(call, attrs->layout, attrs->crop_size);
  std::vector<Given> given;
  if (method != "linear") given = {nearest_matrix(regions, 0), nearest_matrix(regions, 1)};
  return expanded_gradient(call, grad, given, [&](const Exprs& args) {
    auto matrix = [&](size_t axis) {
      return given.empty() ? linear_matrix(regions, cast(args[1], regions.dtype), axis) : args[3 + axis];
    };
    Expr images = regions.images(args[0], args[2]);
    return regions.back(regions.crop(images, matrix(0), matrix(1), regions.pooled[0], regions.pooled[1]));
  });
}

// ---- roi_align and roi_pool --------------------------------------------------------------------------------------

/// Coordinates along an axis of the images, in their elements, as (regions, 1).
Expr coordinate(const Regions& regions, const Expr& rois, size_t axis, bool is_end, double scale) {
  int at = (axis ? 1 : 2) + (is_end ? 2 : 0);
  return multiply(column(rois, at), regions.real(scale));
}

/// For numbers of samples that depend on the regions, and for bins whose elements do.
template <class A>
Given matrix_of_rois(const Regions& regions, size_t axis, double scale) {
  Expr rois = cast(regions.call->args[1], regions.dtype);
  Expr from = coordinate(regions, rois, axis, false, scale), to = coordinate(regions, rois, axis, true, scale);
  Expr zero = zeros_like(from), along = concatenate({zero, zero, from, zero, to}, 1);
  Attrs attrs = make_attrs<A>([&](auto& a) {
    a.pooled_size = {extent(regions.pooled[axis]), extent(1)};
    a.spatial_scale = 1;
  });
  const String name = regions.call->op.as<OpNode>()->name;
  return matrix_of(regions, [&](const Expr& image) { return call_op(name.str(), {image, along}, attrs); }, axis);
}

/// Samples of each bin of a region along an axis: (regions, bins * samples, elements).
Expr samples(const Regions& regions, const Expr& rois, size_t axis, double scale, int count) {
  Expr from = coordinate(regions, rois, axis, false, scale), to = coordinate(regions, rois, axis, true, scale);
  const int64_t bins = regions.pooled[axis], size = regions.size(axis);
  Expr length = maximum(subtract(to, from), regions.real(1));
  Expr share = add(counted(bins * count, regions.dtype), regions.real(0.5));
  share = multiply(share, regions.real(1.0 / static_cast<double>(bins * count)));
  Expr position = add(from, multiply(expand_dims(share, 0), length));
  Expr is_read = regions.between(position, -1, static_cast<double>(size));
  return regions.tents(clip(position, 0, static_cast<double>(size - 1)), is_read, axis);
}

/// Where the number of samples depends on the regions, these are taken as they are and have no gradient.
Exprs roi_align_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<ROIAlignAttrs>();
  Regions regions(call, attrs->layout, attrs->pooled_size);
  const int count = attrs->sample_ratio;
  const double scale = attrs->spatial_scale;
  const bool is_max = attrs->mode == "max";
  if (is_max && count <= 0)
    throw Error(NotImplementedError) << "the gradient of vision.roi_align by the maximum needs a fixed sample_ratio";
  std::vector<Given> given;
  for (size_t axis = 0; axis < 2 && count <= 0; ++axis)
    given.push_back(matrix_of_rois<ROIAlignAttrs>(regions, axis, scale));
  return expanded_gradient(call, grad, given, [&](const Exprs& args) {
    Expr rois = cast(args[1], regions.dtype);
    Expr images = regions.images(args[0], squeeze(column(rois, 0), {PrimExpr(1)}));
    const int64_t height = regions.pooled[0], width = regions.pooled[1];
    auto all_samples = [&](size_t axis) { return samples(regions, rois, axis, scale, count); };
    auto means = [&](size_t axis) -> Expr {
      if (count <= 0) return args[2 + axis];
      return mean(reshape(all_samples(axis), {extent(regions.count), extent(regions.pooled[axis]), extent(count),
                                              extent(regions.size(axis))}),
                  {PrimExpr(2)});
    };
    if (!is_max) return regions.back(regions.crop(images, means(0), means(1), height, width));
    Expr all = regions.crop(images, all_samples(0), all_samples(1), height * count, width * count);
    all = reshape(
        all, {extent(regions.count), regions.image[1], extent(height), extent(count), extent(width), extent(count)});
    return regions.back(reduce("max", all, {PrimExpr(3), PrimExpr(5)}));
  });
}

/// The greatest of a bin's elements in each line, and of these. Which elements a bin has does not change with a region
/// nearly everywhere.
Exprs roi_pool_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<ROIPoolAttrs>();
  Regions regions(call, attrs->layout, attrs->pooled_size);
  std::vector<Given> given;
  for (size_t axis = 0; axis < 2; ++axis)
    given.push_back(matrix_of_rois<ROIPoolAttrs>(regions, axis, attrs->spatial_scale));
  return expanded_gradient(call, grad, given, [&](const Exprs& args) {
    Expr out = regions.images(args[0], squeeze(column(cast(args[1], regions.dtype), 0), {PrimExpr(1)}));
    Expr none = regions.real(-std::numeric_limits<double>::infinity());
    for (size_t axis = 2; axis-- > 0;) {  // (regions, c, h, w) -> (regions, c, x, h) -> (regions, c, y, x)
      Expr is_inside = greater(expand_dims(expand_dims(args[2 + axis], 1), 1), regions.real(0));
      out = reduce("max", where(is_inside, expand_dims(out, 3), none), {PrimExpr(4)});
      out = transpose(out, {extent(0), extent(1), extent(3), extent(2)});
    }
    return regions.back(where(equal(out, none), zeros_like(out), out));  // a bin without elements is 0
  });
}

}  // namespace

static void region_gradients() {
  set_gradients({
      {"image.crop_and_resize", crop_and_resize_gradient},
      {"vision.roi_align", roi_align_gradient},
      {"vision.roi_pool", roi_pool_gradient},
  });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily region_gradient_family{region_gradients, FillOrder::MoreSlots};

}  // namespace tessera::op

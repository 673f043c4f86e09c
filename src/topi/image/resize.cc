#include "topi/image/resize.h"

#include <cmath>

#include "ir/prim/ops.h"
#include "topi/image/sample.h"
#include "topi/nn/pool.h"
#include "topi/operand.h"
#include "topi/safe_index.h"

namespace tessera::topi {
namespace {

/// Reads between the elements of an image.
class Sampler {
 public:
  Sampler(const te::Tensor& data, const ResizeOptions& options, bool has_boxes)
      : data_(data),
        options_(options),
        axes_(spatial_axes(options.layout, options.size.size())),
        has_boxes_(has_boxes) {
    real_ = data->dtype == DataType::Float(64) ? data->dtype : DataType::Float(32);
    method_ = lower_case(options.method);
    rounding_ = options.rounding;
    if (rounding_.empty()) rounding_ = options.coordinates == "align_corners" ? "round" : "floor";
    if (has_boxes) rounding_ = "round";
  }

  const std::vector<int>& axes() const { return axes_; }
  PrimExpr extent(size_t dim) const { return data_->shape[static_cast<size_t>(axes_[dim])]; }
  PrimExpr real(const PrimExpr& x) const { return tessera::cast(real_, x); }
  PrimExpr real(double x) const { return make_const(real_, x); }

  /// The position in the data that position `x` of the result corresponds to.
  PrimExpr coordinate(size_t dim, const PrimExpr& x, const PrimExpr& begin, const PrimExpr& end) const {
    const String& mode = options_.coordinates;
    PrimExpr from = extent(dim), to = options_.size[dim];
    PrimExpr scale = div(real(from), real(to));
    if (mode == "half_pixel") return (real(x) + real(0.5)) * scale - real(0.5);
    if (mode == "align_corners" && is_one(to)) return real(PrimExpr(0));  // the one position is the first corner
    if (mode == "align_corners") return div(real(from - 1), real(to - 1)) * real(x);
    if (mode == "asymmetric") return is_whole_step(dim) ? truncdiv(x, truncdiv(to, from)) : scale * real(x);
    if (mode == "tf_half_pixel_for_nn") return (real(x) + real(0.5)) * scale;
    if (mode == "pytorch_half_pixel") return if_then_else(to > 1, (real(x) + real(0.5)) * scale - real(0.5), real(0.0));
    if (mode == "tf_crop_and_resize") {
      PrimExpr last = real(from - 1);
      return if_then_else(to > 1, begin * last + div(real(x) * (end - begin) * last, real(max(to - 1, PrimExpr(1)))),
                          real(0.5) * (begin + end) * last);
    }
    throw Error(ValueError) << "coordinate_transformation_mode is " << mode
                            << ", but must be half_pixel, align_corners, asymmetric, pytorch_half_pixel, "
                               "tf_half_pixel_for_nn or tf_crop_and_resize";
  }

  /// The value at `positions`, one per spatial dimension; `source` says the rest.
  PrimExpr value(const Array<PrimExpr>& source, const std::vector<PrimExpr>& positions) const {
    std::vector<Taps> all;
    for (size_t dim = 0; dim < positions.size(); ++dim) all.push_back(taps(dim, positions[dim]));
    PrimExpr out = blend(all, [&](const std::vector<PrimExpr>& indices) {
      Array<PrimExpr> at = source;
      for (size_t dim = 0; dim < indices.size(); ++dim) at.set(static_cast<size_t>(axes_[dim]), indices[dim]);
      PrimExpr element = te::load(data_, at);
      return method_ == "nearest_neighbor" ? element : real(element);
    });
    if (options_.coordinates == "tf_crop_and_resize") {
      PrimExpr outside = tessera::cast(out.dtype(), real(options_.extrapolation_value));
      for (size_t dim = positions.size(); dim-- > 0;) {
        out = if_then_else(positions[dim] > real(extent(dim) - 1), outside, out);
        out = if_then_else(positions[dim] < real(0.0), outside, out);
      }
    }
    return tessera::cast(options_.out_dtype.is_void() ? data_->dtype : options_.out_dtype, out);
  }

 private:
  static String lower_case(const String& text) {
    std::string out = text.str();
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
  }

  /// Whether one element of the data is a whole number of those of the result, so that integers do.
  bool is_whole_step(size_t dim) const {
    const int64_t *from = as_int(extent(dim)), *to = as_int(options_.size[dim]);
    return method_ == "nearest_neighbor" && rounding_ == "floor" && from && to && *from > 0 && *to % *from == 0;
  }

  PrimExpr nearest(const PrimExpr& position) const {
    DataType index = DataType::Int(32);
    constexpr double kSlack = 1e-5;  // against rounding of the position itself
    if (position.dtype().is_int()) return tessera::cast(index, position);
    if (rounding_ == "round") return tessera::cast(index, round(position));
    if (rounding_ == "round_prefer_floor") return tessera::cast(index, ceil(position - real(0.5)));
    if (rounding_ == "round_prefer_ceil") return tessera::cast(index, floor(position + real(0.5)));
    if (rounding_ == "floor") return tessera::cast(index, floor(position + real(kSlack)));
    if (rounding_ == "ceil") return tessera::cast(index, ceil(position - real(kSlack)));
    throw Error(ValueError) << "rounding_method is " << rounding_
                            << ", but must be round, floor, ceil, round_prefer_floor or round_prefer_ceil";
  }

  /// What makes up the value along one dimension; positions outside the image are those at its edge.
  Taps taps(size_t dim, const PrimExpr& position) const {
    Taps out;
    if (method_ == "nearest_neighbor") out = {{nearest(position), {}}};
    else if (method_ == "linear") out = linear_taps(position, has_boxes_);
    else if (method_ == "cubic") out = cubic_taps(position, options_.cubic_alpha, has_boxes_);
    else
      throw Error(ValueError) << "method is " << options_.method << ", but must be nearest_neighbor, linear or cubic";
    if (method_ == "cubic" && options_.cubic_exclude) exclude_outside(dim, &out);
    for (Tap& tap : out) tap.index = max(min(tap.index, extent(dim) - 1), make_zero(tap.index.dtype()));
    return out;
  }

  /// Taps outside the image lose their weight to the others.
  void exclude_outside(size_t dim, Taps* taps) const {
    PrimExpr total;
    for (Tap& tap : *taps) {
      tap.weight = if_then_else(logical_or(tap.index < 0, tap.index >= extent(dim)), real(0.0), tap.weight);
      total = total ? total + tap.weight : tap.weight;
    }
    for (Tap& tap : *taps) tap.weight = div(tap.weight, total);
  }

  te::Tensor data_;
  ResizeOptions options_;
  std::vector<int> axes_;
  bool has_boxes_;  // positions come from data
  DataType real_;
  String method_, rounding_;
};

}  // namespace

te::Tensor resize(const te::Tensor& data, const ResizeOptions& options) {
  Sampler sampler(data, options, false);
  const size_t spatial = options.size.size();
  Array<PrimExpr> shape = data->shape;
  for (size_t i = 0; i < spatial; ++i) shape.set(static_cast<size_t>(sampler.axes()[i]), options.size[i]);
  bool crops = options.coordinates == "tf_crop_and_resize";
  if (crops && options.roi.size() != 2 * spatial)
    throw Error(ValueError) << "tf_crop_and_resize takes a roi of " << 2 * spatial << " values, got "
                            << options.roi.size();
  return compute(
      shape, "i",
      [&](const Array<PrimExpr>& at) {
        std::vector<PrimExpr> positions;
        for (size_t i = 0; i < spatial; ++i) {
          PrimExpr begin = crops ? sampler.real(options.roi[i]) : sampler.real(0.0);
          PrimExpr end = crops ? sampler.real(options.roi[i + spatial]) : sampler.real(1.0);
          positions.push_back(sampler.coordinate(i, at[static_cast<size_t>(sampler.axes()[i])], begin, end));
        }
        return sampler.value(at, positions);
      },
      "resize", kInjective);
}

te::Tensor crop_and_resize(const te::Tensor& data, const te::Tensor& boxes, const te::Tensor& box_indices,
                           const ResizeOptions& given) {
  ResizeOptions options = given;
  options.coordinates = "tf_crop_and_resize";
  Sampler sampler(data, options, true);
  Array<PrimExpr> shape = data->shape;
  shape.set(0, boxes->shape[0]);
  for (size_t i = 0; i < 2; ++i) shape.set(static_cast<size_t>(sampler.axes()[i]), options.size[i]);
  return compute(
      shape, "i",
      [&](const Array<PrimExpr>& at) {
        std::vector<PrimExpr> positions;
        for (int i = 0; i < 2; ++i) {
          PrimExpr begin = sampler.real(te::load(boxes, {at[0], PrimExpr(i)}));
          PrimExpr end = sampler.real(te::load(boxes, {at[0], PrimExpr(i + 2)}));
          auto dim = static_cast<size_t>(i);
          positions.push_back(sampler.coordinate(dim, at[static_cast<size_t>(sampler.axes()[dim])], begin, end));
        }
        SafeAccess image({});
        Array<PrimExpr> source = at;
        source.set(0, image.index(te::load(box_indices, {at[0]}), data->shape[0], 0));
        image.shares(boxes->shape[0], box_indices->shape[0], 0);
        PrimExpr value = sampler.value(source, positions);
        return if_then_else(image.is_possible(), value, make_zero(value.dtype()));
      },
      "crop_and_resize", kInjective);
}

ResizeOptions upsampling_options(const String& method, const String& layout, bool align_corners) {
  ResizeOptions out;
  std::string name = method.str();
  for (const char* prefix : {"bi", "tri"})
    if (name.starts_with(prefix)) name = name.substr(std::string_view(prefix).size());
  out.method = name;
  out.layout = layout;
  out.coordinates = align_corners ? "align_corners" : "asymmetric";
  return out;
}

PrimExpr scaled_extent(const PrimExpr& extent, double scale) {
  if (const int64_t* n = as_int(extent))
    return make_const(extent.dtype(), static_cast<int64_t>(std::round(static_cast<double>(*n) * scale)));
  if (scale == std::floor(scale)) return extent * make_const(extent.dtype(), static_cast<int64_t>(scale));
  DataType real = DataType::Float(64);
  return tessera::cast(extent.dtype(), round(tessera::cast(real, extent) * make_const(real, scale)));
}

}  // namespace tessera::topi

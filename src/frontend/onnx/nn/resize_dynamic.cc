// Resize of data whose extents, or to sizes that, are known only at run time: the same indices and weights as in
// resize.cc, computed by the program.

#include <set>

#include "base/dtypes.h"
#include "frontend/common/extents.h"
#include "frontend/common/known.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/nn/resize.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr number(double value) { return make_scalar(value, kFloat32); }
Expr floor_of(const Expr& x) { return call_op("floor", {x}); }

/// One axis: extents before and after, and by how much it is scaled.
struct DynamicAxis {
  Expr in, out;        // int64
  Expr scale, wanted;  // float32; wanted: the extent after, before it is rounded down to a whole number
};

/// 0, 1, ... in floats, as many as the result has.
Expr counting_to(const Expr& count) { return cast(call_op("dyn.iota", {count}), kFloat32); }

Expr sources_of(Operation& in, const ResizeOptions& options, const DynamicAxis& axis) {
  Expr x = counting_to(axis.out), half = number(0.5);
  Expr centred = subtract(divide(add(x, half), axis.scale), half);
  if (options.coordinates == "half_pixel") return centred;
  if (options.coordinates == "asymmetric") return divide(x, axis.scale);
  Expr is_one = equal(axis.wanted, number(1));
  if (options.coordinates == "pytorch_half_pixel") return where(is_one, number(-0.5), centred);
  if (options.coordinates == "align_corners") {
    Expr steps = where(is_one, number(1), subtract(axis.wanted, number(1)));
    return where(is_one, number(0), divide(multiply(x, subtract(cast(axis.in, kFloat32), number(1))), steps));
  }
  in.unsupported("the coordinate transformation " + options.coordinates);
}

Expr nearest_of(Operation& in, const ResizeOptions& options, const Expr& x) {
  if (options.nearest == "floor") return floor_of(x);
  if (options.nearest == "ceil") return call_op("ceil", {x});
  if (options.nearest == "round_prefer_floor") return call_op("ceil", {subtract(x, number(0.5))});
  if (options.nearest == "round_prefer_ceil") return floor_of(add(x, number(0.5)));
  in.unsupported("the nearest mode " + options.nearest);
}

/// Keys' cubic of a distance below 1, and from 1 to 2.
Expr near_weight(const Expr& d, double a) {
  Expr square = multiply(d, d);
  return add(multiply(square, subtract(multiply(number(a + 2), d), number(a + 3))), number(1));
}
Expr far_weight(const Expr& d, double a) {
  Expr inner = subtract(multiply(number(a), d), number(5 * a));
  return subtract(multiply(add(multiply(inner, d), number(8 * a)), d), number(4 * a));
}

Expr along(Operation& in, const ResizeOptions& options, const Expr& data, int axis, const DynamicAxis& extents) {
  Expr x = sources_of(in, options, extents), last = subtract(cast(extents.in, kFloat32), number(1));
  auto element = [&](const Expr& at) { return take(data, cast(minimum(maximum(at, number(0)), last), kInt64), axis); };
  if (options.mode == "nearest") return element(nearest_of(in, options, x));
  Expr left = floor_of(x), rest = subtract(x, left), one = number(1);
  int behind = static_cast<int>(in.rank(data)) - axis - 1;
  auto weighed = [&](double step, const Expr& weight) {
    Expr shaped = behind ? expand_dims(weight, 1, behind) : weight;
    return multiply(element(add(left, number(step))), shaped);
  };
  if (options.mode == "linear") return add(weighed(0, subtract(one, rest)), weighed(1, rest));
  if (options.mode != "cubic") in.unsupported("the mode " + options.mode);
  double a = options.cubic;
  Expr out = add(weighed(-1, far_weight(add(rest, one), a)), weighed(0, near_weight(rest, a)));
  Expr other = subtract(one, rest);
  return add(out, add(weighed(1, near_weight(other, a)), weighed(2, far_weight(add(other, one), a))));
}

/// True where an extent is asked for that the data has.
bool stays(Operation& in, const Expr& x, int axis, const Element& wanted) {
  if (wanted.tensor.defined()) return wanted.tensor.same_as(x) && wanted.axis == axis;
  PrimExpr extent = wanted.as_extent();
  return extent && same_extent(in.shape(x)[static_cast<size_t>(axis)], extent);
}

}  // namespace

Expr resized_at_run_time(Operation& in, const ResizeOptions& options, const std::vector<int64_t>& axes,
                         const Expr& asked, bool by_size) {
  static const std::set<std::string> kCoordinates{"half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners"};
  if (options.antialias || options.exclude_outside || options.policy != "stretch" ||
      !kCoordinates.count(options.coordinates))
    in.unknown("with antialias, exclude_outside, a policy or " + options.coordinates + ", sizes must be known", asked);
  Expr x = in[0];
  size_t rank = in.rank(x);
  DataType dtype = in.dtype(x);
  bool is_rounded = options.mode != "nearest" && dtype != kFloat32;
  if (is_rounded && (!is_float(dtype) || dtype.bits == 64))
    in.unknown("for integers and float64, sizes must be known", asked);
  Expr out = is_rounded ? cast(x, kFloat32) : x;
  std::optional<NDArray> known = in.constant(asked);
  for (size_t i = 0; i < axes.size(); ++i) {
    int axis = in.axis(axes[i], rank);
    if (known && !by_size) {  // axes that stay as they are
      double scale = read_float(known->dtype(), known->data<char>() + i * size_t(known->dtype().bytes()));
      if (scale == 1) continue;
    }
    Expr index = make_constant(int_scalar(static_cast<int64_t>(i), kInt64)), number = take(asked, index, 0);
    DynamicAxis extents;
    extents.in = extent_at_run_time(in, x, axis);
    Expr width = cast(extents.in, kFloat32);
    if (by_size) {
      std::optional<Element> wanted = element_of(asked, static_cast<int64_t>(i));
      if (wanted && stays(in, x, axis, *wanted)) continue;
      extents.out = cast_if_needed(in, number, kInt64);
      if (wanted && wanted->value) extents.out = make_constant(int_scalar(*wanted->value, kInt64));
      extents.wanted = cast(extents.out, kFloat32);
      extents.scale = divide(extents.wanted, width);
    } else {
      extents.scale = cast_if_needed(in, number, kFloat32);
      extents.wanted = multiply(width, extents.scale);
      extents.out = cast(floor_of(extents.wanted), kInt64);
    }
    out = along(in, options, out, axis, extents);
  }
  return is_rounded ? cast(out, dtype) : out;
}

}  // namespace tessera::onnx

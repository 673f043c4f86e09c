// Reductions, argmax and argmin.

#include <algorithm>
#include <cmath>
#include <utility>

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/importer.h"
#include "relay/attrs/index.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// What is reduced. Axes are an attribute, or since version 13 (sum) and 18 (the others) an input.
struct Axes {
  Array<PrimExpr> axes = nullptr;  // null: all
  bool keeps = true;
  bool is_none = false;  // nothing is reduced
  Expr given;            // where a run decides the axes, int64 counted from the front
};

Axes axes_of(Operation& in) {
  Axes out;
  out.keeps = in.integer("keepdims", 1) != 0;
  if (!in.has_attribute("axes") && in.has(1) && !in.constant_ints(in[1])) {
    if (!out.keeps && !in.fixed_shape(in[1])) in.unknown("the number of axes must be known", in[1]);
    const DataType dtype = DataType::Int(64);
    auto number = [&](int64_t value) { return make_constant(int_scalar(value, dtype)); };
    Expr axes = cast_if_needed(in, in[1], dtype);
    out.given = where(less(axes, number(0)), add(axes, number(int64_t(in.rank(in[0])))), axes);
    return out;
  }
  std::optional<std::vector<int64_t>> given = in.integers_or_input("axes", 1);
  if (given && !given->empty()) {
    std::vector<int64_t> axes;
    for (int64_t axis : *given) axes.push_back(in.axis(axis, in.rank(in[0])));
    out.axes = int_array(axes);
  } else {
    out.is_none = in.integer("noop_with_empty_axes", 0) != 0;
  }
  return out;
}

/// The least and greatest number of a type.
std::pair<double, double> ends_of(DataType dtype) {
  if (is_float(dtype)) return {-HUGE_VAL, HUGE_VAL};
  if (dtype.code == DataType::kUInt) return {0, std::ldexp(1.0, dtype.bits) - 1};
  return {-std::ldexp(1.0, dtype.bits - 1), std::ldexp(1.0, dtype.bits - 1) - 1};
}

/// Over axes that a run decides: every element is scattered to where it counts, an extent of 1 standing for each axis.
Expr reduced_at_run_time(Operation& in, std::string_view op, const Axes& axes, const Expr& x) {
  const DataType dtype = DataType::Int(64);
  const int rank = static_cast<int>(in.rank(x));
  if (rank == 0) return x;
  auto number = [&](int64_t value) { return make_constant(int_scalar(value, dtype)); };
  std::vector<int64_t> all(static_cast<size_t>(rank));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  Expr is_gone = reduce("any", equal(expand_dims(make_ints(all), 1), expand_dims(axes.given, 0)), int_array({1}));
  Expr shape = where(is_gone, number(1), shape_at_run_time(x)), at;
  for (int i = 0; i < rank; ++i) {  // the index of each element in the result, of one dimension
    Expr extent = take(shape, number(i), 0), own = minimum(positions_along(in, x, i), subtract(extent, number(1)));
    own = i + 1 < rank ? expand_dims(own, 1, rank - i - 1) : own;
    at = at.defined() ? add(multiply(at, extent), own) : own;
  }
  const std::string mode = op == "sum" ? "add" : op == "prod" ? "mul" : std::string(op);
  const auto [least, greatest] = ends_of(in.dtype(x));
  const double first = op == "sum" ? 0 : op == "prod" ? 1 : op == "max" ? least : greatest;
  Expr count = reshape(reduce("prod", shape, int_array({0})), int_array({1}));
  Expr none = call_op("dyn.full", {make_scalar(first, in.dtype(x)), count},
                      make_attrs<InitOpAttrs>([&](auto& attrs) { attrs.dtype = in.dtype(x); }));
  Expr flat = call_op("scatter_nd", {none, expand_dims(reshape(at, int_array({-1})), 0), reshape(x, int_array({-1}))},
                      make_attrs<ScatterNDAttrs>([&](auto& attrs) { attrs.mode = mode; }));
  Expr out = call_op("dyn.reshape", {flat, shape}, make_attrs<ReshapeAttrs>([](auto& attrs) {
                       attrs.newshape = int_array({-1});
                       attrs.allowzero = true;
                     }));
  if (axes.keeps) return out;
  return call_op("dyn.squeeze", {out, axes.given}, make_attrs<SqueezeAttrs>([](auto&) {}));
}

Expr reduced(Operation& in, std::string_view op, const Axes& axes, const Expr& x) {
  if (axes.given.defined() && op == "mean") {
    Expr ones = call_op("ones_like", {x});
    return divide(reduced_at_run_time(in, "sum", axes, x), reduced_at_run_time(in, "sum", axes, ones));
  }
  if (axes.given.defined()) return reduced_at_run_time(in, op, axes, x);
  return axes.is_none ? x : reduce(op, x, axes.axes, axes.keeps);
}

/// `before` on the elements, the reduction, `after` on its result.
using Change = Expr (*)(const Expr&);
Expr same(const Expr& x) { return x; }
Expr absolute(const Expr& x) { return call_op("abs", {x}); }
Expr squared(const Expr& x) { return multiply(x, x); }
Expr logarithm(const Expr& x) { return log(x); }
Expr root(const Expr& x) { return sqrt(x); }

Converter reduction(const char* op, Change before = same, Change after = same) {
  return [op, before, after](Operation& in) {
    Axes axes = axes_of(in);
    return Values{after(reduced(in, op, axes, before(in[0])))};
  };
}

/// What the extreme of no elements is: the other end of the type, which for floats is infinite.
Expr extreme_of_none(Operation& in, const Axes& axes, bool is_max) {
  DataType dtype = in.dtype(in[0]);
  if (dtype.code != DataType::kFloat && dtype.code != DataType::kBFloat) return nullptr;
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(in[0]);
  bool is_empty = shape && std::count(shape->begin(), shape->end(), 0) > 0;
  if (!is_empty || axes.is_none) return nullptr;
  Expr none = reduced(in, "sum", axes, in[0]), end = make_scalar(is_max ? -HUGE_VAL : HUGE_VAL, dtype);
  return call_op("full_like", {none, end});
}

/// Of bools, the greatest is whether any is set.
Converter extreme(const char* op, const char* of_bools) {
  return [op, of_bools](Operation& in) {
    Axes axes = axes_of(in);
    if (Expr none = extreme_of_none(in, axes, std::string_view(op) == "max")) return Values{none};
    DataType dtype = in.dtype(in[0]);
    if (axes.given.defined() && dtype == DataType::Bool()) {
      Expr bytes = cast(in[0], DataType::UInt(8));
      return Values{cast(reduced(in, op, axes, bytes), dtype)};
    }
    Expr out = reduced(in, dtype == DataType::Bool() ? of_bools : op, axes, in[0]);
    if (!is_float(dtype) || axes.is_none || axes.given.defined()) return Values{out};
    // Relay's reduction begins with the greatest finite number, not with infinity.
    Expr end = make_scalar(std::string_view(op) == "max" ? -HUGE_VAL : HUGE_VAL, dtype);
    return Values{where(reduced(in, "all", axes, equal(in[0], end)), end, out)};
  };
}

/// With the greatest taken out, so that nothing overflows.
Values log_sum_exp(Operation& in) {
  Axes axes = axes_of(in);
  if (axes.is_none) return {in[0]};
  const bool keeps = std::exchange(axes.keeps, true);
  Expr x = in[0], top = reduced(in, "max", axes, x);
  Expr is_finite = call_op("isfinite", {top});
  top = where(is_finite, top, make_scalar(0, in.dtype(x)));
  Expr out = add(log(reduced(in, "sum", axes, exp(subtract(x, top)))), top);
  if (keeps) return {out};
  if (axes.given.defined()) return {call_op("dyn.squeeze", {out, axes.given}, make_attrs<SqueezeAttrs>([](auto&) {}))};
  return {reduce("sum", out, axes.axes, false)};
}

Converter arg_reduce(const char* op) {
  return [op](Operation& in) {
    int axis = in.axis(in.integer("axis", 0), in.rank(in[0]));
    bool keeps = in.integer("keepdims", 1) != 0, last = in.integer("select_last_index", 0) != 0;
    Expr out = call_op(op, {in[0]}, make_attrs<ArgReduceAttrs>([&](auto& attrs) {
                         attrs.axis = int_array({axis});
                         attrs.keepdims = keeps;
                         attrs.select_last_index = last;
                       }));
    return Values{cast(out, DataType::Int(64))};
  };
}

}  // namespace

Rows reduction_rows() {
  return {
      {"ArgMax", 1, arg_reduce("argmax")},
      {"ArgMin", 1, arg_reduce("argmin")},
      {"ReduceL1", 1, reduction("sum", absolute)},
      {"ReduceL2", 1, reduction("sum", squared, root)},
      {"ReduceLogSum", 1, reduction("sum", same, logarithm)},
      {"ReduceLogSumExp", 1, log_sum_exp},
      {"ReduceMax", 1, extreme("max", "any")},
      {"ReduceMean", 1, reduction("mean")},
      {"ReduceMin", 1, extreme("min", "all")},
      {"ReduceProd", 1, reduction("prod")},
      {"ReduceSum", 1, reduction("sum")},
      {"ReduceSumSquare", 1, reduction("sum", squared)},
  };
}

}  // namespace tessera::onnx

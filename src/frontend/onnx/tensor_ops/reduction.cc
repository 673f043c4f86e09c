// Reductions, argmax and argmin.

#include <algorithm>
#include <cmath>

#include "frontend/onnx/importer.h"
#include "relay/attrs/reduce.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// What is reduced. Axes are an attribute, or since version 13 (sum) and 18 (the others) an input.
struct Axes {
  Array<PrimExpr> axes = nullptr;  // null: all
  bool keeps = true;
  bool is_none = false;  // nothing is reduced
};

Axes axes_of(Operation& in) {
  Axes out;
  out.keeps = in.integer("keepdims", 1) != 0;
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

Expr reduced(const char* op, const Axes& axes, const Expr& x) {
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
    return Values{after(reduced(op, axes, before(in[0])))};
  };
}

/// What the extreme of no elements is: the other end of the type, which for floats is infinite.
Expr extreme_of_none(Operation& in, const Axes& axes, bool is_max) {
  DataType dtype = in.dtype(in[0]);
  if (dtype.code != DataType::kFloat && dtype.code != DataType::kBFloat) return nullptr;
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(in[0]);
  bool is_empty = shape && std::count(shape->begin(), shape->end(), 0) > 0;
  if (!is_empty || axes.is_none) return nullptr;
  Expr none = reduced("sum", axes, in[0]), end = make_scalar(is_max ? -HUGE_VAL : HUGE_VAL, dtype);
  return call_op("full_like", {none, end});
}

/// Of bools, the greatest is whether any is set.
Converter extreme(const char* op, const char* of_bools) {
  return [op, of_bools](Operation& in) {
    Axes axes = axes_of(in);
    if (Expr none = extreme_of_none(in, axes, std::string_view(op) == "max")) return Values{none};
    DataType dtype = in.dtype(in[0]);
    Expr out = reduced(dtype == DataType::Bool() ? of_bools : op, axes, in[0]);
    if ((dtype.code != DataType::kFloat && dtype.code != DataType::kBFloat) || axes.is_none) return Values{out};
    // Relay's reduction begins with the greatest finite number, not with infinity.
    Expr end = make_scalar(std::string_view(op) == "max" ? -HUGE_VAL : HUGE_VAL, dtype);
    return Values{where(reduced("all", axes, equal(in[0], end)), end, out)};
  };
}

/// With the greatest taken out, so that nothing overflows.
Values log_sum_exp(Operation& in) {
  Axes axes = axes_of(in);
  if (axes.is_none) return {in[0]};
  Expr x = in[0], top = reduce("max", x, axes.axes, true);
  Expr is_finite = call_op("isfinite", {top});
  top = where(is_finite, top, make_scalar(0, in.dtype(x)));
  Expr out = add(log(reduce("sum", exp(subtract(x, top)), axes.axes, true)), top);
  if (axes.keeps) return {out};
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

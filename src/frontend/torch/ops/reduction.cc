// Reductions.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/promote.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/search.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <cmath>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// The axes of "dim", none of which means all; the data with one dimension at least.
struct Over {
  Expr x;
  std::vector<int64_t> axes;
  bool keeps = false, is_scalar = false;
};
Over over_axes(Operation& in, const Expr& given) {
  Over out{given, {}, in.flag("keepdim", false), in.rank(given) == 0};
  if (out.is_scalar) out.x = expand_dims(given, 0);
  out.axes = in.axes_of("dim", in.rank(out.x));
  return out;
}
Expr finished(const Over& over, const Expr& out) {
  return over.is_scalar && over.keeps ? reshape(out, Array<PrimExpr>()) : out;
}
Expr reduced_over(const char* op, const Over& over, const Expr& x) {
  return finished(over, reduce(op, x, int_array(over.axes), over.keeps));
}

/// Integers and bools are summed up as int64.
Expr summed_type(Operation& in, const Expr& x) {
  if (std::optional<DataType> dtype = in.dtype_given()) return as_type(in, x, *dtype);
  return is_float(in.dtype(x)) ? x : as_type(in, x, DataType::Int(64));
}
Values summed(Operation& in) {
  Expr x = summed_type(in, in[0]);
  return {reduced_over("sum", over_axes(in, x), over_axes(in, x).x)};
}
Values multiplied(Operation& in) {
  Expr x = summed_type(in, in[0]);
  return {reduced_over("prod", over_axes(in, x), over_axes(in, x).x)};
}
Values averaged(Operation& in) {
  Expr x = in[0];
  if (std::optional<DataType> dtype = in.dtype_given()) x = as_type(in, x, *dtype);
  Over over = over_axes(in, x);
  return {reduced_over("mean", over, over.x)};
}
Values nan_summed(Operation& in) {
  Expr x = in[0], zero = make_scalar(0, in.dtype(x));
  Over over = over_axes(in, where(call_op("isnan", {x}), zero, x));
  return {reduced_over("sum", over, over.x)};
}

Converter truth_over(const char* op) {
  return [op](Operation& in) {
    Over over = over_axes(in, as_type(in, in[0], DataType::Bool()));
    return Values{reduced_over(op, over, over.x)};
  };
}

Expr extreme_over(Operation& in, const char* op, const Over& over) {
  if (in.dtype(over.x).is_bool()) return reduced_over(std::string_view(op) == "max" ? "any" : "all", over, over.x);
  return finished(over, onnx::apply(in, std::string_view(op) == "max" ? "ReduceMax" : "ReduceMin",
                                    {over.x, make_ints(over.axes)}, {{"keepdims", over.keeps}}));
}
Expr arg_over(Operation& in, bool is_max, const Expr& x, int axis, bool keeps) {
  return onnx::apply(in, is_max ? "ArgMax" : "ArgMin", {x}, {{"axis", axis}, {"keepdims", keeps}});
}

/// max(x), max(x, dim) with indices, and max(x, other).
Converter extreme_of(const char* op, const char* of_two) {
  return [op, of_two](Operation& in) {
    if (in.has("other") || (in.size() == 2 && in.value(1).is_tensor())) {
      const DataType dtype = promoted(in, {in.value(0), in.value(1)});
      return Values{call_op(of_two, {as_type(in, in.value(0), dtype), as_type(in, in.value(1), dtype)})};
    }
    Expr x = in[0];
    Over over = over_axes(in, x);
    Values out{extreme_over(in, op, over)};
    if (!in.has("dim")) return out;
    const bool is_max = std::string_view(op) == "max";
    Expr work = in.dtype(over.x).is_bool() ? cast(over.x, DataType::Int(32)) : over.x;
    Expr index = arg_over(in, is_max, work, static_cast<int>(over.axes.at(0)), over.keeps);
    out.push_back(Value(finished(over, index)));
    return out;
  };
}
Converter extreme_along(const char* op) {
  return [op](Operation& in) { return Values{extreme_over(in, op, over_axes(in, in[0]))}; };
}
Values min_and_max(Operation& in) {
  Over over = over_axes(in, in[0]);
  return {extreme_over(in, "min", over), extreme_over(in, "max", over)};
}

Converter index_of_extreme(bool is_max) {
  return [is_max](Operation& in) {
    Expr x = in[0];
    if (in.dtype(x).is_bool()) x = cast(x, DataType::Int(32));
    if (in.rank(x) == 0) return Values{make_scalar(0, DataType::Int(64))};
    if (in.has("dim"))
      return Values{arg_over(in, is_max, x, in.axis_of(in.integer("dim"), in.rank(x)), in.flag("keepdim", false))};
    Expr flat = in.rank(x) == 1 ? x : reshape(x, int_array({-1}));
    Expr out = arg_over(in, is_max, flat, 0, false);
    if (in.flag("keepdim", false)) out = reshape_to(out, std::vector<int64_t>(in.rank(x), 1));
    return Values{out};
  };
}

// ---- variance and norms ---------------------------------------------------------------------------------------------

Expr variance_over(Operation& in, const Over& over) {
  double correction = in.flag("unbiased", true) ? 1 : 0;
  if (in.has("correction")) correction = in.number("correction");
  Array<PrimExpr> axes = int_array(over.axes);
  Expr middle = mean(over.x, axes, true), centred = subtract(over.x, middle);
  const DataType dtype = in.dtype(over.x);
  Expr total = sum(multiply(centred, centred), axes, over.keeps);
  int64_t count = 1;
  for (int64_t axis : over.axes) {
    auto* extent = in.shape(over.x)[static_cast<size_t>(axis)].as<IntImm>();
    if (!extent) {  // by a mean, which knows the extents at run time
      if (correction != 0) in.unknown("the extents of what a variance is over must be known", over.x);
      return mean(multiply(centred, centred), axes, over.keeps);
    }
    count *= extent->value;
  }
  return divide(total, make_scalar(std::max(static_cast<double>(count) - correction, 0.0), dtype));
}
Values variance_of(Operation& in) {
  Over over = over_axes(in, as_float(in, in[0]));
  return {finished(over, variance_over(in, over))};
}
Values deviation_of(Operation& in) {
  Over over = over_axes(in, as_float(in, in[0]));
  return {finished(over, sqrt(variance_over(in, over)))};
}
Values variance_and_mean(Operation& in) {
  Over over = over_axes(in, as_float(in, in[0]));
  Expr spread = variance_over(in, over);
  if (in.name() == "std_mean") spread = sqrt(spread);
  return {finished(over, spread), reduced_over("mean", over, over.x)};
}

Expr norm_over(Operation& in, const Over& over, double p) {
  Expr size = call_op("abs", {over.x});
  const DataType dtype = in.dtype(over.x);
  if (p == INFINITY) return reduced_over("max", over, size);
  if (p == -INFINITY) return reduced_over("min", over, size);
  if (p == 0) return reduced_over("sum", over, as_type(in, call_op("not_equal", {size, make_scalar(0, dtype)}), dtype));
  if (p == 1) return reduced_over("sum", over, size);
  if (p == 2) return sqrt(reduced_over("sum", over, multiply(over.x, over.x)));
  return power(reduced_over("sum", over, power(size, make_scalar(p, dtype))), make_scalar(1 / p, dtype));
}
Values normed(Operation& in) {
  Expr x = in[0];
  if (std::optional<DataType> dtype = in.dtype_given()) x = as_type(in, x, *dtype);
  const Value& given = in.has("p") ? in.value("p") : in.value_or_absent("ord");
  double p = 2;
  if (given.kind == Value::Text) {
    if (given.text != "fro") in.unsupported("the norm " + given.text);
  } else if (!given.is_absent()) {
    p = in.real_of(given, "the order of a norm");
  }
  Over over = over_axes(in, x);
  const bool is_matrix =
      in.name() == "linalg_matrix_norm" || (in.name() == "linalg_norm" && !given.is_absent() && over.axes.size() == 2);
  if (is_matrix && given.kind != Value::Text) in.unsupported("this norm of a matrix");
  return {norm_over(in, over, p)};
}

Values log_summed(Operation& in) {
  Over over = over_axes(in, as_float(in, in[0]));
  return {
      finished(over, onnx::apply(in, "ReduceLogSumExp", {over.x, make_ints(over.axes)}, {{"keepdims", over.keeps}}))};
}

Values median_of(Operation& in) {
  Expr x = in[0];
  const bool has_dim = in.has("dim");
  if (!has_dim) x = reshape(x, int_array({-1}));
  const int axis = has_dim ? in.axis_of(in.integer("dim"), in.rank(x)) : 0;
  const int64_t extent = in.static_extent(x, axis, "median"), at = (extent - 1) / 2;
  if (extent == 0) in.unsupported("the median of nothing");
  std::vector<Expr> sorted = onnx::apply_all(in, "TopK", {x, make_ints({extent})}, {{"axis", axis}, {"largest", 0}}, 2);
  Values out;
  for (const Expr& part : sorted) {
    Expr one = slice(part, axis, at, at + 1);
    out.push_back(Value(has_dim && in.flag("keepdim", false) ? one : squeeze(one, int_array({axis}))));
  }
  if (!has_dim) out.pop_back();
  return out;
}

}  // namespace

Rows reduction_rows() {
  return {
      {"aten::all", truth_over("all")},
      {"aten::amax", extreme_along("max")},
      {"aten::amin", extreme_along("min")},
      {"aten::aminmax", min_and_max},
      {"aten::any", truth_over("any")},
      {"aten::argmax", index_of_extreme(true)},
      {"aten::argmin", index_of_extreme(false)},
      {"aten::frobenius_norm", normed},
      {"aten::linalg_matrix_norm", normed},
      {"aten::linalg_norm", normed},
      {"aten::linalg_vector_norm", normed},
      {"aten::logsumexp", log_summed},
      {"aten::max", extreme_of("max", "maximum")},
      {"aten::mean", averaged},
      {"aten::median", median_of},
      {"aten::min", extreme_of("min", "minimum")},
      {"aten::nansum", nan_summed},
      {"aten::norm", normed},
      {"aten::prod", multiplied},
      {"aten::std", deviation_of},
      {"aten::std_mean", variance_and_mean},
      {"aten::sum", summed},
      {"aten::var", variance_of},
      {"aten::var_mean", variance_and_mean},
  };
}

}  // namespace tessera::torch

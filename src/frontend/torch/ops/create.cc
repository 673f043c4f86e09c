// Tensors made from nothing, and casts.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/promote.h"
#include "frontend/torch/scope.h"
#include "ir/prim/ops.h"
#include "relay/attrs/random.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"
#include "runtime/function/element.h"
#include "runtime/registry.h"

#include <cmath>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// Of a shape whose extents a run may decide.
Expr full_of(const Operation& in, const Expr& shape, const Expr& scalar) {
  const DataType dtype = in.dtype(scalar);
  if (std::optional<std::vector<int64_t>> known = in.constant_ints(shape)) {
    for (int64_t extent : *known)
      if (extent < 0 || extent > INT32_MAX) in.invalid("an extent of " + std::to_string(extent));
    if (known->empty()) return scalar;
    return call_op("full", {scalar}, make_attrs<InitOpAttrs>([&](auto& attrs) {
                     attrs.shape = int_array(*known);
                     attrs.dtype = dtype;
                   }));
  }
  // Through Expand, which keeps what is known of the extents.
  Expr one = scalar;
  for (int64_t i = 0, rank = in.static_shape(shape, "a shape")[0]; i < rank; ++i) one = expand_dims(one, 0);
  return onnx::apply(in, "Expand", {one, shape});
}

Expr shape_given(const Operation& in) {
  if (in.has("size")) return in.int_vector(in.value("size"));
  return in.int_vector(in.value(0));
}

Converter filled_with(double value) {
  return [value](Operation& in) {
    DataType dtype = in.dtype_given().value_or(in.default_dtype());
    if (in.name().starts_with("new_")) dtype = in.dtype_given().value_or(in.dtype(in[0]));
    return Values{full_of(in, shape_given(in), make_scalar(value, dtype))};
  };
}
Values full_with(Operation& in) {
  const Value& fill = in.value("fill_value");
  DataType dtype = in.name() == "new_full" ? in.dtype(in[0]) : promoted(in, {fill});
  if (in.dtype_given()) dtype = *in.dtype_given();
  return {full_of(in, shape_given(in), as_type(in, fill, dtype))};
}
Expr full_like_of(const Operation& in, const Expr& x, const Value& fill, DataType dtype) {
  Expr scalar = as_type(in, fill, dtype);
  if (in.rank(scalar) == 1) scalar = squeeze(scalar, int_array({0}));
  if (std::optional<std::vector<int64_t>> shape = in.fixed_shape(x)) return full_of(in, make_ints(*shape), scalar);
  return call_op("full_like", {cast_if_needed(in, x, dtype), scalar});
}
Converter filled_like(double value) {
  return [value](Operation& in) {
    return Values{full_like_of(in, in[0], Value::of(value), in.dtype_given().value_or(in.dtype(in[0])))};
  };
}
Values full_like_given(Operation& in) {
  return {full_like_of(in, in[0], in.value("fill_value"), in.dtype_given().value_or(in.dtype(in[0])))};
}
/// The same shape, filled with one value.
Values fill_in(Operation& in) { return {full_like_of(in, in[0], in.value(1), in.dtype(in[0]))}; }
Values zeroed(Operation& in) { return {full_like_of(in, in[0], Value::of(0.0), in.dtype(in[0]))}; }

// ---- ranges ---------------------------------------------------------------------------------------------------------

Values ranged(Operation& in) {
  Value start = Value::of(int64_t{0}), end, step = Value::of(int64_t{1});
  if (in.has("end")) {
    end = in.value("end");
    if (in.has("start")) start = in.value("start");
    if (in.has("step")) step = in.value("step");
  } else {
    end = in.value(0);
  }
  DataType dtype = DataType::Int(64);
  for (const Value* bound : {&start, &end, &step})
    if (bound->kind == Value::Float || (bound->is_tensor() && is_float(in.dtype(bound->expr()))))
      dtype = in.default_dtype();
  if (in.dtype_given()) dtype = *in.dtype_given();
  const DataType work = dtype.is_bool() || dtype.bits == 16 ? DataType::Float(32) : dtype;
  if (start.is_known_number() && end.is_known_number() && step.is_known_number()) {
    const double first = start.as_real(), by = step.as_real(), count = std::ceil((end.as_real() - first) / by);
    constexpr double kMaxFolded = 1 << 20;
    if (by == 0) in.invalid("the step is 0");
    if (count < kMaxFolded) {  // in float64, as torch computes it
      NDArray out = NDArray::empty({{std::max<int64_t>(static_cast<int64_t>(count), 0)}}, dtype);
      for (int64_t i = 0; i < out.size(); ++i)
        write_float(dtype, first + static_cast<double>(i) * by, out.data<char>() + i * dtype.bytes());
      return {make_constant(out)};
    }
  }
  std::vector<Expr> bounds;
  for (const Value* bound : {&start, &end, &step}) {
    Expr number = as_type(in, Value(in.number_expr(*bound)), work);
    bounds.push_back(in.rank(number) == 0 ? number : reshape(number, Array<PrimExpr>()));
  }
  // A range from 0 in steps of 1 has as many elements as its end says: the extent keeps its name.
  if (start.is_known_number() && start.as_real() == 0 && step.is_known_number() && step.as_real() == 1 && end.cell) {
    Expr extent = as_type(in, Value(in.number_expr(end)), DataType::Int(64));
    Expr ones = onnx::apply(in, "Expand", {make_ints({1}), reshape(extent, int_array({1}))});
    Expr sums = onnx::apply(in, "CumSum", {ones, make_constant(int_scalar(0, DataType::Int(64)))}, {{"exclusive", 1}});
    return {as_type(in, sums, dtype)};
  }
  return {as_type(in, onnx::apply(in, "Range", bounds), dtype)};
}

Values spaced(Operation& in) {
  const int64_t steps = in.integer("steps");
  const double start = in.number("start"), end = in.number("end");
  const DataType dtype = in.dtype_given().value_or(in.default_dtype());
  if (steps < 0 || steps > INT32_MAX) in.invalid("steps is " + std::to_string(steps));
  const double by = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  std::vector<double> out;
  for (int64_t i = 0; i < steps; ++i) {  // from both ends, as torch does it
    double value = i < steps / 2 ? start + by * static_cast<double>(i) : end - by * static_cast<double>(steps - i - 1);
    if (steps == 1) value = start;
    if (in.name() == "logspace") value = std::pow(in.number("base", 10), value);
    out.push_back(dtype.is_integral() ? std::trunc(value) : value);
  }
  return {numbers_of(out, {steps}, dtype)};
}

Values eye_of(Operation& in) {
  const int64_t rows = in.integer("n"), columns = in.integer("m", rows);
  if (rows < 0 || columns < 0 || rows * columns > (1 << 28)) in.invalid("the matrix is too large");
  std::vector<double> out(static_cast<size_t>(rows * columns), 0);
  for (int64_t i = 0; i < std::min(rows, columns); ++i) out[static_cast<size_t>(i * columns + i)] = 1;
  return {numbers_of(out, {rows, columns}, in.dtype_given().value_or(in.default_dtype()))};
}

Converter triangle_of(bool upper) {
  return [upper](Operation& in) {
    Expr k = make_constant(int_scalar(in.integer("diagonal", 0), DataType::Int(64)));
    Expr x = in[0];
    const bool is_bool = in.dtype(x).is_bool();
    if (is_bool) x = cast(x, DataType::UInt(8));
    Expr out = onnx::apply(in, "Trilu", {x, k}, {{"upper", upper}});
    return Values{is_bool ? as_type(in, out, DataType::Bool()) : out};
  };
}

// ---- casts ----------------------------------------------------------------------------------------------------------

Value cast_value(const Operation& in, const Value& x, DataType dtype) {
  if (!x.is_tensor() && !x.is_number()) return x;
  if (x.is_tensor() && in.dtype(x.expr()) == dtype) return x;  // the tensor itself, not a copy
  return Value(as_type(in, x, dtype));
}
/// Devices and memory formats mean nothing here.
Values to_other(Operation& in) {
  Value x = in.value(0);
  if (x.is_tensor() && (in.name() == "_to_copy" || in.flag("copy", false))) x = Value(x.expr());
  if (in.has("other")) return {cast_value(in, x, in.dtype(in["other"]))};
  if (std::optional<DataType> dtype = in.dtype_given()) return {cast_value(in, x, *dtype)};
  return {x};
}
Values as_type_of_other(Operation& in) { return {cast_value(in, in.value(0), in.dtype(in[1]))}; }
Converter cast_to_type(DataType dtype) {
  return [dtype](Operation& in) { return Values{cast_value(in, in.value(0), dtype)}; };
}

/// A tensor of numbers or lists of numbers.
Values tensor_from(Operation& in) {
  const Value& data = in.value(0);
  if (data.kind != Value::List) {
    DataType own = data.is_tensor() ? in.dtype(data.expr()) : promoted(in, {data});
    return {as_type(in, data, in.dtype_given().value_or(own))};
  }
  std::function<Expr(const Value&, DataType)> stacked_of = [&](const Value& value, DataType dtype) -> Expr {
    if (value.kind != Value::List) return as_type(in, value, dtype);
    Array<Expr> parts;
    for (const Value& item : *value.items) parts.push_back(stacked_of(item, dtype));
    if (parts.empty()) return make_constant(NDArray::empty({{0}}, dtype));
    return stack(parts, 0);
  };
  std::vector<Value> leaves;
  std::function<void(const Value&)> collect = [&](const Value& value) {
    if (value.kind != Value::List) return leaves.push_back(value);
    for (const Value& item : *value.items) collect(item);
  };
  collect(data);
  const DataType dtype = in.dtype_given().value_or(leaves.empty() ? in.default_dtype() : promoted(in, leaves));
  Expr out = stacked_of(data, dtype);
  if (std::optional<NDArray> known = in.constant(out)) return {make_constant(*known)};
  return {out};
}

// ---- random numbers -------------------------------------------------------------------------------------------------

/// Other numbers than torch's, of the same distribution.
Converter random_of(bool is_normal, bool is_like) {
  return [is_normal, is_like](Operation& in) {
    DataType dtype =
        is_like ? in.dtype_given().value_or(in.dtype(in[0])) : in.dtype_given().value_or(in.default_dtype());
    Ints shape = is_like ? in.static_shape(in[0], "random numbers") : in.integers("size");
    if (shape.empty()) shape = in.integers("size");
    Expr like = filled(0, shape, DataType::Float(32));
    Expr out = onnx::apply(in, is_normal ? "RandomNormalLike" : "RandomUniformLike", {like});
    return Values{as_type(in, out, dtype)};
  };
}
Values drawn(Operation& in) {
  const int64_t count = in.integer("num_samples");
  Expr x = in[0];
  const bool is_row = in.rank(x) == 1;
  Expr logs = log(is_row ? expand_dims(x, 0) : x);
  if (!in.flag("replacement", false) && count > 1) {  // the greatest sums with noise of Gumbel's distribution
    Expr noise =
        onnx::apply(in, "RandomUniformLike", {filled(0, in.static_shape(logs, "multinomial"), DataType::Float(32))},
                    {{"low", 1e-20}, {"high", 1.0}});
    Expr keys = subtract(logs, cast(log(negative(log(noise))), in.dtype(logs)));
    Expr best = onnx::apply_all(in, "TopK", {keys, make_ints({count})}, {{"axis", -1}}, 2)[1];
    return {is_row ? squeeze(best, int_array({0})) : best};
  }
  Expr out = onnx::apply(in, "Multinomial", {logs}, {{"sample_size", count}, {"dtype", 7}});
  return {is_row ? squeeze(out, int_array({0})) : out};
}

}  // namespace

Rows create_rows() {
  return {
      {"aten::_cast_Double", cast_to_type(DataType::Float(64))},
      {"aten::_cast_Float", cast_to_type(DataType::Float(32))},
      {"aten::_cast_Long", cast_to_type(DataType::Int(64))},
      {"aten::_to_copy", to_other},
      {"aten::arange", ranged},
      {"aten::empty", filled_with(0)},
      {"aten::empty_like", filled_like(0)},
      {"aten::empty_permuted", filled_with(0)},
      {"aten::eye", eye_of},
      {"aten::fill", fill_in},
      {"aten::full", full_with},
      {"aten::full_like", full_like_given},
      {"aten::linspace", spaced},
      {"aten::logspace", spaced},
      {"aten::multinomial", drawn},
      {"aten::new_empty", filled_with(0)},
      {"aten::new_full", full_with},
      {"aten::new_ones", filled_with(1)},
      {"aten::new_zeros", filled_with(0)},
      {"aten::ones", filled_with(1)},
      {"aten::ones_like", filled_like(1)},
      {"aten::rand", random_of(false, false)},
      {"aten::rand_like", random_of(false, true)},
      {"aten::randn", random_of(true, false)},
      {"aten::randn_like", random_of(true, true)},
      {"aten::scalar_tensor", tensor_from},
      {"aten::tensor", tensor_from},
      {"aten::to", to_other},
      {"aten::tril", triangle_of(false)},
      {"aten::triu", triangle_of(true)},
      {"aten::type_as", as_type_of_other},
      {"aten::zero", zeroed},
      {"aten::zeros", filled_with(0)},
      {"aten::zeros_like", filled_like(0)},
  };
}

}  // namespace tessera::torch

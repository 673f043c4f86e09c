// What makes tensors of nothing but numbers.

#include <charconv>
#include <cmath>

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/paddle/paddle.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"
#include "runtime/function/element.h"

namespace tessera::paddle {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

constexpr int64_t kMaxElements = int64_t{1} << 31;

/// One number of a type. Whole numbers beyond what a double holds stand in a text.
Expr the_number(const LayerNode& in, DataType dtype) {
  if (in.has_slot("ValueTensor")) return number_of(in, "value", 0, dtype, {"ValueTensor"});
  const std::string text = in.text("str_value");
  if (text.empty()) return make_scalar(in.number("value", 0), dtype);
  int64_t whole = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (dtype.is_integral() && error == std::errc() && end == text.data() + text.size())
    return make_constant(int_scalar(whole, dtype));
  double number = 0;
  auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || stop != text.data() + text.size())
    in.invalid("its value \"" + text + "\" is no number");
  return make_scalar(number, dtype);
}

Expr spread(const LayerNode& in, const Expr& number, const Expr& shape) {
  if (std::optional<std::vector<int64_t>> known = in.constant_ints(shape)) {
    int64_t count = 1;
    for (int64_t extent : *known) {
      if (extent < 0 || (extent && count > kMaxElements / extent)) in.invalid("its shape is impossible");
      count *= extent;
    }
    return known->empty() ? number : broadcast_to(number, int_array(*known));
  }
  return apply(in, "Expand", {number, shape});
}

Exprs full(LayerNode& in) {
  Expr shape = ints_of(in, "shape", {"ShapeTensor", "ShapeTensorList"});
  const DataType dtype = type_in(in, "dtype").value_or(DataType::Float(32));
  return only(in, spread(in, the_number(in, dtype), shape.defined() ? shape : make_ints({})));
}
Exprs full_like(LayerNode& in) {
  Expr x = in.slot("X");
  const DataType dtype = type_in(in, "dtype").value_or(in.dtype(x));
  Expr number = number_of(in, "value", 0, dtype);
  if (in.fixed_shape(x)) return only(in, spread(in, number, make_ints(*in.fixed_shape(x))));
  return only(in, call_op("full_like", {typed(cast_if_needed(in, x, dtype)), number}));
}
/// One extent is that of an input's axis.
Exprs full_batch(LayerNode& in) {
  Expr like = in.slot("Input");
  Ints shape = in.fields().integers("shape");
  const int from = in.axis(in.integer("input_dim_idx", 0), in.rank(like)),
            to = in.axis(in.integer("output_dim_idx", 0), shape.size());
  Array<Expr> parts;
  for (size_t i = 0; i < shape.size(); ++i)
    parts.push_back(static_cast<int>(i) == to ? reshape_to(extent_at_run_time(in, like, from), {1})
                                              : make_ints({shape[i]}));
  const DataType dtype = type_in(in, "dtype").value_or(DataType::Float(32));
  return only(in, spread(in, the_number(in, dtype), typed(concatenate(parts, 0))));
}

/// The elements of a constant; older programs have an attribute for each kind of number.
Exprs assigned(LayerNode& in) {
  std::vector<ObjectRef> values;
  for (const char* name :
       {"values", "fp32_values", "fp64_values", "int32_values", "int64_values", "int8_values", "bool_values"})
    if (values.empty()) values = in.fields().list(name);
  Ints shape = in.fields().has("shape") ? in.fields().integers("shape") : Ints{static_cast<int64_t>(values.size())};
  const DataType dtype = type_in(in, "dtype").value_or(DataType::Float(32));
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0 || (extent && count > kMaxElements / extent)) in.invalid("its shape is impossible");
    count *= extent;
  }
  if (static_cast<size_t>(count) != values.size())
    in.invalid("it has " + std::to_string(values.size()) + " values for " + std::to_string(count) + " elements");
  NDArray out = NDArray::empty(shape, dtype);
  char* at = out.data<char>();
  for (const ObjectRef& value : values) {
    if (is_float(dtype)) write_float(dtype, frontend::number_of(value, "a value"), at);
    else write_int(dtype, integer_of(value, "a value"), at);
    at += dtype.bytes();
  }
  return only(in, make_constant(out));
}

Exprs range(LayerNode& in) {
  const DataType dtype = in.dtype(in.slot("Start"));
  auto number = [&](const char* slot) { return paddle::number_of(in, slot, 0, dtype); };
  Expr out = apply(in, "Range", {number("Start"), number("End"), number("Step")});
  return only(in, cast_if_needed(in, typed(out), type_in(in, "dtype").value_or(dtype)));
}

}  // namespace

LayerRows create_rows() {
  return {
      {"assign_value", assigned}, {"fill_any_like", full_like},
      {"fill_constant", full},    {"fill_constant_batch_size_like", full_batch},
      {"range", range},
  };
}

}  // namespace tessera::paddle

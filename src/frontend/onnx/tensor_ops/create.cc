// Operators that make tensors of numbers or shapes, and those that ask for shapes.

#include <algorithm>

#include "frontend/common/extents.h"
#include "frontend/common/known.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/scope.h"
#include "relay/attrs/index.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"
#include "runtime/function/shape_functions.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// The shape of a tensor as a value: a constant where it is fixed.
Expr shape_value(Operation& in, const Expr& x, DataType dtype = DataType::Int(64)) {
  if (std::optional<std::vector<int64_t>> shape = in.fixed_shape(x)) return make_ints(*shape, dtype);
  return call_op("shape_of", {x}, make_attrs<ShapeOfAttrs>([&](auto& attrs) { attrs.dtype = dtype; }));
}

// ---- made from nothing ----------------------------------------------------------------------------------------------

Values constant(Operation& in) {
  if (std::optional<Value> value = in.tensor_value("value")) return {*value};
  if (in.has_attribute("value_float")) return {make_scalar(in.number("value_float", 0), DataType::Float(32))};
  if (in.has_attribute("value_int")) return {make_constant(int_scalar(in.integer("value_int"), DataType::Int(64)))};
  if (in.has_attribute("value_ints")) return {make_ints(in.integers("value_ints"))};
  if (const Attribute* sparse = in.find("sparse_value"); sparse && sparse->sparse_tensors.size() == 1)
    return {make_constant(to_ndarray(sparse->sparse_tensors[0], {}))};
  if (in.has_attribute("value_floats")) {
    std::vector<float> values = in.numbers("value_floats");
    auto count = static_cast<int64_t>(values.size());
    NDArray data = NDArray::empty(std::span(&count, 1), DataType::Float(32));
    std::copy(values.begin(), values.end(), data.data<float>());
    return {make_constant(data)};
  }
  if (in.has_attribute("value_string")) return {Value::of(Texts{{}, {in.text("value_string", "")}})};
  if (in.has_attribute("value_strings")) {
    std::vector<std::string> items = in.texts("value_strings");
    return {Value::of(Texts{{static_cast<int64_t>(items.size())}, items})};
  }
  in.unsupported("a constant that is no tensor");
}

Values constant_of_shape(Operation& in) {
  NDArray value = in.tensor("value").value_or(float_scalar(0, DataType::Float(32)));
  Expr scalar = make_constant(value.view({}, value.dtype()));
  if (std::optional<std::vector<int64_t>> shape = in.constant_ints(in[0]))
    return {call_op("full", {scalar}, make_attrs<InitOpAttrs>([&](auto& attrs) {
                      attrs.shape = int_array(*shape);
                      attrs.dtype = value.dtype();
                    }))};
  return {
      call_op("dyn.full", {scalar, in[0]}, make_attrs<InitOpAttrs>([&](auto& attrs) { attrs.dtype = value.dtype(); }))};
}

Values eye_like(Operation& in) {
  if (in.rank(in[0]) != 2) in.invalid("the input has two dimensions");
  DataType dtype =
      in.has_attribute("dtype") ? element_type(static_cast<ElementType>(in.integer("dtype"))) : in.dtype(in[0]);
  if (!in.fixed_shape(in[0])) {
    Expr shift = make_constant(int_scalar(in.integer("k", 0), DataType::Int(64)));
    Expr diagonal = add(positions_along(in, in[0], 0), shift);
    return {cast(equal(expand_dims(diagonal, 1), positions_along(in, in[0], 1)), dtype)};
  }
  Ints shape = in.static_shape(in[0], "EyeLike");
  NDArray out = NDArray::empty(shape, dtype);
  int64_t k = in.integer("k", 0);
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j)
      write_int(dtype, j - i == k, out.data<char>() + (i * shape[1] + j) * int64_t(dtype.bytes()));
  return {make_constant(out)};
}

Values range(Operation& in) {
  DataType dtype = in.dtype(in[0]);
  auto scalar = [&](size_t i) { return in.rank(in[i]) == 0 ? in[i] : reshape(in[i], Array<PrimExpr>{}); };
  std::optional<NDArray> bounds[3];
  bool is_known = true;
  for (size_t i = 0; i < 3; ++i) {
    bounds[i] = in.constant(in[i]);
    if (bounds[i] && bounds[i]->size() != 1) in.invalid("start, limit and delta are one number each");
    is_known &= bounds[i].has_value();
  }
  int64_t count = is_known ? arange_count(bounds[0]->tensor(), bounds[1]->tensor(), bounds[2]->tensor()) : -1;
  constexpr int64_t kMaxFolded = 1 << 20;
  if (is_known && count < kMaxFolded) {  // known at once
    NDArray out = NDArray::empty(std::span(&count, 1), dtype);
    const char *first = bounds[0]->data<char>(), *by = bounds[2]->data<char>();
    for (int64_t i = 0; i < count; ++i) {
      char* at = out.data<char>() + i * int64_t(dtype.bytes());
      if (dtype.is_floating())
        write_float(dtype, read_float(dtype, first) + static_cast<double>(i) * read_float(dtype, by), at);
      else write_int(dtype, read_int(dtype, first) + i * read_int(dtype, by), at);
    }
    return {make_constant(out)};
  }
  Expr start = scalar(0), stop = scalar(1), step = scalar(2);
  return {call_op("arange", {start, stop, step}, make_attrs<ArangeAttrs>([&](auto& attrs) {
                    attrs.start = start;
                    attrs.stop = stop;
                    attrs.step = step;
                    attrs.dtype = dtype;
                  }))};
}

// ---- asking ---------------------------------------------------------------------------------------------------------

Values shape(Operation& in) {
  Expr out = shape_value(in, in[0]);
  auto rank = static_cast<int64_t>(in.rank(in[0]));
  auto bound = [&](const char* name, int64_t otherwise) {
    int64_t at = in.integer(name, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  int64_t start = bound("start", 0), end = bound("end", rank);
  if (start == 0 && end == rank) return {out};
  if (auto* known = out.as<Constant>()) {
    auto* data = known->data.data<int64_t>();
    return {make_ints(start < end ? std::vector<int64_t>(data + start, data + end) : std::vector<int64_t>())};
  }
  return {call_op("strided_slice", {out}, make_attrs<StridedSliceAttrs>([&](auto& attrs) {
                    attrs.begin = int_array({start});
                    attrs.end = int_array({std::max(start, end)});
                    attrs.strides = int_array({1});
                  }))};
}

Values size(Operation& in) {
  if (std::optional<std::vector<int64_t>> extents = in.fixed_shape(in[0])) {
    int64_t count = 1;
    for (int64_t extent : *extents) count *= extent;
    return {make_constant(int_scalar(count, DataType::Int(64)))};
  }
  return {call_op("ndarray_size", {in[0]},
                  make_attrs<NdarraySizeAttrs>([](auto& attrs) { attrs.dtype = DataType::Int(64); }))};
}

}  // namespace

Rows create_rows() {
  return {
      {"Constant", 1, constant}, {"ConstantOfShape", 9, constant_of_shape},
      {"EyeLike", 9, eye_like},  {"Range", 11, range},
      {"Shape", 1, shape},       {"Size", 1, size},
  };
}

}  // namespace tessera::onnx

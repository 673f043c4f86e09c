// Operators that move elements, and those that make or ask for shapes.

#include "frontend/onnx/importer.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/element.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

Values constant(Operation& in) {
  if (std::optional<NDArray> value = in.tensor("value")) return {make_constant(*value)};
  if (in.has_attribute("value_float")) return {make_scalar(in.number("value_float", 0), DataType::Float(32))};
  if (in.has_attribute("value_int")) return {make_constant(int_scalar(in.integer("value_int"), DataType::Int(64)))};
  if (in.has_attribute("value_ints")) return {make_ints(in.integers("value_ints"))};
  if (in.has_attribute("value_floats")) {
    std::vector<float> values = in.numbers("value_floats");
    auto count = static_cast<int64_t>(values.size());
    NDArray data = NDArray::empty(std::span(&count, 1), DataType::Float(32));
    std::copy(values.begin(), values.end(), data.data<float>());
    return {make_constant(data)};
  }
  in.unsupported("a constant that is no tensor of numbers");
}

Values concat(Operation& in) {
  int axis = in.axis(in.version() >= 4 ? in.integer("axis") : in.integer("axis", 1), in.rank(in[0]));
  return {concatenate(in.tensors(), axis)};
}

/// All dimensions before `axis` become one, and all from it on.
Values flatten(Operation& in) {
  size_t rank = in.rank(in[0]);
  int64_t given = in.integer("axis", 1);
  int axis = given == static_cast<int64_t>(rank) ? static_cast<int>(rank) : in.axis(given, rank);
  std::vector<int64_t> shape = in.static_shape(in[0], "Flatten");
  int64_t before = 1, after = 1;
  for (size_t i = 0; i < rank; ++i) (static_cast<int>(i) < axis ? before : after) *= shape[i];
  return {reshape(in[0], int_array({before, after}))};
}

Values reshaped(Operation& in) {
  std::optional<std::vector<int64_t>> shape = in.integers_or_input("shape", 1);
  if (!shape) in.invalid("no shape is given");
  return {reshape(in[0], int_array(*shape))};
}

Values transposed(Operation& in) {
  std::vector<int64_t> axes = in.integers("perm");
  return {transpose(in[0], axes.empty() ? Array<PrimExpr>(nullptr) : int_array(axes))};
}

}  // namespace

Rows shape_rows() {
  return {
      {"Concat", 1, concat},    {"Constant", 1, constant},    {"Flatten", 1, flatten},
      {"Reshape", 1, reshaped}, {"Transpose", 1, transposed},
  };
}

}  // namespace tessera::onnx

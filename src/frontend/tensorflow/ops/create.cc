// Tensors that are made from nothing, or from shapes.

#include "frontend/common/parts.h"
#include "frontend/tensorflow/operation.h"
#include "frontend/tensorflow/shapes.h"
#include "relay/attrs/random.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"
#include "runtime/function/shape_functions.h"

namespace tessera::tensorflow {

using namespace relay;  // NOLINT: makers of calls

Expr full_of(const NodeContext& in, const Expr& scalar, const Expr& shape) {
  const DataType dtype = in.dtype(scalar);
  Expr value = in.rank(scalar) == 0 ? scalar : relay::reshape(scalar, Array<PrimExpr>());
  if (std::optional<std::vector<int64_t>> known = in.constant_ints(shape)) {
    for (int64_t extent : *known)
      if (extent < 0) in.invalid("the shape has the extent " + std::to_string(extent));
    if (known->empty()) return value;
    return call_op("full", {value}, make_attrs<InitOpAttrs>([&](auto& attrs) {
                     attrs.shape = int_array(*known);
                     attrs.dtype = dtype;
                   }));
  }
  return call_op("dyn.full", {value, shape}, make_attrs<InitOpAttrs>([&](auto& attrs) { attrs.dtype = dtype; }));
}

Expr range_of(const NodeContext& in, const Expr& start, const Expr& stop, const Expr& step) {
  const DataType dtype = in.dtype(start);
  std::optional<NDArray> first = in.constant(start), last = in.constant(stop), by = in.constant(step);
  if (first && last && by) {
    if (first->size() != 1 || last->size() != 1 || by->size() != 1)
      in.invalid("start, limit and delta are one number each");
    const int64_t count = arange_count(first->tensor(), last->tensor(), by->tensor());
    constexpr int64_t kMaxFolded = 1 << 20;
    if (count < kMaxFolded) {
      NDArray out = NDArray::empty(std::span(&count, 1), dtype);
      for (int64_t i = 0; i < count; ++i) {
        char* at = out.data<char>() + i * int64_t(dtype.bytes());
        if (dtype.is_floating())
          write_float(
              dtype,
              read_float(dtype, first->data<char>()) + static_cast<double>(i) * read_float(dtype, by->data<char>()),
              at);
        else write_int(dtype, read_int(dtype, first->data<char>()) + i * read_int(dtype, by->data<char>()), at);
      }
      return make_constant(out);
    }
  }
  return call_op("arange", {start, stop, step}, make_attrs<ArangeAttrs>([&](auto& attrs) {
                   attrs.start = start;
                   attrs.stop = stop;
                   attrs.step = step;
                   attrs.dtype = dtype;
                 }));
}

namespace {

Values constant(Operation& in) {
  const Attribute* value = in.find("value");
  if (!value || !value->tensor) throw Error(OpAttributeRequired) << in.title() << ": the attribute value is missing";
  return {*value->tensor};
}

Values fill(Operation& in) { return {full_of(in, in[1], in[0])}; }
Values empty_op(Operation& in) { return {full_of(in, make_scalar(0, in.type("dtype", DataType::Float(32))), in[0])}; }

Values range_op(Operation& in) { return {range_of(in, in.scalar(0), in.scalar(1), in.scalar(2))}; }

Values lin_space(Operation& in) {
  const int64_t count = in.ints(2, "the number of elements")[0];
  const DataType dtype = in.dtype(in[0]);
  if (count < 1 || count > (1 << 24)) in.invalid(std::to_string(count) + " elements");
  std::vector<double> steps;
  for (int64_t i = 0; i < count; ++i)
    steps.push_back(count == 1 ? 0 : static_cast<double>(i) / static_cast<double>(count - 1));
  Expr part = numbers_of(steps, {count}, dtype);
  return {add(in.scalar(0), multiply(subtract(in.scalar(1), in.scalar(0)), part))};
}

Values zeros_like_op(Operation& in) { return {zeros_like(in[0])}; }
Values ones_like_op(Operation& in) { return {ones_like(in[0])}; }

/// A matrix with the last dimension of the input as its diagonal.
Values matrix_diag(Operation& in) {
  const size_t rank = in.rank(in[0]);
  const int64_t* extent = rank ? as_int(in.shape(in[0])[rank - 1]) : nullptr;
  if (!extent) in.unknown("the length of the diagonal must be known", in[0]);
  NDArray eye = NDArray::empty(std::vector<int64_t>{*extent, *extent}, DataType::Bool());
  for (int64_t i = 0; i < *extent * *extent; ++i) eye.data<uint8_t>()[i] = i % (*extent + 1) == 0;
  Expr wide = expand_dims(in[0], static_cast<int>(rank) - 1);
  return {where(make_constant(eye), wide, make_scalar(0, in.dtype(in[0])))};
}

Expr random_key(Operation& in) {
  const int64_t seed = in.integer("seed", 0) ^ (in.integer("seed2", 0) << 1) ^ 0x5eed;
  NDArray key = NDArray::empty(std::vector<int64_t>{10}, DataType::UInt(64));
  std::fill_n(key.data<uint64_t>(), 10, uint64_t{0});
  key.data<uint64_t>()[1] = static_cast<uint64_t>(seed);
  return make_constant(key);
}

/// Random numbers follow the distribution; they are not those of TensorFlow's generator.
Values random_uniform(Operation& in) {
  Ints shape = in.ints(0, "the shape of random numbers");
  const DataType dtype = in.type("dtype", DataType::Float(32));
  Expr pair = call_op("random.uniform", {random_key(in), make_scalar(0, dtype), make_scalar(1, dtype)},
                      make_attrs<UniformAttrs>([&](auto& attrs) {
                        attrs.out_shape = int_array(shape);
                        attrs.out_dtype = dtype;
                      }));
  return {make_get_item(pair, 1)};
}
Values random_normal(Operation& in) {
  Ints shape = in.ints(0, "the shape of random numbers");
  const DataType dtype = in.type("dtype", DataType::Float(32));
  Expr pair = call_op("random.normal", {random_key(in), make_scalar(0, dtype), make_scalar(1, dtype)},
                      make_attrs<NormalAttrs>([&](auto& attrs) {
                        attrs.out_shape = int_array(shape);
                        attrs.out_dtype = dtype;
                      }));
  return {make_get_item(pair, 1)};
}

}  // namespace

Rows create_rows() {
  return {
      {"Const", constant},
      {"Empty", empty_op},
      {"Fill", fill},
      {"LinSpace", lin_space},
      {"MatrixDiag", matrix_diag},
      {"OnesLike", ones_like_op},
      {"RandomStandardNormal", random_normal},
      {"RandomUniform", random_uniform},
      {"Range", range_op},
      {"ZerosLike", zeros_like_op},
  };
}

}  // namespace tessera::tensorflow

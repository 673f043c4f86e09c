#include "frontend/onnx/tensor_ops/checked_indices.h"

#include "ir/prim/ops.h"
#include "relay/attrs/index.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::onnx {

using namespace relay;  // NOLINT: makers of calls

std::string run_time_name(const Operation& in) {
  constexpr size_t kMaxLength = 200;  // it is a text in the compiled program
  const Node& node = in.node();
  std::string_view own = node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
  return in.name() + " node \"" + std::string(own.substr(0, kMaxLength)) + "\"";
}

CheckedIndices checked_indices(const Operation& in, const Expr& indices, const Expr& data, int axis) {
  CheckedIndices out{indices, run_time_name(in)};
  const int64_t* extent = as_int(in.shape(data)[static_cast<size_t>(axis)]);
  auto* known = indices.as<Constant>();
  DataType dtype = in.dtype(indices);
  if (!extent || !known || !dtype.is_integral()) return out;
  NDArray wrapped = NDArray::empty(known->data.shape(), dtype);
  for (int64_t i = 0; i < wrapped.size(); ++i) {
    int64_t offset = i * int64_t(dtype.bytes()), index = read_int(dtype, known->data.data<char>() + offset);
    if (index < -*extent || index >= *extent) return out;
    write_int(dtype, index < 0 ? index + *extent : index, wrapped.data<char>() + offset);
  }
  return {make_constant(wrapped), nullptr};
}

Expr checked_take(const Operation& in, const Expr& x, const Expr& given, int axis) {
  CheckedIndices indices = checked_indices(in, given, x, axis);
  return call_op("take", {x, indices.indices}, make_attrs<TakeAttrs>([&](auto& attrs) {
                   attrs.axis = PrimExpr(axis);
                   attrs.checked_as = indices.checked_as;
                 }));
}

}  // namespace tessera::onnx

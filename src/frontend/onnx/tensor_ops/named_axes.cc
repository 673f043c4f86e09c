#include "frontend/onnx/tensor_ops/named_axes.h"

#include "frontend/common/parts.h"
#include "frontend/onnx/scope.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::onnx {

using namespace relay;  // NOLINT: makers of calls

std::vector<int64_t> counted(size_t count) {
  std::vector<int64_t> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<int64_t>(i);
  return out;
}

Expr counted_from_front(Operation& in, const Expr& axes, size_t rank) {
  const DataType dtype = DataType::Int(64);
  Expr given = cast_if_needed(in, axes, dtype), count = make_constant(int_scalar(static_cast<int64_t>(rank), dtype));
  if (in.rank(given) == 0) given = reshape(given, int_array({1}));
  return where(less(given, make_constant(int_scalar(0, dtype))), add(given, count), given);
}

}  // namespace tessera::onnx

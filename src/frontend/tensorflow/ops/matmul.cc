// Matmuls and einsum.

#include "frontend/common/parts.h"
#include "frontend/tensorflow/operation.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::tensorflow {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr transposed_if(Operation& in, const Expr& x, bool is_transposed) {
  if (!is_transposed) return x;
  const size_t rank = in.rank(x);
  if (rank < 2) in.invalid("an operand that is no matrix");
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[rank - 1], order[rank - 2]);
  return transpose(x, int_array(order));
}

/// The attributes that say what is transposed have other names in batches.
Values matmul_op(Operation& in) {
  const bool a = in.flag("transpose_a") || in.flag("adj_x"), b = in.flag("transpose_b") || in.flag("adj_y");
  if (in.rank(in[0]) < 2 || in.rank(in[1]) < 2) in.invalid("an operand that is no matrix");
  DataType out = in.type("Tout", in.dtype(in[0]));
  Expr x = transposed_if(in, in[0], a), y = transposed_if(in, in[1], b);
  return {matmul_like_numpy(in, x, y, out == in.dtype(in[0]) ? DataType::Void() : out)};
}

Values einsum_op(Operation& in) {
  std::string equation = in.text("equation", "");
  if (equation.empty()) in.invalid("the equation is missing");
  return {call_op("einsum", {make_tuple(in.tensors())},
                  make_attrs<EinsumAttrs>([&](auto& attrs) { attrs.equation = equation; }))};
}

}  // namespace

Rows matmul_rows() {
  return {
      {"BatchMatMul", matmul_op}, {"BatchMatMulV2", matmul_op}, {"BatchMatMulV3", matmul_op},
      {"Einsum", einsum_op},      {"MatMul", matmul_op},
  };
}

}  // namespace tessera::tensorflow

// Matmuls.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/promote.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// data (..., k) by a weight (n, k).
Expr linear_by(const Operation& in, const Expr& x, const Expr& weight) {
  if (in.rank(weight) == 1) return matmul_like_numpy(in, x, weight);
  const size_t rank = in.rank(x);
  DataType dtype = in.dtype(x);
  const bool is_short = is_float(dtype) && dtype.bits == 16;
  Expr data = rank == 1 ? expand_dims(x, 0) : x;
  Expr out = call_op("nn.dense", {data, weight}, make_attrs<DenseAttrs>([&](auto& attrs) {
                       attrs.units = in.shape(weight)[0];
                       if (is_short) attrs.out_dtype = DataType::Float(32);
                     }));
  if (is_short) out = cast(out, dtype);
  return rank == 1 ? squeeze(out, int_array({0})) : out;
}

Values linear_of(Operation& in) {
  Expr out = linear_by(in, in[0], in["weight"]);
  return {in.has("bias") ? add(out, in["bias"]) : out};
}
Values matmul_of(Operation& in) { return {matmul_like_numpy(in, in[0], in[1])}; }

Expr scaled_by(const Operation& in, const Expr& x, std::string_view name) {
  if (!in.has(name) || in.number(name) == 1) return x;
  return multiply(x, as_type(in, in.value(name), in.dtype(x)));
}

/// beta * self + alpha * (a @ b), a batch of them summed up for addbmm.
Converter added_matmul(bool sums_batch) {
  return [sums_batch](Operation& in) {
    Expr out = matmul_like_numpy(in, in[1], in[2]);
    if (sums_batch) out = sum(out, int_array({0}));
    out = scaled_by(in, out, "alpha");
    if (in.has("beta") && in.number("beta") == 0) return Values{out};
    return Values{add(scaled_by(in, in[0], "beta"), out)};
  };
}
Values outer_of(Operation& in) { return {multiply(expand_dims(in[0], 1), expand_dims(in[1], 0))}; }

Values einsum_of(Operation& in) {
  std::vector<Expr> operands = in.tensors("tensors");
  std::string equation = in.text("equation", "");
  std::erase(equation, ' ');
  return {onnx::apply(in, "Einsum", operands, {{"equation", equation}})};
}

Values bilinear_of(Operation& in) {
  // out[.., o] = sum over i, j of a[.., i] * w[o, i, j] * b[.., j]
  Expr a = in[0], b = in[1], weight = in["weight"];
  Expr part = onnx::apply(in, "Einsum", {a, weight}, {{"equation", "...i,oij->...oj"}});
  Expr out = sum(multiply(part, expand_dims(b, static_cast<int>(in.rank(b)) - 1)), int_array({-1}));
  return {in.has("bias") ? add(out, in["bias"]) : out};
}

}  // namespace

Rows linear_rows() {
  return {
      {"aten::addbmm", added_matmul(true)},
      {"aten::addmm", added_matmul(false)},
      {"aten::addmv", added_matmul(false)},
      {"aten::baddbmm", added_matmul(false)},
      {"aten::bilinear", bilinear_of},
      {"aten::bmm", matmul_of},
      {"aten::dot", matmul_of},
      {"aten::einsum", einsum_of},
      {"aten::linear", linear_of},
      {"aten::matmul", matmul_of},
      {"aten::mm", matmul_of},
      {"aten::mv", matmul_of},
      {"aten::outer", outer_of},
  };
}

}  // namespace tessera::torch

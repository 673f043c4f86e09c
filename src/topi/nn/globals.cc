// Functions that Python calls with more than an operator's attributes say: a bias, a border's value, names.

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "topi/nn/matmul.h"
#include "topi/nn/pad.h"
#include "topi/operand.h"

namespace tessera::topi {
namespace {

te::Tensor scale_shift(const te::Tensor& x, const te::Tensor& scale, const te::Tensor& shift,
                       const Array<PrimExpr>& axes) {
  return compute(
      x->shape, "i",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> channel;
        for (const PrimExpr& axis : axes) channel.push_back(at[static_cast<size_t>(*as_int(axis))]);
        return te::load(x, at) * te::load(scale, channel) + te::load(shift, channel);
      },
      "ScaleShift", kBroadcast);
}

te::Tensor mirror_pad(const te::Tensor& data, const Array<PrimExpr>& before, const Array<PrimExpr>& after,
                      const String& mode, const String& name) {
  if (mode != "SYMMETRIC" && mode != "REFLECT")
    throw Error(ValueError) << "mirror_pad: mode is " << mode << ", but must be SYMMETRIC or REFLECT";
  return border_pad(data, before, after, mode == "REFLECT" ? Border::Reflect : Border::Symmetric, name);
}

Globals nn_globals{
    {"topi.nn_matmul",
     [](te::Tensor a, te::Tensor b, te::Tensor bias, DataType dtype, bool transpose_a, bool transpose_b,
        bool is_dense) { return matmul(a, b, bias, {transpose_a, transpose_b, dtype}, is_dense); }},
    {"topi.nn_dense_pack", [](te::Tensor data, te::Tensor weight, te::Tensor bias,
                              DataType out_dtype) { return dense_pack(data, weight, bias, out_dtype); }},
    {"topi.nn_scale_shift", scale_shift},
    {"topi.nn_pad", [](te::Tensor data, Array<PrimExpr> before, Array<PrimExpr> after, PrimExpr value,
                       String name) { return pad(data, before, after, value, name); }},
    {"topi.nn_mirror_pad", mirror_pad},
    {"topi.nn_dilate", dilate},
};

}  // namespace
}  // namespace tessera::topi

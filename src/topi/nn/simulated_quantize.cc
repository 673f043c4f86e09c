#include "topi/nn/simulated_quantize.h"

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "topi/operand.h"

namespace tessera::topi {
namespace {

struct Simulated {
  int code;
  double low, high;
};
constexpr Simulated kTypes[] = {{1, -128, 127}, {2, 0, 255}, {3, -2147483648.0, 2147483647.0}};

/// A tensor's one element, or that of the index along the axis.
PrimExpr part_at(const te::Tensor& part, const Array<PrimExpr>& at, int axis) {
  if (part->shape.empty()) return te::load(part, {});
  if (is_one(part->shape[0]) || at.empty()) return te::load(part, {PrimExpr(0)});
  const size_t dimension = static_cast<size_t>(axis < 0 ? axis + static_cast<int>(at.size()) : axis);
  if (as_int(part->shape[0])) return te::load(part, {at[dimension]});
  return te::load(part, {min(at[dimension], part->shape[0] - 1)});  // one for all, or one for each: known at run time
}

PrimExpr code_of(const te::Tensor& code) { return te::load(code, Array<PrimExpr>(code->shape.size(), PrimExpr(0))); }

}  // namespace

te::Tensor simulated_quantize(const te::Tensor& data, const te::Tensor& code, const te::Tensor& scale,
                              const te::Tensor& zero, int axis) {
  return compute(
      data->shape, "i",
      [&](const Array<PrimExpr>& at) {
        PrimExpr x = te::load(data, at), wanted = code_of(code);
        PrimExpr moved = round(div(x, part_at(scale, at, axis))) + cast(x.dtype(), part_at(zero, at, axis));
        PrimExpr out = x;
        for (const Simulated& type : kTypes) {
          PrimExpr clipped = max(min(moved, make_const(x.dtype(), type.high)), make_const(x.dtype(), type.low));
          out = select(equal(wanted, make_const(wanted.dtype(), type.code)), clipped, out);
        }
        return out;
      },
      "simulated_quantize", kElementwise);
}

te::Tensor simulated_dequantize(const te::Tensor& data, const te::Tensor& code, const te::Tensor& scale,
                                const te::Tensor& zero, int axis) {
  return compute(
      data->shape, "i",
      [&](const Array<PrimExpr>& at) {
        PrimExpr x = te::load(data, at), wanted = code_of(code);
        PrimExpr real = (x - cast(x.dtype(), part_at(zero, at, axis))) * part_at(scale, at, axis);
        return select(equal(wanted, make_zero(wanted.dtype())), x, real);
      },
      "simulated_dequantize", kElementwise);
}

static Globals simulated_quantize_globals{
    {"topi.nn_simulated_quantize", simulated_quantize},
    {"topi.nn_simulated_dequantize", simulated_dequantize},
};

}  // namespace tessera::topi

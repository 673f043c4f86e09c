#include "topi/nn/matmul_nbits.h"

#include "ir/prim/ops.h"
#include "te/reduce.h"
#include "topi/elementwise.h"
#include "topi/nn/axes.h"

namespace tessera::topi {

te::Tensor matmul_nbits(const NBitsMatmul& matmul) {
  auto count = [](int64_t value) { return PrimExpr(static_cast<int>(value)); };
  const te::Tensor& data = matmul.data;
  const DataType byte = matmul.weight->dtype, sum = DataType::Float(32);
  IterVar reduced = reduce_over("k", data->shape.back());
  Array<IterVar> axes;
  Array<PrimExpr> at;
  for (size_t i = 0; i + 1 < data->shape.size(); ++i) {
    axes.push_back(data_axis("i" + std::to_string(i), data->shape[i]));
    at.push_back(axes.back()->var);
  }
  axes.push_back(data_axis("j", count(matmul.units)));
  const PrimExpr k = tessera::cast(DataType::Int(32), reduced->var), unit = axes.back()->var;
  at.push_back(reduced->var);
  const PrimExpr panel = floordiv(unit, count(NBitsMatmul::kPanel)), lane = floormod(unit, count(NBitsMatmul::kPanel));
  const PrimExpr in_step = floormod(k, count(matmul.per_step())), block = floordiv(k, count(matmul.block));
  const PrimExpr in_lane = floormod(in_step, count(NBitsMatmul::kLaneBytes));
  const PrimExpr shift = floordiv(in_step, count(NBitsMatmul::kLaneBytes)) * count(matmul.bits);
  const PrimExpr packed = te::load(
      matmul.weight, {panel, floordiv(k, count(matmul.per_step())), lane * count(NBitsMatmul::kLaneBytes) + in_lane});
  const PrimExpr integer = (packed >> tessera::cast(byte, shift)) & make_const(byte, matmul.mask());
  const bool has_one_zero = is_one(matmul.zero->shape[2]);
  const PrimExpr none = count(0);
  const PrimExpr zero =
      te::load(matmul.zero, has_one_zero ? Array<PrimExpr>{none, none, none} : Array<PrimExpr>{panel, block, lane});
  const PrimExpr scale = te::load(matmul.scale, {panel, block, lane});
  const PrimExpr weight = (tessera::cast(sum, integer) - tessera::cast(sum, zero)) * tessera::cast(sum, scale);
  const PrimExpr element = te::sum(tessera::cast(sum, te::load(data, at)) * weight, {reduced});
  te::Tensor out = te::output(te::compute_op("matmul_nbits", "matmul_nbits", {}, axes, {element}), 0);
  return out->dtype == data->dtype ? out : topi::cast(out, data->dtype);
}

}  // namespace tessera::topi

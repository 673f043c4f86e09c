// Constant weights of nn.dense and nn.matmul in the panels that matmuls on CPUs read (topi/cpu/contraction/matmul.h).

#include "op/nn/pack_weight.h"
#include "ir/prim/ops.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pad.h"
#include "relay/make.h"
#include "te/tensor.h"
#include "topi/cpu/contraction/matmul_plan.h"

namespace tessera::op {
namespace {

using relay::Expr;

/// The product of the extents but the last; kDynamic where one is not known.
int64_t rows_of(const Array<PrimExpr>& shape) {
  int64_t out = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) {
    const int64_t* extent = as_int(shape[i]);
    if (!extent) return topi::kDynamic;
    out *= *extent;
  }
  return out;
}

}  // namespace

/// nn.dense(x, constant) => nn.contrib_dense_pack(x, layout_transform(constant, "NK", "NK32n")), folded later on.
Expr pack_weight(const Attrs& attrs, const Array<Expr>& args, const Array<ObjectRef>& placeholders, const Type& type,
                 const relay::GraphEnvironment& environment) {
  if (!environment.is_for_cpu() || !args[1].as<relay::Constant>()) return nullptr;
  auto data_type = downcast<te::Tensor>(placeholders[0]), weight_type = downcast<te::Tensor>(placeholders[1]);
  auto* matmul = attrs.as<relay::MatmulAttrs>();
  if ((matmul && matmul->transpose_a) || weight_type->shape.size() != 2) return nullptr;
  const bool by_rows = !matmul || matmul->transpose_b;
  const int64_t *units = as_int(weight_type->shape[by_rows ? 0 : 1]),
                *depth = as_int(weight_type->shape[by_rows ? 1 : 0]);
  if (!units || !depth) return nullptr;
  const DataType dtype = type.as<TensorTypeNode>()->dtype;
  auto panels = topi::plan_panels(topi::machine_of(environment.target), data_type->dtype, weight_type->dtype, dtype,
                                  rows_of(data_type->shape), *units, *depth);
  if (!panels) return nullptr;
  Expr data = args[0];
  // Where only the weight says how long rows are: reshaping data of another extent is an error.
  if (!as_int(data_type->shape.back())) {
    Array<PrimExpr> same(data_type->shape.size(), PrimExpr(0));
    same.set(same.size() - 1, PrimExpr(static_cast<int>(*depth)));
    data = relay::reshape(data, same);
  }
  Expr weight = args[1];
  auto missing = [](int64_t extent, int64_t unit) { return static_cast<int>((unit - extent % unit) % unit); };
  if (missing(*units, panels->width) || missing(*depth, panels->group)) {
    const Array<PrimExpr> more_n{0, missing(*units, panels->width)}, more_k{0, missing(*depth, panels->group)};
    const Array<Array<PrimExpr>> widths{by_rows ? more_n : more_k, by_rows ? more_k : more_n};
    weight = relay::call_op("nn.pad", {weight, relay::make_scalar(0, weight_type->dtype)},
                            relay::make_attrs<relay::PadAttrs>([&](auto& pad) { pad.pad_width = widths; }));
  }
  std::string layout = "NK" + std::to_string(panels->width) + "n";
  if (panels->group > 1) layout += std::to_string(panels->group) + "k";
  weight = relay::layout_transform(weight, by_rows ? "NK" : "KN", layout);
  return relay::call_op("nn.contrib_dense_pack", {data, weight},
                        relay::make_attrs<relay::DensePackAttrs>([&](auto& packed) {
                          packed.units = PrimExpr(static_cast<int>(*units));
                          packed.out_dtype = dtype;
                          packed.weight_layout = layout;
                        }));
}

}  // namespace tessera::op

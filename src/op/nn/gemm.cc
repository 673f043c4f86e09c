// Matmuls with constant weights on processors with micro-kernels (topi/cpu/contraction/gemm.h): another implementation of
// nn.contrib_dense_pack, and weights of nn.dense and nn.matmul in the panels that it reads. Products of two inputs are
// found in programs of blocks (topi/cpu/contraction/matmul.h).

#include "topi/cpu/contraction/gemm.h"
#include "ir/prim/ops.h"
#include "op/nn/cpu_implementations.h"
#include "op/records.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pad.h"
#include "relay/make.h"
#include "relay/strategy.h"

namespace tessera::op {
namespace {

using relay::Expr;
using topi::GemmSize;
using topi::Machine;
using topi::MatrixProduct;

constexpr int kLevel = 15;  // before an operator's own compute

/// The product of a packed weight; nothing where its blocks are not as its micro-kernel reads them.
std::optional<MatrixProduct> product_of(const Array<te::Tensor>& inputs, const Type& type, const Machine& machine) {
  auto* result = type.as<TensorTypeNode>();
  MatrixProduct out{.a = inputs[0], .b = inputs[1], .out_dtype = result->dtype};
  const int64_t* units = as_int(result->shape.back());
  if (!units || out.b->shape.size() < 3 || !as_int(out.b->shape[2])) return {};
  out.units = *units;
  std::optional<GemmSize> size = topi::gemm_size(out, machine);
  if (!size || out.b->shape.size() != (size->group > 1 ? 4 : 3)) return {};
  const int64_t block = topi::gemm_tiles(machine, size->m, size->n, size->k, out.a->dtype, 1, out.b->dtype)->nr;
  return block == *as_int(out.b->shape[2]) ? std::optional(out) : std::nullopt;
}

void offer_gemm(const relay::OpStrategy& strategy, const Attrs&, const Array<te::Tensor>& inputs, const Type& type,
                const Target& target) {
  if (!target || target->kind->name != "llvm") return;
  Machine machine = topi::machine_of(target);
  if (!product_of(inputs, type, machine)) return;
  auto compute = [machine](Attrs, Array<te::Tensor> inputs, Type type) {
    MatrixProduct product = *product_of(inputs, type, machine);
    GemmSize size = *topi::gemm_size(product, machine);
    return Array<te::Tensor>{topi::gemm(product, size, topi::gemm_tiles_of(product, size, machine))};
  };
  auto schedule = [](Attrs, Array<te::Tensor> outs, Target target) { return topi::schedule_gemm(outs, target); };
  relay::add_implementation(strategy, typed("gemm", compute), typed("schedule_gemm", schedule), "gemm.cpu", kLevel);
}

}  // namespace

/// nn.dense(x, constant) => nn.contrib_dense_pack(x, layout_transform(constant, "NK", "NK32n")), folded later on.
Expr pack_weight(const Attrs& attrs, const Array<Expr>& args, const Array<ObjectRef>& placeholders, const Type& type,
                 const relay::GraphEnvironment& environment) {
  if (!environment.is_for_cpu() || !args[1].as<relay::Constant>()) return nullptr;
  Machine machine = topi::machine_of(environment.target);
  Array<te::Tensor> inputs{downcast<te::Tensor>(placeholders[0]), downcast<te::Tensor>(placeholders[1])};
  DataType dtype = type.as<TensorTypeNode>()->dtype;
  auto* matmul = attrs.as<relay::MatmulAttrs>();
  if ((matmul && matmul->transpose_a) || inputs[1]->shape.size() != 2) return nullptr;
  MatrixProduct product{.a = inputs[0], .b = inputs[1], .out_dtype = dtype};  // only extents are asked for
  if (matmul && !matmul->transpose_b)
    product.b = te::placeholder({inputs[1]->shape[1], inputs[1]->shape[0]}, inputs[1]->dtype, "b");
  const int64_t *units = as_int(product.b->shape[0]), *depth = as_int(product.b->shape[1]);
  if (!units || !depth) return nullptr;
  product.units = *units;
  Expr data = args[0];
  // Where only the weight says how long rows are: reshaping data of another extent is an error.
  if (!as_int(inputs[0]->shape.back())) {
    Array<PrimExpr> shape = inputs[0]->shape, same(shape.size(), PrimExpr(0));
    shape.set(shape.size() - 1, PrimExpr(static_cast<int>(*depth)));
    same.set(shape.size() - 1, PrimExpr(static_cast<int>(*depth)));
    product.a = te::placeholder(shape, inputs[0]->dtype, "a");
    data = relay::reshape(data, same);
  }
  std::optional<GemmSize> size = topi::gemm_size(product, machine);
  if (!size) return nullptr;
  const int64_t block = topi::gemm_tiles(machine, size->m, size->n, size->k, inputs[0]->dtype, 1, inputs[1]->dtype)->nr;
  const bool by_rows = attrs.as<relay::DenseAttrs>() || attrs.as<relay::MatmulAttrs>()->transpose_b;
  Expr weight = args[1];
  auto missing = [](int64_t extent, int64_t unit) { return static_cast<int>((unit - extent % unit) % unit); };
  if (missing(size->n, block) || missing(size->k, size->group)) {
    const Array<PrimExpr> more_n{0, missing(size->n, block)}, more_k{0, missing(size->k, size->group)};
    const Array<Array<PrimExpr>> widths{by_rows ? more_n : more_k, by_rows ? more_k : more_n};
    weight = relay::call_op("nn.pad", {weight, relay::make_scalar(0, inputs[1]->dtype)},
                            relay::make_attrs<relay::PadAttrs>([&](auto& pad) { pad.pad_width = widths; }));
  }
  std::string layout = "NK" + std::to_string(block) + "n";
  if (size->group > 1) layout += std::to_string(size->group) + "k";
  weight = relay::layout_transform(weight, by_rows ? "NK" : "KN", layout);
  return relay::call_op("nn.contrib_dense_pack", {data, weight},
                        relay::make_attrs<relay::DensePackAttrs>([&](auto& packed) {
                          packed.units = PrimExpr(static_cast<int>(size->n));
                          packed.out_dtype = dtype;
                          packed.weight_layout = layout;
                        }));
}

static void gemm_implementations() {
  Op::get("nn.contrib_dense_pack").set(relay::kMoreImplementations, Any(typed("gemm.cpu", offer_gemm)));
}

[[gnu::init_priority(kFamilies)]] static const OpFamily gemm_implementation_family{gemm_implementations,
                                                                                   FillOrder::MoreSlots};

}  // namespace tessera::op

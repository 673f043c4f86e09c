// Matmuls: nn.dense, nn.matmul, nn.batch_matmul, nn.contrib_dense_pack.

#include "topi/nn/matmul.h"
#include "ir/prim/ops.h"
#include "op/layer_channels.h"
#include "op/layout_rules.h"
#include "op/nn/gradients.h"
#include "op/nn/pack_weight.h"
#include "op/qnn/quantized_forms.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/nn.h"

namespace tessera::op {
namespace {

using relay::BatchMatmulAttrs;
using relay::DenseAttrs;
using relay::DensePackAttrs;
using relay::MatmulAttrs;
using relay::may_equal;

/// What the attributes of a matmul say; a linear layer has its second operand transposed.
struct MatmulForm {
  PrimExpr units;
  DataType out_dtype;
  bool transpose_a = false, transpose_b = true;
};
MatmulForm form_of(const Attrs& attrs) {
  if (auto* dense = attrs.as<DenseAttrs>()) return {dense->units, dense->out_dtype};
  if (auto* matmul = attrs.as<MatmulAttrs>())
    return {matmul->units, matmul->out_dtype, matmul->transpose_a, matmul->transpose_b};
  throw Error(TypeError) << "the call has no attributes of a matmul";
}

DataType result_dtype(DataType wanted, DataType a, DataType b) {
  if (!wanted.is_void()) return wanted;
  return b.bits > a.bits ? b : a;
}

/// a (..., k), b (units, k) or (k, units) -> (..., units). An operand b of unknown type gets it from `units`.
bool matmul_type(TypeQuery& query) {
  auto* a = query.tensor(0);
  if (!a) return false;
  MatmulForm form = form_of(query.attrs());
  size_t rank = a->shape.size();
  if (rank < (form.transpose_a ? 2 : 1))
    throw Error(TypeError) << "data must have at least " << (form.transpose_a ? "two dimensions" : "one dimension")
                           << ", but is " << to_text(query.type(0));
  PrimExpr depth = a->shape[rank - (form.transpose_a ? 2 : 1)], units = form.units;
  DataType out_dtype = result_dtype(form.out_dtype, a->dtype, a->dtype);
  if (auto* b = query.tensor(1)) {
    if (b->shape.size() != 2)
      throw Error(TypeError) << "weight must have two dimensions (" << (form.transpose_b ? "units, k" : "k, units")
                             << "), but is " << to_text(query.type(1));
    const PrimExpr &rows = b->shape[form.transpose_b ? 0 : 1], &columns = b->shape[form.transpose_b ? 1 : 0];
    if (!may_equal(depth, columns))
      throw Error(TypeError) << "data and weight disagree about k: data is " << to_text(query.type(0)) << ", weight is "
                             << to_text(query.type(1)) << "; " << depth << " is not " << columns;
    if (units && !may_equal(units, rows))
      throw Error(TypeError) << "units is " << units << ", but weight has " << rows
                             << (form.transpose_b ? " rows" : " columns");
    if (!units) units = rows;
    out_dtype = result_dtype(form.out_dtype, a->dtype, b->dtype);
  } else {
    if (!units) return false;
    Array<PrimExpr> shape = form.transpose_b ? Array<PrimExpr>{units, depth} : Array<PrimExpr>{depth, units};
    query.argument(1, TensorType(shape, a->dtype));
  }
  Array<PrimExpr> shape = a->shape;
  if (form.transpose_a) shape.set(rank - 2, a->shape[rank - 1]);
  shape.set(rank - 1, units);
  query.result(TensorType(shape, out_dtype));
  return true;
}

template <bool is_dense>
Array<te::Tensor> matmul(const Attrs& attrs, const Array<te::Tensor>& in, const Type& out) {
  MatmulForm form = form_of(attrs);
  topi::MatmulOptions options{form.transpose_a, form.transpose_b, out.as<TensorTypeNode>()->dtype};
  return {topi::matmul(in[0], in[1], {}, options, is_dense)};
}

/// (b, m, k) times (b, k, n), either with its matrices transposed; a batch of one is repeated.
bool batch_matmul_type(TypeQuery& query) {
  auto *x = query.tensor(0), *y = query.tensor(1);
  if (!x || !y) return false;
  auto* attrs = query.attrs_as<BatchMatmulAttrs>();
  for (int i = 0; i < 2; ++i)
    if (query.tensor(i)->shape.size() != 3)
      throw Error(TypeError) << "argument " << i << " must have three dimensions (batch, rows, columns), but is "
                             << to_text(query.type(i));
  const PrimExpr &depth = x->shape[attrs->transpose_a ? 1 : 2], &other = y->shape[attrs->transpose_b ? 2 : 1];
  if (!may_equal(depth, other))
    throw Error(TypeError) << "the operands disagree about k: they are " << to_text(query.type(0)) << " and "
                           << to_text(query.type(1)) << " with transpose_a " << attrs->transpose_a
                           << " and transpose_b " << attrs->transpose_b << "; " << depth << " is not " << other;
  PrimExpr batch = broadcast_type_shape({x->shape[0]}, {y->shape[0]})[0];
  query.result(TensorType({batch, x->shape[attrs->transpose_a ? 2 : 1], y->shape[attrs->transpose_b ? 1 : 2]},
                          result_dtype(attrs->out_dtype, x->dtype, y->dtype)));
  return true;
}

Array<te::Tensor> batch_matmul(const Attrs& given, const Array<te::Tensor>& in, const Type& out) {
  auto* attrs = given.as<BatchMatmulAttrs>();
  return {topi::batch_matmul(in[0], in[1], {attrs->transpose_a, attrs->transpose_b, out.as<TensorTypeNode>()->dtype})};
}

/// data (..., k), weight (units / block, k, block) or (units / block, k / inner, block, inner). `units` says how many there
/// are where the last block is filled up.
bool dense_pack_type(TypeQuery& query) {
  auto *data = query.tensor(0), *weight = query.tensor(1);
  if (!data || !weight) return false;
  auto* attrs = query.attrs_as<DensePackAttrs>();
  size_t rank = weight->shape.size();
  if (data->shape.empty() || (rank != 3 && rank != 4))
    throw Error(TypeError) << "data must have a dimension and a packed weight three or four, but they are "
                           << to_text(query.type(0)) << " and " << to_text(query.type(1));
  PrimExpr depth = rank == 4 ? weight->shape[1] * weight->shape[3] : weight->shape[1];
  // the last group may be filled up
  const int64_t *all = as_int(depth), *used = as_int(data->shape.back()), *group = as_int(weight->shape.back());
  const bool is_filled = rank == 4 && all && used && group && *used <= *all && *used > *all - *group;
  if (!is_filled && !may_equal(depth, data->shape.back()))
    throw Error(TypeError) << "data and weight disagree about k: data is " << to_text(query.type(0)) << ", weight is "
                           << to_text(query.type(1)) << "; " << data->shape.back() << " is not " << depth;
  Array<PrimExpr> shape = data->shape;
  shape.set(shape.size() - 1, weight->shape[0] * weight->shape[2]);
  const int64_t *units = attrs->units ? as_int(attrs->units) : nullptr, *room = as_int(shape.back());
  if (units && room && *units < *room && *units > *room - *as_int(weight->shape[2]))
    shape.set(shape.size() - 1, attrs->units);
  query.result(TensorType(shape, result_dtype(attrs->out_dtype, data->dtype, data->dtype)));
  return true;
}

Array<te::Tensor> dense_pack(const Attrs&, const Array<te::Tensor>& in, const Type& out) {
  auto* type = out.as<TensorTypeNode>();
  return {topi::dense_pack(in[0], in[1], {}, type->dtype, type->shape.back())};
}

}  // namespace

static void matmul_records() {
  OpRecord("nn.dense")
      .doc("Linear layer: out[..., n] = sum over k of data[..., k] * weight[n, k].")
      .attrs<DenseAttrs>()
      .input("data", "(..., k): activations", "nD Tensor")
      .input("weight", "(units, k): one row per output feature", "2D Tensor")
      .support_level(1)
      .type("Dense", matmul_type)
      .fusion(Fusion::OutputElementwise)
      .precision(Precision::Always)
      .quantized(quantized_dense)
      .layout(layout::dense)
      .channels(dense_channels)
      .takes_narrow_weight()
      .legalize(layout::legalize_matmul)
      .pack_weights(pack_weight)
      .compute(matmul<true>)
      .gradient(matmul_gradient);
  OpRecord("nn.matmul")
      .doc("Matmul with a matrix; either operand may be stored transposed.")
      .attrs<MatmulAttrs>()
      .input("tensor_a", "(..., m, k)", "nD Tensor")
      .input("tensor_b", "(k, units)", "2D Tensor")
      .support_level(1)
      .type("Matmul", matmul_type)
      .fusion(Fusion::OutputElementwise)
      .precision(Precision::Always)
      .takes_narrow_weight()
      .legalize(layout::legalize_matmul)
      .pack_weights(pack_weight)
      .compute(matmul<false>)
      .gradient(matmul_gradient);
  OpRecord("nn.batch_matmul")
      .doc("Matmuls of the matrices of two batches; either operand may be stored transposed.")
      .attrs<BatchMatmulAttrs>()
      .input("tensor_a", "(b, m, k)", "3D Tensor")
      .input("tensor_b", "(b, k, n)", "3D Tensor")
      .support_level(10)
      .type("BatchMatmul", batch_matmul_type)
      .fusion(Fusion::OutputElementwise)
      .precision(Precision::Always)
      .quantized(quantized_batch_matmul)
      .legalize(layout::legalize_batch_matmul)
      .compute(batch_matmul)
      .gradient(batch_matmul_gradient);
  OpRecord("nn.contrib_dense_pack")
      .doc("Linear layer whose weight lies in blocks of output features.")
      .attrs<DenseAttrs>()
      .input("data", "(..., k): activations", "nD Tensor")
      .input("weight", "(units / block, k, block)", "3D Tensor")
      .support_level(10)
      .type("DensePack", dense_pack_type)
      .fusion(Fusion::OutputElementwise)
      .strategy_name("dense_pack")
      .compute(dense_pack)
      .gradient(dense_pack_gradient);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily matmul_family{matmul_records};

}  // namespace tessera::op

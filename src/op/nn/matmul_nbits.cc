// Linear layers whose weights have a few bits.

#include "op/nn/matmul_nbits.h"

#include "ir/prim/ops.h"
#include "op/records.h"

namespace tessera::op {
namespace {

using relay::MatmulNBitsAttrs;
using topi::NBitsMatmul;

register_types<MatmulNBitsAttrs> matmul_nbits_attributes;

void require_shape(TypeQuery& query, int argument, const char* name, const std::vector<int64_t>& shape) {
  auto* tensor = query.tensor(argument);
  bool fits = tensor->shape.size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    const int64_t* extent = as_int(tensor->shape[i]);
    fits = extent && *extent == shape[i];
  }
  if (fits) return;
  std::string text;
  for (int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  throw Error(TypeError) << name << " must have the shape (" << text << "), but is " << to_text(query.type(argument));
}

bool matmul_nbits_type(TypeQuery& query) {
  for (int i = 0; i < 4; ++i)
    if (!query.tensor(i)) return false;
  auto* attrs = query.attrs_as<MatmulNBitsAttrs>();
  if (attrs->bits != 2 && attrs->bits != 4 && attrs->bits != 8)
    throw Error(TypeError) << "weights have 2, 4 or 8 bits, not " << attrs->bits;
  if (attrs->units < 1 || attrs->block_size < 1 || attrs->block_size % NBitsMatmul::kMinBlock)
    throw Error(TypeError) << "units must be positive and block_size a multiple of " << NBitsMatmul::kMinBlock
                           << ", but they are " << attrs->units << " and " << attrs->block_size;
  auto *data = query.tensor(0), *zero = query.tensor(3);
  const int64_t* k = data->shape.empty() ? nullptr : as_int(data->shape.back());
  if (!k || *k < 1 || *k % attrs->block_size)
    throw Error(TypeError) << "data must be (..., k), k a multiple of the block size " << attrs->block_size
                           << ", but is " << to_text(query.type(0));
  const DataType scale = query.tensor(2)->dtype;
  if (!data->dtype.is_floating() || !scale.is_floating() || query.tensor(1)->dtype != DataType::UInt(8) ||
      (zero->dtype != DataType::UInt(8) && !zero->dtype.is_floating()))
    throw Error(TypeError) << "data and scale must be floats, weight uint8 and zero uint8 or floats, but they are "
                           << data->dtype << ", " << scale << ", " << query.tensor(1)->dtype << " and " << zero->dtype;
  const int64_t panels = (attrs->units + NBitsMatmul::kPanel - 1) / NBitsMatmul::kPanel,
                blocks = *k / attrs->block_size;
  require_shape(query, 1, "weight", {panels, *k * attrs->bits / 32, NBitsMatmul::kPanel * NBitsMatmul::kLaneBytes});
  require_shape(query, 2, "scale", {panels, blocks, NBitsMatmul::kPanel});
  if (zero->shape.size() != 3 || !is_one(zero->shape[2]))
    require_shape(query, 3, "zero", {panels, blocks, NBitsMatmul::kPanel});
  else require_shape(query, 3, "zero", {1, 1, 1});
  Array<PrimExpr> shape = data->shape;
  shape.set(shape.size() - 1, PrimExpr(attrs->units));
  query.result(TensorType(shape, data->dtype));
  return true;
}

}  // namespace

NBitsMatmul nbits_matmul_of(const MatmulNBitsAttrs* attrs, const Tensors& inputs) {
  return {inputs[0], inputs[1], inputs[2], inputs[3], attrs->units, attrs->bits, attrs->block_size, attrs->int8_data};
}

static void matmul_nbits_records() {
  OpRecord("nn.matmul_nbits")
      .doc(
          "Linear layer whose weight has a few bits: out[..., n] = sum over k of data[..., k] * (weight[n, k] - zero) "
          "* "
          "scale, with a scale and a zero point for each block of neighbours along k. Columns lie in panels of 16, and "
          "each lane of 4 bytes holds 32 / bits neighbours along k of its column: byte b those at b, 4 + b, 8 + b, "
          "..., "
          "from its low bits on. With int8_data, data may be quantized to int8 block by block.")
      .attrs<MatmulNBitsAttrs>()
      .input("data", "(..., k): activations", "nD Tensor")
      .input("weight", "(ceildiv(units, 16), k * bits / 32, 64): uint8", "3D Tensor")
      .input("scale", "(ceildiv(units, 16), k / block_size, 16)", "3D Tensor")
      .input("zero", "as scale, or (1, 1, 1)", "3D Tensor")
      .support_level(10)
      .type("MatmulNBits", matmul_nbits_type)
      .fusion(Fusion::Opaque)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) -> Tensors {
        return {topi::matmul_nbits(nbits_matmul_of(attrs.as<MatmulNBitsAttrs>(), in))};
      });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily matmul_nbits_family{matmul_nbits_records};

}  // namespace tessera::op

// Layers of integers of few bits, packed in words: nn.bitpack, nn.bitserial_dense, nn.bitserial_conv2d.

#include "topi/nn/bitserial.h"

#include "ir/prim/ops.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/nn.h"
#include "topi/nn/conv.h"

namespace tessera::op {
namespace {

using relay::BitPackAttrs;

struct BinaryDenseAttrs : AttrsNode {
  PrimExpr units;  // empty: the weight says
  int32_t data_bits = 1, weight_bits = 1;
  DataType pack_dtype = DataType::Void(), out_dtype = DataType::Void();
  bool unipolar = true;
  static constexpr NodeInfo info{"relay.attrs.BinaryDenseAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("units", &BinaryDenseAttrs::units, Optional);
    f("data_bits", &BinaryDenseAttrs::data_bits);
    f("weight_bits", &BinaryDenseAttrs::weight_bits);
    f("pack_dtype", &BinaryDenseAttrs::pack_dtype);
    f("out_dtype", &BinaryDenseAttrs::out_dtype);
    f("unipolar", &BinaryDenseAttrs::unipolar);
  }
};

struct BinaryConv2DAttrs : AttrsNode {
  Array<PrimExpr> strides{1, 1}, padding{0, 0}, kernel_size{3, 3};
  PrimExpr channels;  // empty: the weight says
  int32_t activation_bits = 1, weight_bits = 1;
  String data_layout = "NCHW", kernel_layout = "OIHW";
  DataType pack_dtype = DataType::Void(), out_dtype = DataType::Void();
  bool unipolar = true;
  static constexpr NodeInfo info{"relay.attrs.BinaryConv2DAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("strides", &BinaryConv2DAttrs::strides);
    f("padding", &BinaryConv2DAttrs::padding);
    f("kernel_size", &BinaryConv2DAttrs::kernel_size);
    f("channels", &BinaryConv2DAttrs::channels, Optional);
    f("activation_bits", &BinaryConv2DAttrs::activation_bits);
    f("weight_bits", &BinaryConv2DAttrs::weight_bits);
    f("data_layout", &BinaryConv2DAttrs::data_layout);
    f("kernel_layout", &BinaryConv2DAttrs::kernel_layout);
    f("pack_dtype", &BinaryConv2DAttrs::pack_dtype);
    f("out_dtype", &BinaryConv2DAttrs::out_dtype);
    f("unipolar", &BinaryConv2DAttrs::unipolar);
  }
};
register_types<BinaryConv2DAttrs, BinaryDenseAttrs> bitserial_types;

DataType or_else(DataType given, DataType otherwise) { return given.is_void() ? otherwise : given; }

/// Bits are packed in unsigned words.
DataType words(DataType given) {
  DataType type = or_else(given, DataType::UInt(32));
  if (type.code != DataType::UInt(32).code || type.lanes != 1)
    throw Error(TypeError) << "bits are packed in uint8, uint16, uint32 or uint64, not in " << type;
  return type;
}

PrimExpr packed_extent(const PrimExpr& extent, DataType type) {
  const int64_t* n = as_int(extent);
  if (n && *n % type.bits != 0) throw Error(TypeError) << *n << " elements do not fill words of " << type;
  return on_extent(extent, [&](const PrimExpr& e) { return floordiv(e, type.bits); });
}

void require_bits(int bits, const char* name) {
  if (bits < 1 || bits > 32) throw Error(TypeError) << name << " is " << bits << ", but must be 1 to 32";
}

/// The axis of the bits of a packed tensor of `rank` dimensions.
int bit_axis_of(const BitPackAttrs* attrs, int rank) { return normal_axis(attrs->bit_axis, rank); }

bool bitpack_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<BitPackAttrs>();
  require_integers(query, 0, "data");
  require_bits(attrs->bits, "bits");
  const int rank = rank_of(data), pack_axis = normal_axis(attrs->pack_axis, rank);
  DataType type = words(attrs->pack_type);
  std::vector<PrimExpr> shape(data->shape.begin(), data->shape.end());
  shape[pack_axis] = packed_extent(shape[pack_axis], type);
  shape.insert(shape.begin() + bit_axis_of(attrs, rank + 1), PrimExpr(attrs->bits));
  query.result(TensorType(shape, type));
  return true;
}

Tensors bitpack(const Attrs& given, const Tensors& in, const Type&) {
  auto* attrs = given.as<BitPackAttrs>();
  const int rank = rank_of(in[0]);
  return {topi::bitpack(in[0], attrs->bits, normal_axis(attrs->pack_axis, rank), bit_axis_of(attrs, rank + 1),
                        words(attrs->pack_type), attrs->name)};
}

bool dense_type(TypeQuery& query) {
  auto *data = query.tensor(0), *weight = query.tensor(1);
  if (!data || !weight) return false;
  auto* attrs = query.attrs_as<BinaryDenseAttrs>();
  require_rank(query, 0, "data", 2);
  require_bits(attrs->data_bits, "data_bits");
  require_bits(attrs->weight_bits, "weight_bits");
  DataType type = words(attrs->pack_dtype);
  PrimExpr packed = packed_extent(data->shape[1], type);
  const bool is_packed = rank_of(weight) == 3;
  if (!is_packed) require_rank(query, 1, "weight", 2);
  if (is_packed && weight->dtype != type)
    throw Error(TypeError) << "the packed weight is " << weight->dtype << ", but pack_dtype " << type;
  const PrimExpr &depth = is_packed ? weight->shape[2] : weight->shape[1],
                 &wanted = is_packed ? packed : data->shape[1];
  if (!common_extent(depth, wanted))
    throw Error(TypeError) << "data and weight disagree about k: data is " << to_text(data->shape) << ", weight "
                           << to_text(weight->shape);
  if (attrs->units && !common_extent(attrs->units, weight->shape[0]))
    throw Error(TypeError) << "units is " << attrs->units << ", but the weight has " << weight->shape[0] << " rows";
  query.result(TensorType({data->shape[0], weight->shape[0]}, or_else(attrs->out_dtype, DataType::Int(16))));
  return true;
}

Tensors bitserial_dense(const Attrs& given, const Tensors& in, const Type& out) {
  auto* attrs = given.as<BinaryDenseAttrs>();
  return {topi::bitserial_dense(
      in[0], in[1],
      {attrs->data_bits, attrs->weight_bits, words(attrs->pack_dtype), tensor_of(out)->dtype, attrs->unipolar})};
}

bool is_nhwc(const BinaryConv2DAttrs* attrs) {
  if (attrs->data_layout != "NCHW" && attrs->data_layout != "NHWC")
    throw Error(TypeError) << "data_layout is " << attrs->data_layout << ", but must be NCHW or NHWC";
  return attrs->data_layout == "NHWC";
}

bool conv2d_type(TypeQuery& query) {
  auto *data = query.tensor(0), *weight = query.tensor(1);
  if (!data || !weight) return false;
  auto* attrs = query.attrs_as<BinaryConv2DAttrs>();
  require_rank(query, 0, "data", 4);
  require_bits(attrs->activation_bits, "activation_bits");
  require_bits(attrs->weight_bits, "weight_bits");
  const bool nhwc = is_nhwc(attrs), is_packed = rank_of(weight) == 5;
  if (!is_packed) require_rank(query, 1, "weight", 4);
  packed_extent(data->shape[nhwc ? 3 : 1], words(attrs->pack_dtype));
  // The weight is OIHW or (bits, O, words, h, w); HWIO or (h, w, bits, words, O).
  const Array<PrimExpr>& w = weight->shape;
  const PrimExpr channels = nhwc ? w[w.size() - 1] : w[is_packed ? 1 : 0];
  const int rows = nhwc ? 0 : is_packed ? 3 : 2, first = nhwc ? 1 : 2;
  if (attrs->channels && !common_extent(attrs->channels, channels))
    throw Error(TypeError) << "channels is " << attrs->channels << ", but the weight has " << channels;
  Array<PrimExpr> padding = topi::full_padding(attrs->padding, 2), extents;
  for (int i = 0; i < 2; ++i)
    extents.push_back(on_extent(data->shape[first + i], [&](const PrimExpr& extent) {
      return topi::window_count(extent + padding[i] + padding[i + 2], w[rows + i], PrimExpr(1), attrs->strides[i]);
    }));
  DataType dtype = or_else(attrs->out_dtype, DataType::Int(16));
  query.result(nhwc ? TensorType({data->shape[0], extents[0], extents[1], channels}, dtype)
                    : TensorType({data->shape[0], channels, extents[0], extents[1]}, dtype));
  return true;
}

Tensors bitserial_conv2d(const Attrs& given, const Tensors& in, const Type& out) {
  auto* attrs = given.as<BinaryConv2DAttrs>();
  return {topi::bitserial_conv2d(
      in[0], in[1], is_nhwc(attrs), attrs->strides, topi::full_padding(attrs->padding, 2),
      {attrs->activation_bits, attrs->weight_bits, words(attrs->pack_dtype), tensor_of(out)->dtype, attrs->unipolar})};
}

}  // namespace

static void bitserial_records() {
  OpRecord("nn.bitpack")
      .doc("Words of the elements along pack_axis, a plane of each bit along bit_axis.")
      .attrs<BitPackAttrs>()
      .input("data", "integers of few bits")
      .support_level(2)
      .type("BitPack", bitpack_type)
      .fusion(Fusion::Injective)
      .compute(bitpack);
  OpRecord("nn.bitserial_dense")
      .doc("Linear layer of integers of few bits, computed bit by bit; the weight may be packed.")
      .attrs<BinaryDenseAttrs>()
      .input("data", "the input (m, k)", "2D Tensor")
      .input("weight", "the weight (n, k), or packed (n, bits, words)", "2D Tensor")
      .support_level(1)
      .type("BinaryDense", dense_type)
      .fusion(Fusion::OutputElementwise)
      .compute(bitserial_dense);
  OpRecord("nn.bitserial_conv2d")
      .doc("Convolution of integers of few bits, computed bit by bit; the weight may be packed.")
      .attrs<BinaryConv2DAttrs>()
      .input("data", "the input, in data_layout")
      .input("weight", "the filters: OIHW for NCHW data, HWIO for NHWC, or packed")
      .support_level(2)
      .type("BinaryConv2D", conv2d_type)
      .fusion(Fusion::OutputElementwise)
      .compute(bitserial_conv2d);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily bitserial_family{bitserial_records};

}  // namespace tessera::op

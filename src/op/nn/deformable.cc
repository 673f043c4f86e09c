// nn.deformable_conv2d and nn.correlation.

#include "topi/nn/deformable.h"
#include "ir/prim/ops.h"
#include "op/nn/conv.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/conv.h"

namespace tessera::op {
namespace {

using relay::CorrelationAttrs;
using relay::DeformableConv2DAttrs;
using relay::may_equal;

/// data, offsets for each element of each window, weight -> as a convolution gives. Weight and offsets of unknown type
/// get it from the attributes.
bool deformable_conv2d_type(TypeQuery& query) {
  auto *data = query.tensor(0), *weight = query.tensor(2);
  if (!data) return false;
  auto* attrs = query.attrs_as<DeformableConv2DAttrs>();
  Layout plain = make_layout("NCHW"), plain_kernel = make_layout("OIHW");
  Layout in = make_layout(attrs->data_layout), kernel = make_layout(attrs->kernel_layout);
  check_rank(query, 0, "data", attrs->data_layout);
  Array<PrimExpr> shape = convert_shape(in, plain, data->shape), weight_shape;
  PrimExpr ins = on_extent(shape[1], [&](const PrimExpr& n) { return floordiv(n, attrs->groups); });
  bool has_size = attrs->kernel_size.defined();
  Array<PrimExpr> described{attrs->channels, ins, has_size ? attrs->kernel_size[0] : PrimExpr(),
                            has_size ? attrs->kernel_size[1] : PrimExpr()};
  if (weight) {
    check_rank(query, 2, "weight", attrs->kernel_layout);
    weight_shape = convert_shape(kernel, plain_kernel, weight->shape);
    check_described_weight(described, weight_shape);
  } else {
    if (!attrs->channels || !has_size) return false;
    weight_shape = described;
    query.argument(2, TensorType(convert_shape(plain_kernel, kernel, weight_shape), data->dtype));
  }
  Array<PrimExpr> counts =
      spatial_windows(shape, {weight_shape[2], weight_shape[3]}, {attrs->strides, attrs->padding, attrs->dilation});
  Array<PrimExpr> moves{shape[0], weight_shape[2] * weight_shape[3] * (2 * attrs->deformable_groups), counts[0],
                        counts[1]};
  moves = convert_shape(plain, in, moves);
  if (auto* offset = query.tensor(1)) {
    for (size_t i = 0; i < 4; ++i)
      if (offset->shape.size() != 4 || !may_equal(offset->shape[i], moves[i]))
        throw Error(TypeError) << "offset must have the shape " << to_text(moves) << ", but is "
                               << to_text(query.type(1));
  } else {
    query.argument(1, TensorType(moves, data->dtype));
  }
  DataType dtype = attrs->out_dtype.is_void() ? data->dtype : attrs->out_dtype;
  query.result(TensorType(convert_shape(plain, in, {shape[0], weight_shape[0], counts[0], counts[1]}), dtype));
  return true;
}

Array<te::Tensor> deformable_conv2d(const Attrs& given, const Array<te::Tensor>& in, const Type& out) {
  auto* attrs = given.as<DeformableConv2DAttrs>();
  topi::ConvOptions options = conv_options(attrs, out.as<TensorTypeNode>()->dtype);
  return {topi::deformable_conv2d(in[0], in[1], in[2], attrs->deformable_groups, options)};
}

topi::CorrelationOptions correlation_options(const CorrelationAttrs* attrs) {
  return {attrs->kernel_size, attrs->max_displacement, attrs->stride1,
          attrs->stride2,     attrs->padding,          attrs->is_multiply};
}

bool correlation_type(TypeQuery& query) {
  auto *a = query.tensor(0), *b = query.tensor(1);
  if (!a || !b) return false;
  auto* attrs = query.attrs_as<CorrelationAttrs>();
  if (attrs->layout != "NCHW") throw Error(TypeError) << "layout is " << attrs->layout << ", but must be NCHW";
  check_rank(query, 0, "data1", attrs->layout);
  check_rank(query, 1, "data2", attrs->layout);
  for (size_t i = 0; i < 4; ++i)
    if (!may_equal(a->shape[i], b->shape[i]) || a->dtype != b->dtype)
      throw Error(TypeError) << "data1 and data2 must have one type, but are " << to_text(query.type(0)) << " and "
                             << to_text(query.type(1));
  if (attrs->kernel_size % 2 == 0)
    throw Error(TypeError) << "kernel_size is " << attrs->kernel_size << ", but must be odd";
  Array<PrimExpr> extents = topi::correlation_extents(a->shape[2], a->shape[3], correlation_options(attrs));
  query.result(TensorType({a->shape[0], extents[0], extents[1], extents[2]}, a->dtype));
  return true;
}

Array<te::Tensor> correlation(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  return {topi::correlation(in[0], in[1], correlation_options(attrs.as<CorrelationAttrs>()))};
}

}  // namespace

static void deformable_records() {
  OpRecord("nn.deformable_conv2d")
      .doc("Convolution whose kernel elements are moved by an offset each.")
      .attrs<DeformableConv2DAttrs>()
      .input("data", "the input, in data_layout")
      .input("offset", "two offsets, y and x, for each element of each window")
      .input("weight", "the filters, in kernel_layout")
      .support_level(5)
      .type("DeformableConv2D", deformable_conv2d_type)
      .fusion(Fusion::OutputElementwise)
      .compute(deformable_conv2d);
  OpRecord("nn.correlation")
      .doc("How alike two images are under displacements of the second.")
      .attrs<CorrelationAttrs>()
      .input("data1", "the first images")
      .input("data2", "the second images")
      .support_level(2)
      .type("Correlation", correlation_type)
      .fusion(Fusion::OutputElementwise)
      .compute(correlation);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily deformable_family{deformable_records};

}  // namespace tessera::op

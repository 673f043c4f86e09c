// Space against channels and batch: nn.space_to_depth, nn.depth_to_space, nn.space_to_batch_nd, nn.batch_to_space_nd.

#include "topi/nn/space.h"
#include "ir/prim/ops.h"
#include "op/nn/gradients.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/pad.h"
#include "tir/layout.h"

namespace tessera::op {
namespace {

using relay::BatchToSpaceNDAttrs;
using relay::SpaceToBatchNDAttrs;
using relay::SubPixelAttrs;

/// An extent over a part of it; a TypeError where it is known not to divide.
PrimExpr exact_part(const PrimExpr& extent, const PrimExpr& part, const char* what) {
  const int64_t *n = as_int(extent), *d = as_int(part);
  if (d && *d < 1) throw Error(TypeError) << "a block of " << *d;
  if (n && d && *n % *d != 0) throw Error(TypeError) << *d << " does not divide the " << *n << " of the " << what;
  if (!n && !relay::is_any(extent)) relay::assume(equal(floormod(extent, part), make_zero(extent.dtype())));
  return on_extent(extent, [&](const PrimExpr& e) { return floordiv(e, part); });
}

template <bool to_depth>
bool sub_pixel_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<SubPixelAttrs>();
  check_rank(query, 0, "data", attrs->layout);
  Layout layout = make_layout(attrs->layout);
  Layout plain = make_layout("NCHW");
  Array<PrimExpr> shape = convert_shape(layout, plain, data->shape);
  PrimExpr block(attrs->block_size), area(attrs->block_size * attrs->block_size);
  auto times = [](const PrimExpr& extent, const PrimExpr& factor) {
    return on_extent(extent, [&](const PrimExpr& e) { return e * factor; });
  };
  if (to_depth)
    shape = {shape[0], times(shape[1], area), exact_part(shape[2], block, "height"),
             exact_part(shape[3], block, "width")};
  else shape = {shape[0], exact_part(shape[1], area, "channels"), times(shape[2], block), times(shape[3], block)};
  query.result(TensorType(convert_shape(plain, layout, shape), data->dtype));
  return true;
}

Array<te::Tensor> space_to_depth(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<SubPixelAttrs>();
  return {topi::space_to_depth(in[0], attrs->block_size, attrs->layout)};
}

Array<te::Tensor> depth_to_space(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<SubPixelAttrs>();
  return {topi::depth_to_space(in[0], attrs->block_size, attrs->layout, attrs->mode)};
}

void check_blocks(const TensorTypeNode* data, const Array<PrimExpr>& block, const Array<Array<PrimExpr>>& border,
                  const char* name) {
  if (block.size() + 1 > data->shape.size())
    throw Error(TypeError) << "block_shape has " << block.size() << " values, but data has only " << data->shape.size()
                           << " dimensions, the batch among them";
  if (border.size() != block.size())
    throw Error(TypeError) << name << " has " << border.size() << " pairs, but block_shape " << block.size()
                           << " values";
  for (const Array<PrimExpr>& pair : border)
    if (pair.size() != 2) throw Error(TypeError) << name << " takes pairs: one number before and one after";
}

bool space_to_batch_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<SpaceToBatchNDAttrs>();
  check_blocks(data, attrs->block_shape, attrs->paddings, "paddings");
  Array<PrimExpr> shape = data->shape;
  for (size_t i = 0; i < attrs->block_shape.size(); ++i) {
    const PrimExpr& block = attrs->block_shape[i];
    shape.set(0, on_extent(shape[0], [&](const PrimExpr& n) { return n * block; }));
    const Array<PrimExpr>& pair = attrs->paddings[i];
    PrimExpr padded = on_extent(shape[i + 1], [&](const PrimExpr& n) { return n + pair[0] + pair[1]; });
    shape.set(i + 1, exact_part(padded, block, "padded extent"));
  }
  query.result(TensorType(shape, data->dtype));
  return true;
}

bool batch_to_space_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<BatchToSpaceNDAttrs>();
  check_blocks(data, attrs->block_shape, attrs->crops, "crops");
  Array<PrimExpr> shape = data->shape;
  for (size_t i = 0; i < attrs->block_shape.size(); ++i) {
    const PrimExpr& block = attrs->block_shape[i];
    shape.set(0, exact_part(shape[0], block, "batch"));
    const Array<PrimExpr>& pair = attrs->crops[i];
    shape.set(i + 1, on_extent(shape[i + 1], [&](const PrimExpr& n) { return n * block - pair[0] - pair[1]; }));
  }
  query.result(TensorType(shape, data->dtype));
  return true;
}

Array<te::Tensor> space_to_batch(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<SpaceToBatchNDAttrs>();
  auto [before, after] = split_pairs(attrs->paddings);
  return {
      topi::space_to_batch_nd(in[0], attrs->block_shape, before, after, make_const(in[0]->dtype, attrs->pad_value))};
}

Array<te::Tensor> batch_to_space(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<BatchToSpaceNDAttrs>();
  auto [before, after] = split_pairs(attrs->crops);
  return {topi::batch_to_space_nd(in[0], attrs->block_shape, before, after)};
}

template <class A>
OpRecord space_record(const char* name, const char* rule_name, const char* doc, TypeRule rule, relay::Compute compute,
                      Gradient gradient) {
  return OpRecord(name)
      .doc(doc)
      .template attrs<A>()
      .input("data", "the input")
      .support_level(5)
      .type(rule_name, rule)
      .fusion(Fusion::Injective)
      .compute(std::move(compute))
      .gradient(std::move(gradient));
}

}  // namespace

static void space_records() {
  space_record<SubPixelAttrs>("nn.space_to_depth", "SpaceToDepth", "Blocks of pixels become channels.",
                              sub_pixel_type<true>, space_to_depth, space_to_depth_gradient)
      .moves(Moves::Permute)
      .precision(Precision::Follow);
  space_record<SubPixelAttrs>("nn.depth_to_space", "DepthToSpace", "Channels become blocks of pixels.",
                              sub_pixel_type<false>, depth_to_space, depth_to_space_gradient)
      .moves(Moves::Permute)
      .precision(Precision::Follow);
  space_record<SpaceToBatchNDAttrs>("nn.space_to_batch_nd", "SpaceToBatchND",
                                    "Space is split into blocks; the position in the block becomes part of the batch.",
                                    space_to_batch_type, space_to_batch, space_to_batch_gradient);
  space_record<BatchToSpaceNDAttrs>("nn.batch_to_space_nd", "BatchToSpaceND",
                                    "A part of the batch becomes the position in a block of space.",
                                    batch_to_space_type, batch_to_space, batch_to_space_gradient);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily space_family{space_records};

}  // namespace tessera::op

// Pooling: nn.max_pool*, nn.avg_pool*, nn.global_*_pool2d.

#include "relay/attrs/pool.h"
#include "ir/prim_ops.h"
#include "op/records.h"
#include "topi/nn/conv.h"
#include "topi/nn/pool.h"

namespace tessera::op {
namespace {

using relay::AvgPoolAttrs;
using relay::GlobalPool2DAttrs;
using relay::PoolAttrs;
using topi::PoolKind;

void check_rank(const TypeQuery& query, const TensorTypeNode* data, const String& layout) {
  if (data->shape.size() != layout.size())
    throw Error(TypeError) << "data is " << to_text(query.type(0)) << ", but its layout is " << layout;
}

bool pool_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = cast_or_null<PoolAttrs>(query.attrs().get());
  if (!attrs) throw Error(TypeError) << "the call has no attributes of pooling";
  check_rank(query, data, attrs->layout);
  size_t spatial = attrs->pool_size.size();
  std::vector<int> axes = topi::spatial_axes(attrs->layout, spatial);
  Array<PrimExpr> padding = topi::full_padding(attrs->padding, spatial), shape = data->shape;
  for (size_t i = 0; i < spatial; ++i) {
    auto axis = static_cast<size_t>(axes[i]);
    if (relay::is_any(shape[axis])) continue;
    PrimExpr extent = shape[axis] + padding[i] + padding[i + spatial];
    shape.set(axis,
              topi::window_count(extent, attrs->pool_size[i], attrs->dilation[i], attrs->strides[i], attrs->ceil_mode));
  }
  query.result(TensorType(shape, data->dtype));
  return true;
}

template <PoolKind kind>
Array<te::Tensor> pool_compute(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = static_cast<const PoolAttrs*>(given.get());
  topi::PoolOptions options;
  options.pool_size = attrs->pool_size;
  options.strides = attrs->strides;
  options.dilation = attrs->dilation;
  options.padding = attrs->padding;
  options.layout = attrs->layout;
  options.ceil_mode = attrs->ceil_mode;
  if (auto* avg = given.as<AvgPoolAttrs>()) options.count_include_pad = avg->count_include_pad;
  return {topi::pool(in[0], kind, options)};
}

bool global_pool_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<GlobalPool2DAttrs>();
  check_rank(query, data, attrs->layout);
  Array<PrimExpr> shape = data->shape;
  for (int axis : topi::spatial_axes(attrs->layout, 2))
    shape.set(static_cast<size_t>(axis), make_const(shape[static_cast<size_t>(axis)].dtype(), 1));
  query.result(TensorType(shape, data->dtype));
  return true;
}

template <PoolKind kind>
Array<te::Tensor> global_pool_compute(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  return {topi::adaptive_pool(in[0], kind, {1, 1}, attrs.as<GlobalPool2DAttrs>()->layout)};
}

template <class A>
void pool_record(const char* name, const char* doc, relay::Compute compute, TypeRule rule = pool_type) {
  OpRecord(name)
      .doc(doc)
      .template attrs<A>()
      .input("data", "the input")
      .support_level(2)
      .type("Pool", rule)
      .fusion(Fusion::OutputElementwise)
      .compute(std::move(compute));
}

}  // namespace

void pool_records() {
  const char *greatest = "The greatest element of each window.", *mean = "The mean of each window.";
  pool_record<relay::MaxPool1DAttrs>("nn.max_pool1d", greatest, pool_compute<PoolKind::Max>);
  pool_record<relay::MaxPool2DAttrs>("nn.max_pool2d", greatest, pool_compute<PoolKind::Max>);
  pool_record<relay::MaxPool3DAttrs>("nn.max_pool3d", greatest, pool_compute<PoolKind::Max>);
  pool_record<relay::AvgPool1DAttrs>("nn.avg_pool1d", mean, pool_compute<PoolKind::Avg>);
  pool_record<relay::AvgPool2DAttrs>("nn.avg_pool2d", mean, pool_compute<PoolKind::Avg>);
  pool_record<relay::AvgPool3DAttrs>("nn.avg_pool3d", mean, pool_compute<PoolKind::Avg>);
  pool_record<GlobalPool2DAttrs>("nn.global_max_pool2d", "The greatest element of each channel.",
                                 global_pool_compute<PoolKind::Max>, global_pool_type);
  pool_record<GlobalPool2DAttrs>("nn.global_avg_pool2d", "The mean of each channel.",
                                 global_pool_compute<PoolKind::Avg>, global_pool_type);
}

}  // namespace tessera::op

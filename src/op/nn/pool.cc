// Pooling: nn.max_pool*, nn.avg_pool*, nn.adaptive_*_pool*, nn.global_*_pool2d, nn.*_pool2d_grad.

#include "relay/attrs/pool.h"
#include "ir/prim/ops.h"
#include "op/layout_rules.h"
#include "op/nn/gradients.h"
#include "op/qnn/quantized_forms.h"
#include "op/records.h"
#include "op/rules.h"
#include "topi/nn/conv.h"
#include "topi/nn/pool.h"

namespace tessera::op {
namespace {

using relay::AdaptivePoolAttrs;
using relay::AvgPoolAttrs;
using relay::GlobalPool2DAttrs;
using relay::PoolAttrs;
using topi::PoolKind;

const PoolAttrs* pool_attrs(const Attrs& attrs) {
  auto* out = cast_or_null<PoolAttrs>(attrs.get());
  if (!out) throw Error(TypeError) << "the call has no attributes of pooling";
  return out;
}

/// The shape of a pool's result.
Array<PrimExpr> pooled_shape(const TensorTypeNode* data, const PoolAttrs* attrs) {
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
  return shape;
}

bool pool_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = pool_attrs(query.attrs());
  check_rank(query, 0, "data", attrs->layout);
  query.result(TensorType(pooled_shape(data, attrs), data->dtype));
  return true;
}

topi::PoolOptions pool_options(const Attrs& given) {
  auto* attrs = pool_attrs(given);
  topi::PoolOptions options;
  options.pool_size = attrs->pool_size;
  options.strides = attrs->strides;
  options.dilation = attrs->dilation;
  options.padding = attrs->padding;
  options.layout = attrs->layout;
  options.ceil_mode = attrs->ceil_mode;
  if (auto* avg = cast_or_null<AvgPoolAttrs>(given.get())) options.count_include_pad = avg->count_include_pad;
  return options;
}

template <PoolKind kind>
Array<te::Tensor> pool_compute(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  return {topi::pool(in[0], kind, pool_options(attrs))};
}

/// grad of the result, data -> grad of the data.
bool pool_grad_type(TypeQuery& query) {
  auto *grad = query.tensor(0), *data = query.tensor(1);
  if (!grad || !data) return false;
  auto* attrs = pool_attrs(query.attrs());
  check_rank(query, 1, "data", attrs->layout);
  Array<PrimExpr> pooled = pooled_shape(data, attrs);
  bool fits = grad->shape.size() == pooled.size();
  for (size_t i = 0; fits && i < pooled.size(); ++i) fits = relay::may_equal(grad->shape[i], pooled[i]);
  if (!fits)
    throw Error(TypeError) << "grad is " << to_text(query.type(0)) << ", but the pool of " << to_text(query.type(1))
                           << " has the shape " << to_text(pooled);
  query.result(query.type(1));
  return true;
}

template <PoolKind kind>
Array<te::Tensor> pool_grad_compute(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  return {topi::pool_grad(in[0], in[1], kind, pool_options(attrs))};
}

/// The extents of an adaptive pool's result. One number stands for all dimensions, none for those of the data.
struct AdaptiveSize {
  Array<PrimExpr> size;
  String layout;
};
template <size_t spatial>
AdaptiveSize adaptive_size(const Attrs& attrs, const Array<PrimExpr>& shape) {
  if (auto* global = attrs.as<GlobalPool2DAttrs>()) return {Array<PrimExpr>(2, PrimExpr(1)), global->layout};
  auto* adaptive = cast_or_null<AdaptivePoolAttrs>(attrs.get());
  if (!adaptive) throw Error(TypeError) << "the call has no attributes of an adaptive pool";
  Array<PrimExpr> size = adaptive->output_size;
  if (size.size() == 1) size = Array<PrimExpr>(spatial, size[0]);
  if (size.empty())
    for (int axis : topi::spatial_axes(adaptive->layout, spatial)) size.push_back(shape[static_cast<size_t>(axis)]);
  if (size.size() != spatial)
    throw Error(TypeError) << "output_size takes no, one or " << spatial << " values, got " << size.size();
  return {size, adaptive->layout};
}

template <size_t spatial>
bool adaptive_pool_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  AdaptiveSize wanted = adaptive_size<spatial>(query.attrs(), data->shape);
  check_rank(query, 0, "data", wanted.layout);
  Array<PrimExpr> shape = data->shape;
  std::vector<int> axes = topi::spatial_axes(wanted.layout, spatial);
  for (size_t i = 0; i < spatial; ++i) shape.set(static_cast<size_t>(axes[i]), wanted.size[i]);
  query.result(TensorType(shape, data->dtype));
  return true;
}

template <PoolKind kind, size_t spatial>
Array<te::Tensor> adaptive_pool_compute(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  AdaptiveSize wanted = adaptive_size<spatial>(attrs, in[0]->shape);
  return {topi::adaptive_pool(in[0], kind, wanted.size, wanted.layout)};
}

template <class A>
OpRecord pool_record(const char* name, const char* doc, relay::Compute compute, TypeRule rule = pool_type) {
  return OpRecord(name)
      .doc(doc)
      .template attrs<A>()
      .input("data", "the input")
      .support_level(2)
      .type("Pool", rule)
      .fusion(Fusion::OutputElementwise)
      .compute(std::move(compute));
}

/// The greatest and the mean, in windows of fixed and of fitted size.
template <size_t spatial, class MaxAttrs, class AvgAttrs, class AdaptiveAttrs>
void pool_family(const std::string& dims) {
  const char *greatest = "The greatest element of each window.", *mean = "The mean of each window.";
  pool_record<MaxAttrs>(("nn.max_pool" + dims).c_str(), greatest, pool_compute<PoolKind::Max>)
      .moves(Moves::Extremum)
      .layout(layout::spatial<relay::PoolAttrs>)
      .convert_layout(layout::convert_spatial<relay::PoolAttrs>)
      .precision(Precision::Follow)
      .quantized(quantized_moves)
      .gradient(max_pool_gradient);
  pool_record<AvgAttrs>(("nn.avg_pool" + dims).c_str(), mean, pool_compute<PoolKind::Avg>)
      .layout(layout::spatial<relay::PoolAttrs>)
      .convert_layout(layout::convert_spatial<relay::PoolAttrs>)
      .precision(Precision::Never)
      .gradient(avg_pool_gradient);
  pool_record<AdaptiveAttrs>(("nn.adaptive_max_pool" + dims).c_str(), greatest,
                             adaptive_pool_compute<PoolKind::Max, spatial>, adaptive_pool_type<spatial>)
      .support_level(10)
      .layout(layout::spatial<relay::AdaptivePoolAttrs>)
      .gradient(adaptive_max_pool_gradient);
  pool_record<AdaptiveAttrs>(("nn.adaptive_avg_pool" + dims).c_str(), mean,
                             adaptive_pool_compute<PoolKind::Avg, spatial>, adaptive_pool_type<spatial>)
      .support_level(10)
      .layout(layout::spatial<relay::AdaptivePoolAttrs>)
      .precision(Precision::Never)
      .gradient(adaptive_avg_pool_gradient);
}

void pool_grad_record(const char* name, relay::Compute compute) {
  pool_record<relay::MaxPool2DAttrs>(name, "The gradient of a pool by its data.", std::move(compute), pool_grad_type)
      .input("grad", "the gradient of the result");
}

}  // namespace

static void pool_records() {
  pool_family<1, relay::MaxPool1DAttrs, relay::AvgPool1DAttrs, relay::AdaptivePool1DAttrs>("1d");
  pool_family<2, relay::MaxPool2DAttrs, relay::AvgPool2DAttrs, relay::AdaptivePool2DAttrs>("2d");
  pool_family<3, relay::MaxPool3DAttrs, relay::AvgPool3DAttrs, relay::AdaptivePool3DAttrs>("3d");
  pool_record<GlobalPool2DAttrs>("nn.global_max_pool2d", "The greatest element of each channel.",
                                 adaptive_pool_compute<PoolKind::Max, 2>, adaptive_pool_type<2>)
      .layout(layout::spatial<GlobalPool2DAttrs>)
      .convert_layout(layout::convert_spatial<GlobalPool2DAttrs>)
      .reduction(Reduction::Max)
      .gradient(adaptive_max_pool_gradient);
  pool_record<GlobalPool2DAttrs>("nn.global_avg_pool2d", "The mean of each channel.",
                                 adaptive_pool_compute<PoolKind::Avg, 2>, adaptive_pool_type<2>)
      .layout(layout::spatial<GlobalPool2DAttrs>)
      .convert_layout(layout::convert_spatial<GlobalPool2DAttrs>)
      .reduction(Reduction::Mean)
      .precision(Precision::Never)
      .gradient(adaptive_avg_pool_gradient);
  pool_grad_record("nn.max_pool2d_grad", pool_grad_compute<PoolKind::Max>);
  pool_grad_record("nn.avg_pool2d_grad", pool_grad_compute<PoolKind::Avg>);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily pooling_family{pool_records};

}  // namespace tessera::op

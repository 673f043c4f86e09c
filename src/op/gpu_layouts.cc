// Convolutions of fp16 and bf16 on GPUs with matrix units: channels last (the slot FTVMAlterOpLayout), so that neighbours along k lie
// together for tiles and copies of 16 bytes, and few channels of data padded with zeros (the slot FTVMLegalize), so that those of a pixel are
// one access.
//
//   nn.conv2d(%x, w of 3 channels)   =>   nn.conv2d(nn.pad(%x), w of 4 channels)

#include <algorithm>

#include "ir/pass/pass.h"
#include "ir/prim/ops.h"
#include "op/layout_rules.h"
#include "relay/attrs/conv.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "te/tensor.h"
#include "tir/layout.h"
#include "topi/gpu/machine.h"

namespace tessera::op {

using relay::Expr;

namespace {

constexpr int kLevel = 3;          // of AlterOpLayout
constexpr int64_t kTogether = 8;   // bytes that one access of a pixel should have at least
constexpr int64_t kMaxPadded = 8;  // channels; copies of more are wide enough, or cost more than they save

bool has_matrix_units(const relay::GraphEnvironment& environment) {
  return environment.target && environment.target.has_key("gpu") &&
         topi::gpu_machine_of(environment.target)->has_matrix_units;
}

bool is_half(DataType dtype) { return dtype == DataType::Float(16) || dtype == DataType::BFloat(16); }

/// True for what FoldConstant makes a constant: a weight that was cast.
bool is_of_constants(const Expr& value) {
  auto* call = value.as<relay::Call>();
  if (!call) return value.as<relay::Constant>();
  return std::all_of(call->args.begin(), call->args.end(), is_of_constants);
}

/// cuDNN reads weights of such data with the channels of the data last. Depthwise convolutions are ours.
bool is_for_cudnn(const Target& target, const relay::ConvAttrs& attrs, const Array<PrimExpr>& weight) {
  const std::vector<std::string> libraries = target.list_option("libs");
  if (std::find(libraries.begin(), libraries.end(), "cudnn") == libraries.end()) return false;
  return attrs.groups == 1 || !is_one(convert_shape(make_layout(attrs.kernel_layout), make_layout("OIHW"), weight)[1]);
}

}  // namespace

Expr layout::pad_few_channels(const Op& op, const Attrs& given, const Array<Expr>& args, const Array<Type>& types,
                              const relay::GraphEnvironment& environment) {
  auto* attrs = cast_or_null<relay::Conv2DAttrs>(given.get());
  if (!attrs || attrs->groups != 1 || environment.context->opt_level < kLevel || !has_matrix_units(environment) ||
      !is_of_constants(args[1]))
    return nullptr;
  auto *data = types[0].as<TensorTypeNode>(), *weight = types[1].as<TensorTypeNode>();
  if (!data || !weight || !is_half(data->dtype) || weight->dtype != data->dtype) return nullptr;
  const Layout layout = make_layout(attrs->data_layout), kernel = make_layout(attrs->kernel_layout);
  if (layout->axes.size() != 4 || kernel->axes.size() != 4) return nullptr;
  const auto channel = static_cast<size_t>(layout->index_of('C')), in = static_cast<size_t>(kernel->index_of('I'));
  const int64_t* ins = as_int(weight->shape[in]);
  const int64_t together = kTogether / static_cast<int64_t>(data->dtype.bytes());
  if (!ins || *ins >= kMaxPadded || *ins % together == 0 || !is_const_int(data->shape[channel], *ins)) return nullptr;
  std::vector<std::array<int64_t, 2>> of_data(4, {0, 0}), of_weight(4, {0, 0});
  of_data[channel][1] = of_weight[in][1] = together - *ins % together;
  return relay::make_call(
      op,
      {relay::pad_around(args[0], of_data, 0, data->dtype), relay::pad_around(args[1], of_weight, 0, weight->dtype)},
      given);
}

Expr layout::alter_conv2d(const Op& op, const Attrs& given, const Array<Expr>& args,
                          const Array<ObjectRef>& placeholders, const Type& type,
                          const relay::GraphEnvironment& environment) {
  if (environment.is_for_cpu()) return block_conv2d(op, given, args, placeholders, type, environment);
  auto* attrs = cast_or_null<relay::Conv2DAttrs>(given.get());
  if (!attrs || args.size() != 2 || !has_matrix_units(environment)) return nullptr;
  auto *data = placeholders[0].as<te::TensorNode>(), *weight = placeholders[1].as<te::TensorNode>();
  const bool is_last = attrs->data_layout == "NHWC";
  if (!is_half(data->dtype) || weight->dtype != data->dtype || (attrs->data_layout != "NCHW" && !is_last) ||
      (!attrs->out_layout.empty() && attrs->out_layout != attrs->data_layout))
    return nullptr;
  const bool wants_ohwi = is_for_cudnn(environment.target, *attrs, weight->shape);
  if (is_last && !wants_ohwi) return nullptr;
  return convert_conv<relay::ConvAttrs>(op, given, args, {"NHWC", wants_ohwi ? "OHWI" : "default"});
}

}  // namespace tessera::op

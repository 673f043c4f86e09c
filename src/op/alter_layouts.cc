// Which layouts convolutions take on a CPU (the slot FTVMAlterOpLayout): channels in blocks of as many as a vector
// register holds, so that neighbours of a result lie together whatever the kernel. All convolutions of a graph choose by the
// number of channels alone; so a result already lies as the next one reads it. Where it takes less time, a convolution becomes
// Winograd's (winograd_choice.h).

#include <algorithm>

#include "ir/pass/pass.h"
#include "ir/prim/ops.h"
#include "op/channel_blocks.h"
#include "op/layout_rules.h"
#include "op/winograd_choice.h"
#include "relay/attrs/conv.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "te/tensor.h"
#include "topi/cpu/contraction/group_dot.h"
#include "topi/cpu/contraction/half_floats.h"
#include "topi/nn/conv.h"

namespace tessera::op {
namespace {

/// Where only the weight says how many channels the data has, the data is said to have as many: a reshape that is an error for
/// any other number.
void infer_channels(const relay::Conv2DAttrs* attrs, const Array<PrimExpr>& weight, Array<PrimExpr>* shape,
                    Array<Expr>* args) {
  const Layout layout = make_layout(attrs->data_layout);
  const auto axis = static_cast<size_t>(layout->index_of('C'));
  if (as_int((*shape)[axis])) return;
  const PrimExpr depth = convert_shape(make_layout(attrs->kernel_layout), make_layout("OIHW"), weight)[1];
  const int64_t* ins = as_int(depth);
  if (!ins || attrs->groups != 1) return;
  Array<PrimExpr> same(shape->size(), PrimExpr(0));
  same.set(axis, PrimExpr(static_cast<int>(*ins)));
  shape->set(axis, same[axis]);
  args->set(0, relay::reshape((*args)[0], same));
}

std::string blocked(int64_t block) { return "NCHW" + std::to_string(block) + "c"; }

/// An argument as one of float32.
void widen(size_t i, Array<Expr>* args, Array<ObjectRef>* placeholders) {
  auto* given = (*placeholders)[i].as<te::TensorNode>();
  if (given->dtype == DataType::Float(32)) return;
  placeholders->set(i, te::placeholder(given->shape, DataType::Float(32), "wide"));
  args->set(i, relay::cast((*args)[i], DataType::Float(32)));
}

}  // namespace

Expr layout::block_conv2d(const Op&, const Attrs& given, const Array<Expr>& given_args,
                          const Array<ObjectRef>& given_placeholders, const Type& type,
                          const relay::GraphEnvironment& environment) {
  auto* attrs = given.as<relay::Conv2DAttrs>();
  if (!environment.is_for_cpu() || !attrs || given_args.size() != 2) return nullptr;
  auto* data = given_placeholders[0].as<te::TensorNode>();
  auto* weight = given_placeholders[1].as<te::TensorNode>();
  auto* result = type.as<TensorTypeNode>();
  const DataType dtype = DataType::Float(32);
  const topi::Machine machine = topi::machine_of(environment.target);
  const bool is_narrow = topi::widens_when_read(machine, weight->dtype);
  const bool are_pairs =
      data->dtype == topi::kBf16Dot.a && weight->dtype == topi::kBf16Dot.b && topi::group_isa(machine, topi::kBf16Dot);
  // A convolution of each channel alone widens data of 16 bits as it reads it (WidenFloats leaves it such data).
  const bool is_narrow_data = attrs->groups != 1 && topi::widens_when_read(machine, data->dtype);
  const bool are_floats = (data->dtype == dtype || are_pairs || is_narrow_data) &&
                          (weight->dtype == dtype || is_narrow) && result->dtype == dtype;
  const bool is_int8 =
      data->dtype == DataType::UInt(8) && weight->dtype == DataType::Int(8) && result->dtype == DataType::Int(32);
  if (attrs->data_layout != "NCHW" && attrs->data_layout != "NHWC") return nullptr;
  Array<PrimExpr> shape = data->shape;
  Array<Expr> args = given_args;
  infer_channels(attrs, weight->shape, &shape, &args);
  if (!has_fixed_channels(make_layout(attrs->data_layout), shape) || !is_fixed(weight->shape)) return nullptr;
  if (!are_floats && !is_int8) return nullptr;
  if (!attrs->out_layout.empty() && attrs->out_layout != attrs->data_layout) return nullptr;
  Layout plain_kernel = make_layout("OIHW");
  Array<PrimExpr> in = convert_shape(make_layout(attrs->data_layout), make_layout("NCHW"), shape);
  Array<PrimExpr> kernel = convert_shape(make_layout(attrs->kernel_layout), plain_kernel, weight->shape);
  const topi::Isa* int8_isa = is_int8 ? topi::int8_isa(machine) : nullptr;
  if (is_int8 && !int8_isa) return nullptr;
  const int64_t ins = *as_int(in[1]), lanes = (int8_isa ? int8_isa->vector_bytes : machine->vector_bytes) / 4;
  const bool by_channel = topi::is_depthwise(attrs->groups, in[1], kernel) && is_one(kernel[1]);
  const int64_t outs = *as_int(kernel[0]);
  Array<ObjectRef> placeholders = given_placeholders;
  if (are_floats && attrs->groups != 1) widen(1, &args, &placeholders);
  if (are_floats && attrs->groups != 1 && !by_channel) widen(0, &args, &placeholders);
  if (attrs->groups != 1 && !by_channel)
    return block_conv(Op::get("nn.contrib_conv2d_NCHWc"), given, args, placeholders, type, environment);
  const int64_t out_block = result_block(outs, lanes),
                in_block = by_channel ? out_block : data_block(ins, lanes, attrs->data_layout == "NHWC");
  const bool has_int8_block =
      by_channel ? out_block == lanes
                 : in_block % topi::kInt8Group == 0 && topi::group_isa(machine, topi::kInt8Dot, out_block);
  if (out_block == 0 || (is_int8 && !has_int8_block)) return nullptr;

  const bool takes_pairs =
      are_pairs && attrs->groups == 1 && in_block % 2 == 0 && topi::group_isa(machine, topi::kBf16Dot, out_block);
  if (are_pairs && !takes_pairs && !by_channel) widen(0, &args, &placeholders);
  const int group = is_int8 && !by_channel ? topi::kInt8Group : takes_pairs ? topi::kBf16Dot.group : 1;

  ObjectRef copy(given->type()->copy(given.get()));
  auto* changed = const_cast<relay::Conv2DAttrs*>(copy.as<relay::Conv2DAttrs>());
  changed->channels = kernel[0];
  changed->kernel_size = {kernel[2], kernel[3]};
  changed->data_layout = blocked(in_block);
  changed->out_layout = blocked(out_block);
  changed->kernel_layout = "OIHW" + std::to_string(by_channel ? 1 : in_block) + "i" + std::to_string(out_block) + "o";
  if (group > 1)
    changed->kernel_layout =
        "OIHW" + std::to_string(in_block / group) + "i" + std::to_string(out_block) + "o" + std::to_string(group) + "i";
  if (are_floats && !by_channel && in_block >= kMinLanes) {
    const WinogradLayer layer{
        .ins = ins,
        .outs = outs,
        .kernel = changed->kernel_size,
        .results = convert_shape(make_layout(attrs->data_layout), make_layout("NCHW"), result->shape),
        .lanes = lanes,
        .group = group,
        .cache_bytes = std::max(machine->l2_bytes, machine->l3_bytes)};
    if (const auto axes = winograd_axes(*attrs, layer, args[1], environment.context); !axes.empty()) {
      for (size_t i : {0, 1}) widen(i, &args, &placeholders);
      return make_winograd(args, *changed, attrs->kernel_layout, out_block, axes);
    }
  }
  const char* op = by_channel ? "nn.contrib_depthwise_conv2d_NCHWc" : "nn.contrib_conv2d_NCHWc";
  return relay::make_call(Op::get(op), args, downcast<Attrs>(copy));
}

}  // namespace tessera::op

// Blocks of channels (channel_blocks.h) for convolutions in groups, of one and three dimensions, and transposed ones: the
// slot FTVMAlterOpLayout beside that of nn.conv2d (alter_layouts.cc).

#include <algorithm>

#include "op/channel_blocks.h"
#include "op/layout_rules.h"
#include "op/records.h"
#include "op/winograd_choice.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/pad.h"
#include "relay/layout_rule.h"
#include "relay/make.h"
#include "runtime/packed_func.h"
#include "te/tensor.h"
#include "topi/cpu/machine.h"
#include "topi/nn/conv.h"
#include "topi/nn/conv_phases.h"

namespace tessera::op {
namespace {

/// "OIHW" of 2, with blocks: "OIHW16i8o".
std::string with_blocks(const String& plain, int64_t first, char first_letter, int64_t second, char second_letter) {
  return plain.str() + std::to_string(first) + first_letter + std::to_string(second) + second_letter;
}
std::string blocked_data(size_t spatial, int64_t block) {
  return topi::plain_data_layout(spatial).str() + std::to_string(block) + "c";
}

/// All of float32, with a weight and channels of fixed extents, on a CPU, in a layout without blocks; then how many floats a vector has, else 0.
template <class A>
int64_t lanes_for(const A* attrs, const Array<Expr>& args, const Array<ObjectRef>& placeholders, const Type& type,
                  const relay::GraphEnvironment& environment) {
  if (!environment.is_for_cpu() || !attrs || args.size() != 2) return 0;
  const DataType dtype = DataType::Float(32);
  for (const ObjectRef& placeholder : placeholders)
    if (placeholder.as<te::TensorNode>()->dtype != dtype) return 0;
  const Layout layout = make_layout(attrs->data_layout);
  if (type.as<TensorTypeNode>()->dtype != dtype || layout->factor_of('C') > 0) return 0;
  if (!has_fixed_channels(layout, placeholders[0].as<te::TensorNode>()->shape)) return 0;
  if (!is_fixed(placeholders[1].as<te::TensorNode>()->shape)) return 0;
  if (!attrs->out_layout.empty() && attrs->out_layout != attrs->data_layout) return 0;
  for (size_t i = 0; i < attrs->strides.size(); ++i)
    if (!as_int(attrs->strides[i]) || !as_int(attrs->dilation[i])) return 0;
  return topi::machine_of(environment.target)->vector_bytes / dtype.bytes();
}

template <class A>
Expr changed_call(const Op& op, const Array<Expr>& args, const Attrs& given, auto change) {
  return relay::make_call(op, args, relay::changed_attrs<A>(given, change));
}

}  // namespace

Expr layout::block_conv(const Op& op, const Attrs& given, const Array<Expr>& args, const Array<ObjectRef>& placeholders,
                        const Type& type, const relay::GraphEnvironment& environment) {
  auto* attrs = cast_or_null<relay::ConvAttrs>(given.get());
  const int64_t lanes = lanes_for(attrs, args, placeholders, type, environment);
  if (lanes == 0) return nullptr;
  const size_t spatial = attrs->strides.size();
  Layout plain = make_layout(topi::plain_data_layout(spatial)),
         plain_kernel = make_layout(topi::plain_kernel_layout(spatial));
  Layout in = make_layout(attrs->data_layout), own_kernel = make_layout(attrs->kernel_layout);
  if (in->axes.size() != spatial + 2 || own_kernel->axes.size() != spatial + 2) return nullptr;
  Array<PrimExpr> shape = convert_shape(in, plain, placeholders[0].as<te::TensorNode>()->shape);
  Array<PrimExpr> kernel = convert_shape(own_kernel, plain_kernel, placeholders[1].as<te::TensorNode>()->shape);
  const int64_t ins = *as_int(shape[1]), outs = *as_int(kernel[0]);
  GroupBlocks blocks;
  if (topi::is_depthwise(attrs->groups, shape[1], kernel)) {
    const int64_t block = result_block(outs, lanes);
    if (!is_one(kernel[1])) return nullptr;
    blocks = {block, block, 1};
  } else if (attrs->groups == 1) {
    blocks.in = blocks.weight = data_block(ins, lanes);
    blocks.out = result_block(outs, lanes);
  } else {
    blocks = group_blocks(ins, outs, attrs->groups, lanes);
  }
  if (blocks.out == 0) return nullptr;
  const Expr blocked = changed_call<relay::ConvAttrs>(op, args, given, [&](auto& out) {
    out.channels = kernel[0];
    out.kernel_size = Array<PrimExpr>(kernel.begin() + 2, kernel.end());
    out.data_layout = blocked_data(spatial, blocks.in);
    out.out_layout = blocked_data(spatial, blocks.out);
    out.kernel_layout = with_blocks(topi::plain_kernel_layout(spatial), blocks.weight, 'i', blocks.out, 'o');
  });
  if (blocks.in < kMinLanes || outs / attrs->groups % blocks.out != 0) return blocked;
  auto* changed = cast_or_null<relay::ConvAttrs>(blocked.as<relay::Call>()->attrs.get());
  const topi::Machine machine = topi::machine_of(environment.target);
  const WinogradLayer layer{.ins = ins,
                            .outs = outs,
                            .kernel = changed->kernel_size,
                            .results = convert_shape(in, plain, type.as<TensorTypeNode>()->shape),
                            .lanes = lanes,
                            .groups = attrs->groups,
                            .cache_bytes = std::max(machine->l2_bytes, machine->l3_bytes)};
  const std::vector<size_t> axes = winograd_axes(*attrs, layer, args[1], environment.context);
  return axes.empty() ? blocked : make_winograd(args, *changed, attrs->kernel_layout, blocks.out, axes);
}

/// A transposed convolution. Where its phases could not have different kernel sizes, the weight gets zeros at the end,
/// up to a multiple of the stride, which the result's end is cropped by.
Expr layout::block_transposed(const Op& op, const Attrs& given, const Array<Expr>& args,
                              const Array<ObjectRef>& placeholders, const Type& type,
                              const relay::GraphEnvironment& environment) {
  auto* attrs = cast_or_null<relay::ConvTransposeAttrs>(given.get());
  const int64_t lanes = lanes_for(attrs, args, placeholders, type, environment);
  if (lanes == 0 || attrs->groups != 1) return nullptr;
  const size_t spatial = attrs->strides.size();
  const String plain_kernel = topi::plain_transposed_kernel_layout(spatial);
  Layout in = make_layout(attrs->data_layout), own_kernel = make_layout(attrs->kernel_layout);
  if (in->axes.size() != spatial + 2 || own_kernel->axes.size() != spatial + 2) return nullptr;
  Array<PrimExpr> shape =
      convert_shape(in, make_layout(topi::plain_data_layout(spatial)), placeholders[0].as<te::TensorNode>()->shape);
  Array<PrimExpr> kernel =
      convert_shape(own_kernel, make_layout(plain_kernel), placeholders[1].as<te::TensorNode>()->shape);
  const int64_t in_block = data_block(*as_int(shape[1]), lanes), out_block = result_block(*as_int(kernel[1]), lanes);
  if (out_block == 0) return nullptr;
  Array<PrimExpr> padding = topi::full_padding(attrs->padding, spatial), kernel_size;
  Array<Array<PrimExpr>> zeros;
  bool has_zeros = false;
  const bool may_be_uneven =
      topi::takes_uneven_phases(attrs->strides, Array<PrimExpr>(kernel.begin() + 2, kernel.end()));
  for (size_t i = 0; i < own_kernel->axes.size(); ++i) zeros.push_back({PrimExpr(0), PrimExpr(0)});
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t stride = *as_int(attrs->strides[i]), count = *as_int(kernel[2 + i]), rest = count % stride;
    if (stride > 1 && *as_int(attrs->dilation[i]) != 1) return nullptr;
    const int64_t more = rest == 0 || may_be_uneven ? 0 : stride - rest;
    kernel_size.push_back(PrimExpr(static_cast<int>(count + more)));
    padding.set(spatial + i, padding[spatial + i] + static_cast<int>(more));
    const int axis = own_kernel->index_of(make_layout(plain_kernel)->letter(2 + i));
    zeros.set(static_cast<size_t>(axis), {PrimExpr(0), PrimExpr(static_cast<int>(more))});
    has_zeros |= more > 0;
  }
  Array<Expr> changed = args;
  if (has_zeros) {
    relay::PadAttrs pad;
    pad.pad_width = zeros;
    changed.set(1, relay::make_call(Op::get("nn.pad"), {args[1], relay::make_scalar(0, DataType::Float(32))},
                                    Attrs(make(std::move(pad)))));
  }
  const char in_letter = spatial == 2 ? 'i' : 'o', out_letter = spatial == 2 ? 'o' : 'i';
  std::string letters = plain_kernel.str();
  std::swap(letters[0], letters[1]);  // out channels first
  return changed_call<relay::ConvTransposeAttrs>(op, changed, given, [&](auto& out) {
    out.channels = kernel[1];
    out.kernel_size = kernel_size;
    out.padding = padding;
    out.data_layout = blocked_data(spatial, in_block);
    out.out_layout = blocked_data(spatial, out_block);
    out.kernel_layout = with_blocks(letters, in_block, in_letter, out_block, out_letter);
  });
}

}  // namespace tessera::op

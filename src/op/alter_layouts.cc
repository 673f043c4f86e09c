// Which layouts convolutions take on a processor (the slot FTVMAlterOpLayout): channels in blocks of as many as a vector
// register holds, so that neighbours of a result lie together whatever the kernel. All convolutions of a graph choose by the
// number of channels alone; so a result already lies as the next one reads it.

#include "ir/prim_ops.h"
#include "op/records.h"
#include "relay/attrs/conv.h"
#include "relay/inspect.h"
#include "relay/layout_rule.h"
#include "runtime/packed_func.h"
#include "te/tensor.h"
#include "topi/cpu/machine.h"
#include "topi/nn/conv.h"

namespace tessera::op {
namespace {

constexpr int64_t kFewestLanes = 4;  // of a result: fewer are no vector

/// The largest power of two times `kFewestLanes` that divides the channels and fits a register; 0 where there is none.
int64_t result_block(int64_t channels, int64_t lanes) {
  for (int64_t block = lanes; block >= kFewestLanes; block /= 2)
    if (channels % block == 0) return block;
  return 0;
}

/// Data only has to be read one channel after the other: any divisor will do.
int64_t data_block(int64_t channels, int64_t lanes) {
  if (int64_t block = result_block(channels, lanes)) return block;
  int64_t block = std::min(channels, lanes);
  while (channels % block != 0) --block;
  return block;
}

bool is_fixed(const Array<PrimExpr>& shape) {
  for (const PrimExpr& extent : shape)
    if (!as_int(extent) || *as_int(extent) < 1) return false;
  return true;
}

std::string blocked(int64_t block) { return "NCHW" + std::to_string(block) + "c"; }

Expr block_channels(const Attrs& given, const Array<Expr>& args, const Array<ObjectRef>& placeholders,
                    const Type& type) {
  Target target = Target::current();
  auto* attrs = given.as<relay::Conv2DAttrs>();
  if (!target || target->kind->name != "llvm" || !attrs || args.size() != 2) return nullptr;
  auto* data = placeholders[0].as<te::TensorNode>();
  auto* weight = placeholders[1].as<te::TensorNode>();
  auto* result = type.as<TensorTypeNode>();
  const DataType dtype = DataType::Float(32);
  if (!is_fixed(data->shape) || !is_fixed(weight->shape) || data->dtype != dtype || weight->dtype != dtype ||
      result->dtype != dtype)
    return nullptr;
  if (attrs->data_layout != "NCHW" && attrs->data_layout != "NHWC") return nullptr;
  if (!attrs->out_layout.empty() && attrs->out_layout != attrs->data_layout) return nullptr;
  Layout plain_kernel = make_layout("OIHW");
  Array<PrimExpr> in = convert_shape(make_layout(attrs->data_layout), make_layout("NCHW"), data->shape);
  Array<PrimExpr> kernel = convert_shape(make_layout(attrs->kernel_layout), plain_kernel, weight->shape);
  const int64_t ins = *as_int(in[1]), lanes = topi::machine_of(target)->vector_bytes / dtype.bytes();
  const bool by_channel = topi::is_depthwise(attrs->groups, in[1], kernel) && is_one(kernel[1]);
  const int64_t outs = *as_int(kernel[0]);
  if (attrs->groups != 1 && !by_channel) return nullptr;
  const int64_t out_block = result_block(outs, lanes), in_block = by_channel ? out_block : data_block(ins, lanes);
  if (out_block == 0) return nullptr;

  ObjectRef copy(given->type()->copy(given.get()));
  auto* changed = const_cast<relay::Conv2DAttrs*>(copy.as<relay::Conv2DAttrs>());
  changed->channels = kernel[0];
  changed->kernel_size = {kernel[2], kernel[3]};
  changed->data_layout = blocked(in_block);
  changed->out_layout = blocked(out_block);
  changed->kernel_layout = "OIHW" + std::to_string(by_channel ? 1 : in_block) + "i" + std::to_string(out_block) + "o";
  const char* op = by_channel ? "nn.contrib_depthwise_conv2d_NCHWc" : "nn.contrib_conv2d_NCHWc";
  return relay::make_call(Op::get(op), args, downcast<Attrs>(copy));
}

}  // namespace

void layout_alterations() {
  Op::get("nn.conv2d").set(relay::kAlterOpLayout, Any(typed("nn.conv2d in blocks of channels", block_channels)));
}

}  // namespace tessera::op

// Transposed convolutions on a processor whose channels fill no vector (the slot FTVMLegalize): the constant weight gets channels
// of zeros up to a whole number of vectors, and the result is cut to what was asked for. Others need no blocks of channels:
// their tiles go along pixels at the same speed, and so do those of transposed ones of very few channels.
//
//   nn.conv2d_transpose(%x, w, channels=21)   =>   strided_slice(nn.conv2d_transpose(%x, nn.pad(w), channels=32), ...)

#include "ir/pass.h"
#include "op/channel_blocks.h"
#include "op/layout_rules.h"
#include "op/records.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/pad.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/packed_func.h"
#include "tir/layout.h"
#include "topi/cpu/machine.h"

namespace tessera::op {
namespace {

constexpr int kLevel = 3;  // of AlterOpLayout, which puts channels into blocks

/// So many channels that blocks hold them: whole vectors, or one of a quarter or half of the lanes where that is enough.
int64_t filled(int64_t channels, int64_t lanes) {
  int64_t block = lanes;
  while (block / 2 >= kFewestLanes && channels <= block / 2) block /= 2;
  return (channels + block - 1) / block * block;
}

Expr padded(const Expr& weight, size_t axis, int64_t more) {
  relay::PadAttrs pad;
  for (size_t i = 0; i < relay::rank_of(weight); ++i)
    pad.pad_width.push_back({PrimExpr(0), PrimExpr(static_cast<int>(i == axis ? more : 0))});
  return relay::make_call(Op::get("nn.pad"), {weight, relay::make_scalar(0, DataType::Float(32))},
                          Attrs(make(std::move(pad))));
}

/// `letter`: of the result's channels in the layout of the weight.
Expr fill_channels(const char* op, char letter, const Attrs& given, const Array<Expr>& args, const Array<Type>& types) {
  Target target = Target::current();
  auto* attrs = cast_or_null<relay::ConvTransposeAttrs>(given.get());
  if (!target || target->kind->name != "llvm" || PassContext::current()->opt_level < kLevel) return nullptr;
  if (!attrs || attrs->groups != 1 || !args[1].as<relay::Constant>()) return nullptr;
  for (const Type& type : types) {
    auto* tensor = type.as<TensorTypeNode>();
    if (!tensor || tensor->dtype != DataType::Float(32) || !is_fixed(tensor->shape)) return nullptr;
  }
  const String out_text = attrs->out_layout.empty() ? attrs->data_layout : attrs->out_layout;
  const Layout kernel = make_layout(attrs->kernel_layout), out = make_layout(out_text);
  if (kernel->axes.size() != types[1].as<TensorTypeNode>()->shape.size() || out->axes.size() != kernel->axes.size())
    return nullptr;
  const Array<PrimExpr>& shape = types.back().as<TensorTypeNode>()->shape;
  const int channel = out->index_of('C');
  const int64_t channels = *as_int(shape[static_cast<size_t>(channel)]);
  const int64_t lanes = topi::machine_of(target)->vector_bytes / 4, wanted = filled(channels, lanes);
  if (result_block(channels, lanes) != 0 || channels < kFewestLanes) return nullptr;
  const int axis = kernel->index_of(letter);
  if (*as_int(types[1].as<TensorTypeNode>()->shape[static_cast<size_t>(axis)]) != channels) return nullptr;
  Attrs wider = relay::changed_attrs<relay::ConvTransposeAttrs>(
      given, [&](auto& a) { a.channels = PrimExpr(static_cast<int>(wanted)); });
  Expr all =
      relay::make_call(Op::get(op), {args[0], padded(args[1], static_cast<size_t>(axis), wanted - channels)}, wider);
  std::vector<int64_t> begin(shape.size(), 0), end;
  for (const PrimExpr& extent : shape) end.push_back(*as_int(extent));
  return relay::strided_slice(all, relay::int_array(begin), relay::int_array(end));
}

void fill(const char* op, char letter) {
  auto rule = [op, letter](Attrs attrs, Array<Expr> args, Array<Type> types) {
    return fill_channels(op, letter, attrs, args, types);
  };
  Op::get(op).set("FTVMLegalize", Any(typed(std::string(op) + " with channels that fill vectors", rule)));
}

}  // namespace

void channel_fillings() {
  fill("nn.conv1d_transpose", 'I');
  fill("nn.conv2d_transpose", 'O');
  fill("nn.conv3d_transpose", 'I');
}

}  // namespace tessera::op

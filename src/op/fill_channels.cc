// Convolutions on a processor whose channels fill no vector (the slot FTVMLegalize): the constant weight gets channels of zeros
// up to a whole number of vectors, and the result is cut to what was asked for. So are transposed ones of more than
// very few channels; of the others, those of several pictures, of few pixels and of open extents, which have no tiles along
// pixels.
//
//   nn.conv2d_transpose(%x, w, channels=21)   =>   strided_slice(nn.conv2d_transpose(%x, nn.pad(w), channels=32), ...)

#include "ir/pass.h"
#include "op/channel_blocks.h"
#include "op/layout_rules.h"
#include "op/records.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/packed_func.h"
#include "tir/layout.h"
#include "topi/cpu/machine.h"

namespace tessera::op {
namespace {

constexpr int kLevel = 3;              // of AlterOpLayout, which puts channels into blocks
constexpr int64_t kFewestVectors = 4;  // of pixels, for tiles of them

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

/// True where tiles along the pixels of one picture serve as well.
bool has_tiles_of_pixels(const Layout& layout, const Array<PrimExpr>& shape, int64_t lanes) {
  if (!is_fixed(shape)) return false;
  const Array<PrimExpr> plain = convert_shape(layout, make_layout("NCHW"), shape);
  return *as_int(plain[0]) == 1 && *as_int(plain[2]) * *as_int(plain[3]) >= kFewestVectors * lanes;
}

/// `letter`: of the result's channels in the layout of the weight.
template <class ConvAttrs>
Expr fill_channels(const char* op, char letter, const Attrs& given, const Array<Expr>& args, const Array<Type>& types) {
  constexpr bool is_transposed = std::is_same_v<ConvAttrs, relay::ConvTransposeAttrs>;
  Target target = Target::current();
  auto* attrs = cast_or_null<ConvAttrs>(given.get());
  if (!target || target->kind->name != "llvm" || PassContext::current()->opt_level < kLevel) return nullptr;
  if (!attrs || attrs->groups != 1 || !args[1].template as<relay::Constant>()) return nullptr;
  for (const Type& type : types) {
    auto* tensor = type.as<TensorTypeNode>();
    if (!tensor || tensor->dtype != DataType::Float(32) || (is_transposed && !is_fixed(tensor->shape))) return nullptr;
  }
  const String out_text = attrs->out_layout.empty() ? attrs->data_layout : attrs->out_layout;
  const Layout kernel = make_layout(attrs->kernel_layout), out = make_layout(out_text);
  if (kernel->axes.size() != types[1].as<TensorTypeNode>()->shape.size() || out->axes.size() != kernel->axes.size())
    return nullptr;
  const Array<PrimExpr>& shape = types.back().as<TensorTypeNode>()->shape;
  const int channel = out->index_of('C'), axis = kernel->index_of(letter);
  const int64_t channels = *as_int(types[1].as<TensorTypeNode>()->shape[static_cast<size_t>(axis)]);
  const int64_t lanes = topi::machine_of(target)->vector_bytes / 4, wanted = filled(channels, lanes);
  if (result_block(channels, lanes) != 0 || !is_const_int(shape[static_cast<size_t>(channel)], channels))
    return nullptr;
  if constexpr (is_transposed) {
    if (channels < kFewestLanes) return nullptr;
  } else {
    const bool costs_little = wanted <= 2 * channels;
    if (!costs_little || has_tiles_of_pixels(out, shape, lanes)) return nullptr;
  }
  Attrs wider =
      relay::changed_attrs<ConvAttrs>(given, [&](auto& a) { a.channels = PrimExpr(static_cast<int>(wanted)); });
  Expr all =
      relay::make_call(Op::get(op), {args[0], padded(args[1], static_cast<size_t>(axis), wanted - channels)}, wider);
  relay::StridedSliceAttrs cut;
  cut.begin = {PrimExpr(0)};
  cut.end = {PrimExpr(static_cast<int>(channels))};
  cut.strides = {PrimExpr(1)};
  cut.axes = {PrimExpr(channel)};
  return relay::make_call(Op::get("strided_slice"), {all}, Attrs(make(std::move(cut))));
}

template <class ConvAttrs>
void fill(const char* op, char letter) {
  auto rule = [op, letter](Attrs attrs, Array<Expr> args, Array<Type> types) {
    return fill_channels<ConvAttrs>(op, letter, attrs, args, types);
  };
  Op::get(op).set("FTVMLegalize", Any(typed(std::string(op) + " with channels that fill vectors", rule)));
}

}  // namespace

void channel_fillings() {
  fill<relay::ConvTransposeAttrs>("nn.conv1d_transpose", 'I');
  fill<relay::ConvTransposeAttrs>("nn.conv2d_transpose", 'O');
  fill<relay::ConvTransposeAttrs>("nn.conv3d_transpose", 'I');
  fill<relay::Conv2DAttrs>("nn.conv2d", 'O');
}

}  // namespace tessera::op

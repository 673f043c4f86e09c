// Convolutions on a CPU whose channels fill no vector (the slot FTVMLegalize): the constant weight gets channel padding
// up to a whole number of vectors, and the result is cropped to the channels it has. So are transposed ones of more than
// very few channels; of the others, those of many channels of data, which lie in blocks, and those of several images, of few pixels
// and of dynamic extents, which have no tiles along pixels.
//
//   nn.conv2d_transpose(%x, w, channels=21)   =>   strided_slice(nn.conv2d_transpose(%x, nn.pad(w), channels=32), ...)
//
// Convolutions of uint8 by int8 get whole vectors of results too, and data whole groups of channels (topi/cpu/contraction/group_dot.h).

#include "relay/transform/layout/pad_channels.h"
#include "ir/pass/pass.h"
#include "op/channel_blocks.h"
#include "op/layout_rules.h"
#include "op/records.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "tir/layout.h"
#include "topi/cpu/contraction/group_dot.h"

namespace tessera::op {
namespace {

constexpr int kLevel = 3;           // of AlterOpLayout, which puts channels into blocks
constexpr int64_t kMinVectors = 4;  // of pixels, for tiles of them
constexpr int64_t kMinBlocks = 4;   // of channels of data, from which on they stay in blocks

/// So many channels that blocks hold them: whole vectors, or one of a quarter or half of the lanes where that is enough.
int64_t filled(int64_t channels, int64_t lanes) {
  int64_t block = lanes;
  while (block / 2 >= kMinLanes && channels <= block / 2) block /= 2;
  return (channels + block - 1) / block * block;
}

/// `more` channels behind those of an axis, of zeros; of whatever lies around the data already where there is a border.
Expr padded(const Expr& x, DataType dtype, size_t rank, size_t axis, int64_t more) {
  if (more == 0) return x;
  const PrimExpr count(static_cast<int>(more));
  if (auto* border = relay::as_call(x, "nn.pad");
      border && is_zero(border->attrs_as<relay::PadAttrs>()->pad_width[axis][1]))
    return relay::make_call(border->op, border->args,
                            relay::changed_attrs<relay::PadAttrs>(
                                border->attrs, [&](auto& a) { a.pad_width.set(axis, {a.pad_width[axis][0], count}); }));
  std::vector<std::array<int64_t, 2>> widths(rank, {0, 0});
  widths[axis][1] = more;
  return relay::pad_around(x, widths, 0, dtype);
}

/// True where tiles along the pixels of one image serve as well.
bool has_tiles_of_pixels(const Layout& layout, const Array<PrimExpr>& shape, int64_t lanes) {
  if (!is_fixed(shape)) return false;
  const Array<PrimExpr> plain = convert_shape(layout, make_layout("NCHW"), shape);
  return *as_int(plain[0]) == 1 && *as_int(plain[2]) * *as_int(plain[3]) >= kMinVectors * lanes;
}

/// True where a whole vector takes as long as two halves: Zen 4 executes vectors of AVX-512 so, Zen those of AVX2.
bool executes_by_halves(const topi::Machine& machine) { return machine->cpu == "znver4" || machine->cpu == "znver1"; }

/// With channel padding where no block that is as quick as whole vectors holds the channels, and padding is a quarter at most.
int64_t padded_channels(int64_t channels, const Target& target) {
  const topi::Machine machine = topi::machine_of(target);
  const int64_t lanes = machine->vector_bytes / 4, wanted = (channels + lanes - 1) / lanes * lanes;
  const int64_t quick = executes_by_halves(machine) ? lanes / 2 : lanes;
  return result_block(channels, lanes) >= quick || 4 * channels < 3 * wanted ? channels : wanted;
}

/// `letter`: of the result's channels in the layout of the weight.
template <class ConvAttrs>
Expr pad_channels(const Op& op, char letter, const Attrs& given, const Array<Expr>& args, const Array<Type>& types,
                  const relay::GraphEnvironment& environment) {
  constexpr bool is_transposed = std::is_same_v<ConvAttrs, relay::ConvTransposeAttrs>;
  auto* attrs = cast_or_null<ConvAttrs>(given.get());
  if (!environment.is_for_cpu() || environment.context->opt_level < kLevel) return nullptr;
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
  const int64_t lanes = topi::machine_of(environment.target)->vector_bytes / 4, wanted = filled(channels, lanes);
  if (result_block(channels, lanes) != 0 || !is_const_int(shape[static_cast<size_t>(channel)], channels))
    return nullptr;
  if constexpr (is_transposed) {
    if (channels < kMinLanes) return nullptr;
  } else {
    const bool costs_little = wanted <= 2 * channels;
    const int64_t ins = *as_int(types[1].as<TensorTypeNode>()->shape[static_cast<size_t>(kernel->index_of('I'))]);
    const bool has_blocks_of_data = ins % lanes == 0 && ins >= kMinBlocks * lanes;  // which else change their layout
    if (!costs_little || (!has_blocks_of_data && has_tiles_of_pixels(out, shape, lanes))) return nullptr;
    // PadChannels does as much, and the layers around keep the padding.
    if (padded_channels(channels, environment.target) == wanted) return nullptr;
  }
  Attrs wider =
      relay::changed_attrs<ConvAttrs>(given, [&](auto& a) { a.channels = PrimExpr(static_cast<int>(wanted)); });
  Expr weight = padded(args[1], DataType::Float(32), kernel->axes.size(), static_cast<size_t>(axis), wanted - channels);
  return relay::slice_axis(relay::make_call(op, {args[0], weight}, wider), channel, 0, channels);
}

/// Of uint8 by int8. Results of very few channels stay as they are.
Expr pad_int8(const Op& op, const Attrs& given, const Array<Expr>& args, const Array<Type>& types,
              const relay::GraphEnvironment& environment) {
  auto* attrs = cast_or_null<relay::Conv2DAttrs>(given.get());
  if (!environment.is_for_cpu() || environment.context->opt_level < kLevel) return nullptr;
  if (!attrs || attrs->groups != 1 || !args[1].as<relay::Constant>()) return nullptr;
  auto *data = types[0].as<TensorTypeNode>(), *weight = types[1].as<TensorTypeNode>();
  const topi::Isa* isa = topi::int8_isa(topi::machine_of(environment.target));
  if (!isa || !data || !weight || data->dtype != topi::kInt8Dot.a || weight->dtype != topi::kInt8Dot.b ||
      types.back().as<TensorTypeNode>()->dtype != topi::kInt8Dot.sum)
    return nullptr;
  const Layout kernel = make_layout(attrs->kernel_layout), layout = make_layout(attrs->data_layout);
  if (kernel->axes.size() != 4 || layout->axes.size() != 4) return nullptr;
  if (!attrs->out_layout.empty() && attrs->out_layout != attrs->data_layout) return nullptr;
  const auto out_axis = static_cast<size_t>(kernel->index_of('O')),
             in_axis = static_cast<size_t>(kernel->index_of('I')), channel = static_cast<size_t>(layout->index_of('C'));
  const int64_t lanes = isa->vector_bytes / 4, ins = *as_int(weight->shape[in_axis]),
                outs = *as_int(weight->shape[out_axis]);
  auto missing = [](int64_t count, int64_t unit) { return (unit - count % unit) % unit; };
  const bool has_blocks =
      topi::group_isa(topi::machine_of(environment.target), topi::kInt8Dot, result_block(outs, lanes));
  const int64_t more_ins = missing(ins, topi::kInt8Group), more_outs = has_blocks ? 0 : missing(outs, lanes);
  if ((more_ins == 0 && more_outs == 0) || !is_const_int(data->shape[channel], ins) || outs < kMinLanes) return nullptr;
  Attrs wider = relay::changed_attrs<relay::Conv2DAttrs>(
      given, [&](auto& a) { a.channels = PrimExpr(static_cast<int>(outs + more_outs)); });
  Expr filters = padded(padded(args[1], weight->dtype, 4, in_axis, more_ins), weight->dtype, 4, out_axis, more_outs);
  Expr all = relay::make_call(op, {padded(args[0], data->dtype, 4, channel, more_ins), filters}, wider);
  return more_outs == 0 ? all : relay::slice_axis(all, static_cast<int>(channel), 0, outs);
}

void channel_padding() {
  for (const char* name : {"nn.conv1d", "nn.conv2d", "nn.conv3d"})
    Op::get(name).set(relay::kPaddedChannels, Any(typed("channel padding on CPUs", padded_channels)));
}

[[gnu::init_priority(kFamilies)]] const OpFamily channel_padding_family{channel_padding, FillOrder::MoreSlots};

}  // namespace

Expr layout::pad_channels_conv2d(const Op& op, const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
                                 const relay::GraphEnvironment& environment) {
  if (Expr out = pad_int8(op, attrs, args, types, environment)) return out;
  return pad_channels<relay::Conv2DAttrs>(op, 'O', attrs, args, types, environment);
}

template <char letter>
Expr layout::pad_channels_transposed(const Op& op, const Attrs& attrs, const Array<Expr>& args,
                                     const Array<Type>& types, const relay::GraphEnvironment& environment) {
  return pad_channels<relay::ConvTransposeAttrs>(op, letter, attrs, args, types, environment);
}
template Expr layout::pad_channels_transposed<'I'>(const Op&, const Attrs&, const Array<Expr>&, const Array<Type>&,
                                                   const relay::GraphEnvironment&);
template Expr layout::pad_channels_transposed<'O'>(const Op&, const Attrs&, const Array<Expr>&, const Array<Type>&,
                                                   const relay::GraphEnvironment&);

}  // namespace tessera::op

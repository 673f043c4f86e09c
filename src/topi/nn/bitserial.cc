#include "topi/nn/bitserial.h"

#include "ir/prim/ops.h"
#include "te/reduce.h"
#include "topi/nn/pad.h"
#include "topi/operand.h"

namespace tessera::topi {
namespace {

using Indices = Array<PrimExpr>;

IterVar axis_over(const PrimExpr& extent, const char* name) {
  return te::reduce_axis(make_range(make_zero(extent.dtype()), extent), name);
}

/// The contraction of two words.
PrimExpr count(const PrimExpr& a, const PrimExpr& w, const BitserialOptions& options) {
  auto bits = [&](const PrimExpr& word) {
    return tessera::cast(options.out_dtype, make_call(word.dtype(), "tir.popcount", {word}));
  };
  PrimExpr both = bits(a & w);
  return options.is_unipolar ? both - bits(a & ~w) : both;
}

PrimExpr weighted(const PrimExpr& counted, const PrimExpr& a_bit, const PrimExpr& w_bit) {
  return counted << tessera::cast(counted.dtype(), a_bit + w_bit);
}

}  // namespace

te::Tensor bitpack(const te::Tensor& data, int bits, int pack_axis, int bit_axis, DataType pack_type,
                   const String& name) {
  const int width = pack_type.bits;
  const int64_t* extent = as_int(data->shape[pack_axis]);
  if (extent && *extent % width != 0)
    throw Error(ValueError) << *extent << " elements do not fill words of " << to_text(pack_type);
  std::vector<PrimExpr> shape(data->shape.begin(), data->shape.end());
  shape[pack_axis] = floordiv(shape[pack_axis], width);
  shape.insert(shape.begin() + bit_axis, PrimExpr(bits));
  return compute(
      shape, "ax",
      [&](const Indices& at) {
        std::vector<PrimExpr> from(at.begin(), at.end());
        PrimExpr plane = tessera::cast(pack_type, at[bit_axis]), out = make_zero(pack_type);
        from.erase(from.begin() + bit_axis);
        const PrimExpr first = from[pack_axis] * width;
        for (int k = 0; k < width; ++k) {
          from[pack_axis] = first + k;
          PrimExpr element = tessera::cast(pack_type, te::load(data, from));
          PrimExpr bit = (element >> plane) & make_const(pack_type, 1);
          out = out | (bit << make_const(pack_type, width - 1 - k));
        }
        return out;
      },
      name, "bitpack");
}

te::Tensor bitserial_dense(const te::Tensor& data, const te::Tensor& weight, const BitserialOptions& options) {
  te::Tensor a = bitpack(data, options.data_bits, 1, 1, options.pack_type, "data_words");
  te::Tensor w = weight->shape.size() == 3
                     ? weight
                     : bitpack(weight, options.weight_bits, 1, 1, options.pack_type, "weight_words");
  IterVar db = axis_over(a->shape[1], "db"), wb = axis_over(w->shape[1], "wb"), k = axis_over(a->shape[2], "k");
  return compute(
      {a->shape[0], w->shape[0]}, "ax",
      [&](const Indices& at) {
        PrimExpr counted = count(te::load(a, {at[0], db->var, k->var}), te::load(w, {at[1], wb->var, k->var}), options);
        return te::sum(weighted(counted, db->var, wb->var), {wb, db, k});
      },
      "bitserial_dense", "bitserial_dense");
}

te::Tensor bitserial_conv2d(const te::Tensor& data, const te::Tensor& weight, bool is_nhwc,
                            const Array<PrimExpr>& strides, const Array<PrimExpr>& padding,
                            const BitserialOptions& options) {
  const int channel_axis = is_nhwc ? 3 : 1, rows = is_nhwc ? 1 : 3;  // of the packed data
  te::Tensor a = bitpack(data, options.data_bits, channel_axis, channel_axis, options.pack_type, "data_words");
  te::Tensor w = weight->shape.size() == 5 ? weight
                                           : bitpack(weight, options.weight_bits, is_nhwc ? 2 : 1, is_nhwc ? 2 : 0,
                                                     options.pack_type, "weight_words");
  const Array<PrimExpr>& s = w->shape;
  PrimExpr height = is_nhwc ? s[0] : s[3], width = is_nhwc ? s[1] : s[4], bits = is_nhwc ? s[2] : s[0];
  PrimExpr words = is_nhwc ? s[3] : s[2], channels = is_nhwc ? s[4] : s[1];
  Array<PrimExpr> before(5, PrimExpr(0)), after(5, PrimExpr(0));
  for (int i = 0; i < 2; ++i) {
    before.set(rows + i, padding[i]);
    after.set(rows + i, padding[i + 2]);
  }
  te::Tensor padded = pad(a, before, after, make_zero(options.pack_type));
  auto windows = [&](int i, const PrimExpr& kernel) {
    return floordiv(padded->shape[rows + i] - kernel, strides[i]) + 1;
  };
  IterVar c = axis_over(words, "ci"), dy = axis_over(height, "dh"), dx = axis_over(width, "dw");
  IterVar db = axis_over(a->shape[is_nhwc ? 3 : 1], "ib"), wb = axis_over(bits, "kb");
  auto element = [&](const PrimExpr& n, const PrimExpr& o, const PrimExpr& y, const PrimExpr& x) {
    PrimExpr row = y * strides[0] + dy->var, column = x * strides[1] + dx->var;
    Indices from = is_nhwc ? Indices{n, row, column, db->var, c->var} : Indices{n, db->var, c->var, row, column};
    Indices by =
        is_nhwc ? Indices{dy->var, dx->var, wb->var, c->var, o} : Indices{wb->var, o, c->var, dy->var, dx->var};
    PrimExpr counted = count(te::load(padded, from), te::load(w, by), options);
    return te::sum(weighted(counted, db->var, wb->var), {c, dy, dx, wb, db});
  };
  const PrimExpr &batch = a->shape[0], down = windows(0, height), across = windows(1, width);
  if (is_nhwc)
    return compute(
        {batch, down, across, channels}, "ax", [&](const Indices& i) { return element(i[0], i[3], i[1], i[2]); },
        "bitserial_conv2d", "bitserial_conv2d_nhwc");
  return compute(
      {batch, channels, down, across}, "ax", [&](const Indices& i) { return element(i[0], i[1], i[2], i[3]); },
      "bitserial_conv2d", "bitserial_conv2d_nchw");
}

}  // namespace tessera::topi

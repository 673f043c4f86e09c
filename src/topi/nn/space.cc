#include "topi/nn/space.h"

#include "ir/prim/ops.h"
#include "tir/layout.h"
#include "topi/nn/pad.h"
#include "topi/transform.h"

namespace tessera::topi {
namespace {

/// Where channel, height and width stand in a layout.
struct ImageAxes {
  size_t channel, height, width;
};
ImageAxes image_axes(const String& layout) {
  Layout parsed = make_layout(layout);
  auto find = [&](char letter) {
    int at = parsed->index_of(letter);
    if (at < 0 || parsed->factor_of(letter) > 0)
      throw Error(ValueError) << "the layout " << layout << " has no whole dimension " << std::string(1, letter);
    return static_cast<size_t>(at);
  };
  return {find('C'), find('H'), find('W')};
}

}  // namespace

te::Tensor space_to_depth(const te::Tensor& data, int block, const String& layout) {
  ImageAxes axes = image_axes(layout);
  Array<PrimExpr> shape = data->shape;
  PrimExpr channels = shape[axes.channel];
  shape.set(axes.channel, channels * block * block);
  shape.set(axes.height, floordiv(shape[axes.height], block));
  shape.set(axes.width, floordiv(shape[axes.width], block));
  return compute(
      shape, "i",
      [&](const Array<PrimExpr>& at) {
        PrimExpr position = floordiv(at[axes.channel], channels);
        Array<PrimExpr> source = at;
        source.set(axes.channel, floormod(at[axes.channel], channels));
        source.set(axes.height, floordiv(position, block) + at[axes.height] * block);
        source.set(axes.width, floormod(position, block) + at[axes.width] * block);
        return te::load(data, source);
      },
      "space_to_depth", kInjective);
}

te::Tensor depth_to_space(const te::Tensor& data, int block, const String& layout, const String& mode) {
  ImageAxes axes = image_axes(layout);
  // v0.10's documentation calls the second mode CDR.
  if (mode != "DCR" && mode != "CRD" && mode != "CDR")
    throw Error(ValueError) << "mode is " << mode << ", but must be DCR or CRD";
  Array<PrimExpr> shape = data->shape;
  PrimExpr channels = floordiv(shape[axes.channel], block * block);
  shape.set(axes.channel, channels);
  shape.set(axes.height, shape[axes.height] * block);
  shape.set(axes.width, shape[axes.width] * block);
  return compute(
      shape, "i",
      [&](const Array<PrimExpr>& at) {
        PrimExpr position = floormod(at[axes.height], block) * block + floormod(at[axes.width], block);
        PrimExpr channel =
            mode == "DCR" ? channels * position + at[axes.channel] : at[axes.channel] * (block * block) + position;
        Array<PrimExpr> source = at;
        source.set(axes.channel, channel);
        source.set(axes.height, floordiv(at[axes.height], block));
        source.set(axes.width, floordiv(at[axes.width], block));
        return te::load(data, source);
      },
      "depth_to_space", kInjective);
}

te::Tensor space_to_batch_nd(const te::Tensor& data, const Array<PrimExpr>& block, const Array<PrimExpr>& before,
                             const Array<PrimExpr>& after, const PrimExpr& value) {
  const size_t spatial = block.size(), rank = data->shape.size();
  Array<PrimExpr> all_before(rank, PrimExpr(0)), all_after(rank, PrimExpr(0));
  for (size_t i = 0; i < spatial; ++i) {
    all_before.set(i + 1, before[i]);
    all_after.set(i + 1, after[i]);
  }
  te::Tensor padded = pad(data, all_before, all_after, value, "T_pad", "ax");

  PrimExpr batch = padded->shape[0];
  Array<PrimExpr> split{batch}, out{batch};
  std::vector<int> order;
  for (size_t i = 0; i < spatial; ++i) {
    PrimExpr blocks = floordiv(padded->shape[i + 1], block[i]);
    split.push_back(blocks);
    split.push_back(block[i]);
    out.set(0, out[0] * block[i]);
    out.push_back(blocks);
    order.push_back(static_cast<int>(2 * i + 2));
  }
  for (size_t i = 0; i <= spatial; ++i) order.push_back(i ? static_cast<int>(2 * i - 1) : 0);
  for (size_t i = spatial + 1; i < rank; ++i) {
    order.push_back(static_cast<int>(split.size()));
    split.push_back(padded->shape[i]);
    out.push_back(padded->shape[i]);
  }
  return reshape(transpose(reshape(padded, split), order), out);
}

te::Tensor batch_to_space_nd(const te::Tensor& data, const Array<PrimExpr>& block, const Array<PrimExpr>& crop_before,
                             const Array<PrimExpr>& crop_after) {
  const size_t spatial = block.size(), rank = data->shape.size();
  PrimExpr batch = data->shape[0];
  Array<PrimExpr> split;
  for (const PrimExpr& extent : block) {
    batch = floordiv(batch, extent);
    split.push_back(extent);
  }
  split.push_back(batch);
  Array<PrimExpr> merged{batch};
  std::vector<int> order{static_cast<int>(spatial)};
  for (size_t i = 1; i < rank; ++i) {
    order.push_back(static_cast<int>(spatial + i));
    split.push_back(data->shape[i]);
    if (i > spatial) {
      merged.push_back(data->shape[i]);
      continue;
    }
    order.push_back(static_cast<int>(i - 1));
    merged.push_back(data->shape[i] * block[i - 1]);
  }
  te::Tensor whole = reshape(transpose(reshape(data, split), order), merged);
  Array<PrimExpr> shape = merged;
  for (size_t i = 0; i < spatial; ++i) shape.set(i + 1, merged[i + 1] - crop_before[i] - crop_after[i]);
  return compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> source = at;
        for (size_t i = 0; i < spatial; ++i) source.set(i + 1, at[i + 1] + crop_before[i]);
        return te::load(whole, source);
      },
      "T_strided_slice_with_axes", kInjective);
}

}  // namespace tessera::topi

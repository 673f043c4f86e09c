#include "topi/vision/roi.h"

#include "base/dtypes.h"
#include "ir/prim/ops.h"
#include "tir/layout.h"
#include "topi/image/sample.h"
#include "topi/program.h"
#include "topi/safe_index.h"

namespace tessera::topi {
namespace {

/// What both ways of pooling do for one bin and some neighbouring channels; `read` gives an element of the data by
/// index and number of the channel among them.
struct Bin {
  Buffer data, rois, out;
  Indices at;     // (region, first channel, y, x)
  int lanes = 1;  // channels
  std::function<PrimExpr(const PrimExpr& y, const PrimExpr& x, const PrimExpr& lane)> read;

  Stmt each_lane(const std::function<Stmt(const PrimExpr&)>& body) const {
    return lanes == 1 ? body(PrimExpr(0)) : loop(PrimExpr(lanes), body, LoopKind::Vectorized);
  }
};

/// How many channels that lie together are computed at once.
int lanes_of(const Layout& layout, const PrimExpr& channels) {
  const int64_t* count = as_int(channels);
  if (!count || layout->letter(layout->axes.size() - 1) != 'C') return 1;
  int out = 16;
  while (*count % out != 0) out /= 2;
  return out;
}

/// One statement for each bin of the result, over regions in parallel.
te::Tensor each_bin(
    const char* name, const te::Tensor& data, const te::Tensor& rois, const RoiOptions& options,
    const std::function<Stmt(const Bin&, const Layout& layout, const PrimExpr& coordinate_scale)>& body) {
  Layout plain = make_layout("NCHW"), layout = make_layout(options.layout);
  Array<PrimExpr> extents = convert_shape(layout, plain, data->shape);
  Indices shape{rois->shape[0], extents[1], options.pooled_size[0], options.pooled_size[1]};
  Result result{convert_shape(plain, layout, shape), data->dtype};
  return program(name, {data, rois}, {result}, [&](const Buffers& in, const Buffers& out) {
    const bool ends_in_channels = layout->letter(layout->axes.size() - 1) == 'C';
    const int lanes = lanes_of(layout, shape[1]);
    const PrimExpr groups = lanes == 1 ? shape[1] : floordiv(shape[1], PrimExpr(lanes));
    return loops(
        ends_in_channels ? Indices{shape[0], shape[2], shape[3], groups} : shape,
        [&](const Indices& i) {
          const Indices at = ends_in_channels ? Indices{i[0], i[3] * PrimExpr(lanes), i[1], i[2]} : i;
          Bin bin;
          bin.data = in[0];
          bin.rois = in[1];
          bin.out = out[0];
          bin.at = at;
          bin.lanes = lanes;
          SafeAccess access({});
          PrimExpr number = tessera::cast(kInt32, make_load(in[1], {at[0], PrimExpr(0)}));
          PrimExpr image = access.index(number, extents[0], 0);
          for (int axis : {2, 3}) access.bounded(image, extents[axis]);
          bin.read = [=](const PrimExpr& y, const PrimExpr& x, const PrimExpr& lane) {
            return if_then_else(access.is_possible(),
                                make_load(in[0], convert_indices(plain, layout, {image, at[1] + lane, y, x})),
                                make_zero(data->dtype));
          };
          return body(bin, layout, make_const(rois->dtype, options.spatial_scale));
        },
        true);
  })[0];
}

Indices result_index(const Bin& bin, const Layout& layout, const PrimExpr& lane) {
  return convert_indices(make_layout("NCHW"), layout, {bin.at[0], bin.at[1] + lane, bin.at[2], bin.at[3]});
}

/// Coordinate `i` of the region, in elements of the data: x1, y1, x2, y2.
PrimExpr coordinate(const Bin& bin, int i, const PrimExpr& scale) {
  return make_load(bin.rois, {bin.at[0], PrimExpr(i + 1)}) * scale;
}

}  // namespace

te::Tensor roi_align(const te::Tensor& data, const te::Tensor& rois, const RoiOptions& options) {
  Array<PrimExpr> extents = convert_shape(make_layout(options.layout), make_layout("NCHW"), data->shape);
  DataType real = rois->dtype;
  auto number = [&](double value) { return make_const(real, value); };
  return each_bin("roi_align", data, rois, options, [&](const Bin& bin, const Layout& layout, const PrimExpr& scale) {
    std::vector<PrimExpr> begin, step;  // of the samples of this bin, y and x
    Indices counts;
    for (int i = 0; i < 2; ++i) {
      PrimExpr first = coordinate(bin, 1 - i, scale), last = coordinate(bin, 3 - i, scale);
      PrimExpr pooled = options.pooled_size[static_cast<size_t>(i)];
      PrimExpr length = options.is_half_pixel ? last - first : max(last - first, number(1.0));
      if (options.is_half_pixel) first = first - number(0.5);
      PrimExpr size = div(length, tessera::cast(real, pooled));
      PrimExpr count = PrimExpr(options.sample_ratio);
      if (options.sample_ratio <= 0) {  // one for each pixel, of regions that are not far larger than the image
        PrimExpr most = tessera::cast(real, extents[static_cast<size_t>(i) + 2]) * number(4.0) + number(64.0);
        count = tessera::cast(kInt32, min(ceil(size), most));
      }
      if (options.is_half_pixel) count = max(count, make_const(kInt32, 0));
      begin.push_back(first + tessera::cast(real, bin.at[static_cast<size_t>(i) + 2]) * size);
      step.push_back(div(size, tessera::cast(real, options.is_half_pixel ? max(count, make_const(kInt32, 1)) : count)));
      counts.push_back(count);
    }
    return with_memory(real, bin.lanes, [&](const Buffer& memory) {
      PrimExpr empty = options.is_max ? min_value(real) : number(0.0);
      auto update = [&](const PrimExpr& lane, const PrimExpr& here) {
        PrimExpr before = make_load(memory, {lane});
        return store(memory, options.is_max ? max(before, here) : before + here, {lane});
      };
      Stmt gather = loops(counts, [&](const Indices& sample) {
        std::vector<Taps> taps;
        PrimExpr is_outside;
        for (size_t i = 0; i < 2; ++i) {
          PrimExpr position = begin[i] + (tessera::cast(real, sample[i]) + number(0.5)) * step[i];
          PrimExpr extent = tessera::cast(real, extents[i + 2]), last = extent - number(1.0);
          PrimExpr outside = logical_or(position<number(-1.0), position> extent);
          is_outside = is_outside ? logical_or(is_outside, outside) : outside;
          taps.push_back(linear_taps(min(max(position, number(0.0)), last), true));
          for (Tap& tap : taps.back())  // a NaN is no position inside
            tap.index = min(max(tap.index, make_const(kInt32, 0)), tessera::cast(kInt32, extents[i + 2] - 1));
        }
        Stmt inside = bin.each_lane([&](const PrimExpr& lane) {
          return update(lane, blend(taps, [&](const std::vector<PrimExpr>& index) {
                          return tessera::cast(real, bin.read(index[0], index[1], lane));
                        }));
        });
        Stmt outside = bin.each_lane([&](const PrimExpr& lane) { return update(lane, number(0.0)); });
        return when(is_outside, outside, inside);
      });
      Stmt start = bin.each_lane([&](const PrimExpr& lane) { return store(memory, empty, {lane}); });
      Stmt end = bin.each_lane([&](const PrimExpr& lane) {
        PrimExpr total = make_load(memory, {lane});
        PrimExpr samples = counts[0] * counts[1];  // none where a region has no area
        if (options.is_half_pixel) samples = max(samples, make_const(kInt32, 1));
        if (!options.is_max) total = div(total, tessera::cast(real, samples));
        return store(bin.out, total, result_index(bin, layout, lane));
      });
      return sequence({start, gather, end});
    });
  });
}

te::Tensor roi_pool(const te::Tensor& data, const te::Tensor& rois, const RoiOptions& options) {
  Array<PrimExpr> extents = convert_shape(make_layout(options.layout), make_layout("NCHW"), data->shape);
  DataType real = rois->dtype;
  constexpr double kSlack = 1e-5;  // against rounding of the bin's edges
  return each_bin("roi_pool", data, rois, options, [&](const Bin& bin, const Layout& layout, const PrimExpr& scale) {
    std::vector<PrimExpr> begin;
    Indices counts;
    for (int i = 0; i < 2; ++i) {
      auto pixel = [&](int which) {  // far from the limits of integers, whatever the region says
        PrimExpr far = make_const(kInt32, 1 << 29), whole = tessera::cast(kInt32, round(coordinate(bin, which, scale)));
        return max(min(whole, far), make_const(kInt32, -(1 << 29)));
      };
      PrimExpr first = pixel(1 - i), last = pixel(3 - i);
      PrimExpr pooled = tessera::cast(real, options.pooled_size[static_cast<size_t>(i)]);
      PrimExpr size = div(tessera::cast(real, max(last - first + 1, make_const(kInt32, 1))), pooled);
      PrimExpr number_of = tessera::cast(real, bin.at[static_cast<size_t>(i) + 2]), slack = make_const(real, kSlack);
      auto inside = [&](const PrimExpr& edge) {
        PrimExpr extent = tessera::cast(kInt32, extents[static_cast<size_t>(i) + 2]);
        return min(max(tessera::cast(kInt32, edge) + first, make_const(kInt32, 0)), extent);
      };
      begin.push_back(inside(floor(number_of * size + slack)));
      PrimExpr end = inside(ceil((number_of + make_const(real, 1.0)) * size - slack));
      counts.push_back(max(end - begin.back(), make_const(kInt32, 0)));
    }
    return with_memory(data->dtype, bin.lanes, [&](const Buffer& memory) {
      PrimExpr is_empty = logical_or(counts[0] <= 0, counts[1] <= 0);
      PrimExpr first = select(is_empty, make_zero(data->dtype), min_value(data->dtype));
      Stmt start = bin.each_lane([&](const PrimExpr& lane) { return store(memory, first, {lane}); });
      Stmt gather = loops(counts, [&](const Indices& at) {
        return bin.each_lane([&](const PrimExpr& lane) {
          PrimExpr here = bin.read(begin[0] + at[0], begin[1] + at[1], lane);
          return store(memory, max(make_load(memory, {lane}), here), {lane});
        });
      });
      Stmt end = bin.each_lane([&](const PrimExpr& lane) {
        return store(bin.out, make_load(memory, {lane}), result_index(bin, layout, lane));
      });
      return sequence({start, gather, end});
    });
  });
}

}  // namespace tessera::topi

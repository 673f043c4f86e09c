#include "topi/vision/boxes.h"

#include <cmath>

#include "base/dtypes.h"
#include "ir/prim/ops.h"
#include "topi/program.h"
#include "topi/safe_index.h"
#include "topi/search.h"
#include "topi/transform.h"

namespace tessera::topi {
namespace {

PrimExpr exp(const PrimExpr& x) { return unary_intrin("tir.exp", x); }

/// values[index], as a chain of choices.
PrimExpr choose(const PrimExpr& index, const std::vector<double>& values, DataType dtype) {
  PrimExpr out = make_const(dtype, values.back());
  for (size_t i = values.size() - 1; i-- > 0;)
    out = select(equal(index, make_const(index.dtype(), static_cast<int64_t>(i))), make_const(dtype, values[i]), out);
  return out;
}

}  // namespace

te::Tensor multibox_prior(const te::Tensor& data, const PriorOptions& options) {
  DataType real = data->dtype;
  PrimExpr height = data->shape[2], width = data->shape[3];
  std::vector<double> wide, high;  // half the sides of each anchor, the width still in heights
  for (double size : options.sizes) {
    wide.push_back(size / 2);
    high.push_back(size / 2);
  }
  for (size_t i = 1; i < options.ratios.size(); ++i) {
    wide.push_back(options.sizes[0] * std::sqrt(options.ratios[i]) / 2);
    high.push_back(options.sizes[0] / std::sqrt(options.ratios[i]) / 2);
  }
  auto anchors = static_cast<int>(wide.size());
  auto as_real = [&](const PrimExpr& x) { return tessera::cast(real, x); };
  auto step = [&](size_t i, const PrimExpr& extent) {
    return options.steps[i] > 0 ? make_const(real, options.steps[i]) : div(make_const(real, 1.0), as_real(extent));
  };
  return compute(
      {PrimExpr(1), height * width * anchors, PrimExpr(4)}, "i",
      [&](const Array<PrimExpr>& at) {
        PrimExpr anchor = floormod(at[1], anchors), pixel = floordiv(at[1], anchors);
        PrimExpr y = as_real(floordiv(pixel, width)), x = as_real(floormod(pixel, width));
        PrimExpr centre_y = (y + make_const(real, options.offsets[0])) * step(0, height);
        PrimExpr centre_x = (x + make_const(real, options.offsets[1])) * step(1, width);
        PrimExpr half_x = div(choose(anchor, wide, real) * as_real(height), as_real(width));
        PrimExpr half_y = choose(anchor, high, real);
        PrimExpr is_y = equal(floormod(at[2], 2), 1), centre = select(is_y, centre_y, centre_x);
        PrimExpr half = select(is_y, half_y, half_x), out = select(at[2] < 2, centre - half, centre + half);
        return options.clip ? max(min(out, make_const(real, 1.0)), make_const(real, 0.0)) : out;
      },
      "multibox_prior", "multibox_prior");
}

Array<te::Tensor> multibox_transform_loc(const te::Tensor& cls_prob, const te::Tensor& loc_pred,
                                         const te::Tensor& anchor, bool clip, double threshold,
                                         const std::vector<double>& variances) {
  PrimExpr batch = cls_prob->shape[0], classes = cls_prob->shape[1], anchors = cls_prob->shape[2];
  DataType real = loc_pred->dtype;
  auto number = [&](double value) { return make_const(real, value); };
  std::vector<Result> results{{{batch, anchors, PrimExpr(6)}, real}, {{batch}, kInt32}};
  return program(
      "multibox_transform_loc", {cls_prob, loc_pred, anchor}, results, [&](const Buffers& in, const Buffers& out) {
        /// The box that anchor `j` of image `i` is moved to: centre and size.
        auto box = [&](const PrimExpr& i, const PrimExpr& j) {
          std::vector<PrimExpr> low, high;
          for (int d = 0; d < 2; ++d) {
            auto corner = [&](int k) { return tessera::cast(real, make_load(in[2], {PrimExpr(0), j, PrimExpr(k)})); };
            auto shift = [&](int k) {
              return make_load(in[1], {i, j * 4 + k}) * number(variances[static_cast<size_t>(k)]);
            };
            PrimExpr size = corner(d + 2) - corner(d), centre = div(corner(d) + corner(d + 2), number(2.0));
            PrimExpr middle = shift(d) * size + centre, half = div(exp(shift(d + 2)) * size, number(2.0));
            low.push_back(middle - half);
            high.push_back(middle + half);
          }
          std::vector<PrimExpr> all{low[0], low[1], high[0], high[1]};
          if (clip)
            for (PrimExpr& e : all) e = max(min(e, number(1.0)), number(0.0));
          return all;
        };
        return loops(
            {batch},
            [&](const Indices& image) {
              const PrimExpr& i = image[0];
              return with_memory(kInt32, 2, [&](const Buffer& ints) {
                return with_memory(cls_prob->dtype, 1, [&](const Buffer& reals) {
                  Cell count(ints, 0), best(ints, 1), score(reals, 0);
                  Stmt clear = loops({anchors, PrimExpr(6)},
                                     [&](const Indices& at) { return store(out[0], number(-1.0), {i, at[0], at[1]}); });
                  Stmt each = loop(anchors, [&](const PrimExpr& j) {
                    Stmt search = loop(classes, [&](const PrimExpr& k) {
                      PrimExpr here = make_load(in[0], {i, k, j});
                      return when(logical_and(k > 0, here > score()), sequence({best.set(k), score.set(here)}));
                    });
                    std::vector<PrimExpr> moved = box(i, j);
                    std::vector<Stmt> write{store(out[0], tessera::cast(real, best() - 1), {i, count(), PrimExpr(0)}),
                                            store(out[0], tessera::cast(real, score()), {i, count(), PrimExpr(1)})};
                    for (int k = 0; k < 4; ++k)
                      write.push_back(store(out[0], moved[static_cast<size_t>(k)], {i, count(), PrimExpr(k + 2)}));
                    write.push_back(count.add(1));
                    PrimExpr least = make_const(cls_prob->dtype, threshold);
                    return sequence({best.set(make_const(kInt32, 0)), score.set(make_const(cls_prob->dtype, -1)),
                                     search, when(logical_and(best() > 0, score() >= least), sequence(write))});
                  });
                  SafeAccess access({});
                  access.shares(batch, loc_pred->shape[0], 0);
                  access.shares(anchors * 4, loc_pred->shape[1], 1);
                  access.shares(anchors, anchor->shape[1], 1);
                  each = when(access.is_possible(), each);
                  return sequence({count.set(make_const(kInt32, 0)), clear, each, store(out[1], count(), {i})});
                });
              });
            },
            true);
      });
}

namespace {

struct Anchor {
  double corner[4];
};
/// An anchor over a cell of `base` pixels, rounded as Faster R-CNN does.
Anchor make_anchor(double ratio, double scale, double base) {
  double centre = 0.5 * (base - 1), area = std::floor(base * base / ratio);
  double wide = std::floor(std::sqrt(area) + 0.5), high = std::floor(wide * ratio + 0.5);
  double half_w = 0.5 * (wide * scale - 1), half_h = 0.5 * (high * scale - 1);
  return {{centre - half_w, centre - half_h, centre + half_w, centre + half_h}};
}

/// (batch, h * w * anchors, 5): x1, y1, x2, y2, score.
te::Tensor predicted_boxes(const te::Tensor& cls_prob, const te::Tensor& bbox_pred, const te::Tensor& im_info,
                           const ProposalOptions& options) {
  PrimExpr batch = cls_prob->shape[0], height = cls_prob->shape[2], width = cls_prob->shape[3];
  auto anchors = static_cast<int>(options.scales.size() * options.ratios.size());
  DataType real = bbox_pred->dtype;
  auto number = [&](double value) { return make_const(real, value); };
  Result result{{batch, height * width * anchors, PrimExpr(5)}, real};
  return program("predict_bbox", {cls_prob, bbox_pred, im_info}, {result}, [&](const Buffers& in, const Buffers& out) {
    return loops(
        {batch, height, width},
        [&](const Indices& at) {
          std::vector<Stmt> all;
          for (int k = 0; k < anchors; ++k) {
            auto scales = static_cast<int>(options.scales.size());
            Anchor anchor = make_anchor(options.ratios[static_cast<size_t>(k / scales)],
                                        options.scales[static_cast<size_t>(k % scales)], options.feature_stride);
            auto info = [&](int i) { return tessera::cast(real, make_load(in[2], {at[0], PrimExpr(i)})); };
            PrimExpr low[2], high[2];
            for (int d = 0; d < 2; ++d) {  // x, then y
              PrimExpr cell = tessera::cast(real, at[static_cast<size_t>(2 - d)] * options.feature_stride);
              PrimExpr a = number(anchor.corner[d]) + cell, b = number(anchor.corner[d + 2]) + cell;
              auto delta = [&](int i) { return make_load(in[1], {at[0], PrimExpr(k * 4 + i), at[1], at[2]}); };
              if (options.iou_loss) {
                low[d] = a + delta(d);
                high[d] = b + delta(d + 2);
              } else {
                PrimExpr size = b - a + number(1.0), centre = a + number(0.5) * (size - number(1.0));
                PrimExpr middle = delta(d) * size + centre, grown = exp(delta(d + 2)) * size;
                low[d] = middle - number(0.5) * (grown - number(1.0));
                high[d] = middle + number(0.5) * (grown - number(1.0));
              }
              PrimExpr last = info(1 - d) - number(1.0);
              low[d] = max(min(low[d], last), number(0.0));
              high[d] = max(min(high[d], last), number(0.0));
            }
            PrimExpr least = info(2) * number(options.min_size), is_small;
            PrimExpr is_outside;
            for (int d = 0; d < 2; ++d) {
              PrimExpr small = high[d] - low[d] + number(1.0) < least;
              is_small = is_small ? logical_or(is_small, small) : small;
              PrimExpr cells = tessera::cast(kInt32, div(info(1 - d), number(options.feature_stride)));
              PrimExpr outside = at[static_cast<size_t>(2 - d)] >= cells;
              is_outside = is_outside ? logical_or(is_outside, outside) : outside;
            }
            PrimExpr grow = select(is_small, div(least, number(2.0)), number(0.0));
            PrimExpr score = tessera::cast(real, make_load(in[0], {at[0], PrimExpr(anchors + k), at[1], at[2]}));
            score = select(logical_or(is_small, is_outside), number(-1.0), score);
            PrimExpr row = (at[1] * width + at[2]) * anchors + k;
            PrimExpr values[] = {low[0] - grow, low[1] - grow, high[0] + grow, high[1] + grow, score};
            for (int i = 0; i < 5; ++i) all.push_back(store(out[0], values[i], {at[0], row, PrimExpr(i)}));
          }
          return sequence(all);
        },
        true);
  })[0];
}

/// The overlap of two boxes of whole pixels, their last ones included.
PrimExpr pixel_overlap(const Buffer& boxes, const PrimExpr& image, const PrimExpr& a, const PrimExpr& b) {
  PrimExpr shared, of_a, of_b, one = make_const(boxes->dtype, 1.0), zero = make_zero(boxes->dtype);
  for (int d = 0; d < 2; ++d) {
    auto at = [&](const PrimExpr& row, int i) { return make_load(boxes, {image, row, PrimExpr(i)}); };
    PrimExpr side = max(min(at(a, d + 2), at(b, d + 2)) - max(at(a, d), at(b, d)) + one, zero);
    PrimExpr side_a = at(a, d + 2) - at(a, d) + one, side_b = at(b, d + 2) - at(b, d) + one;
    shared = shared ? shared * side : side;
    of_a = of_a ? of_a * side_a : side_a;
    of_b = of_b ? of_b * side_b : side_b;
  }
  return div(shared, of_a + of_b - shared);
}

}  // namespace

te::Tensor proposal(const te::Tensor& cls_prob, const te::Tensor& bbox_pred, const te::Tensor& im_info,
                    const ProposalOptions& options) {
  te::Tensor boxes = predicted_boxes(cls_prob, bbox_pred, im_info, options);
  PrimExpr batch = boxes->shape[0], total = boxes->shape[1];
  PrimExpr looked_at = options.pre_nms > 0 ? min(PrimExpr(options.pre_nms), total) : total;
  te::Tensor scores = compute(
      {batch, total}, "i", [&](const Array<PrimExpr>& at) { return te::load(boxes, {at[0], at[1], PrimExpr(4)}); },
      "bbox_score", "bbox_score");
  te::Tensor order = argsort(scores, 1, false, kInt32);
  te::Tensor best = compute(
      {batch, looked_at, PrimExpr(5)}, "i",
      [&](const Array<PrimExpr>& at) { return te::load(boxes, {at[0], te::load(order, {at[0], at[1]}), at[2]}); },
      "sorted_bbox", "sorted_bbox");
  std::vector<Result> results{{{batch, looked_at}, kInt32}, {{batch}, kInt32}};
  Array<te::Tensor> kept = program("nms_kept", {best}, results, [&](const Buffers& in, const Buffers& out) {
    PrimExpr threshold = make_const(best->dtype, options.threshold);
    return loops(
        {batch},
        [&](const Indices& at) {
          return with_memory(kInt32, 2, [&](const Buffer& memory) {
            Cell count(memory, 0), is_good(memory, 1);
            Stmt each = loop(looked_at, [&](const PrimExpr& j) {
              Stmt compare = loop(looked_at, [&](const PrimExpr& k) {
                PrimExpr other = make_load(out[0], {at[0], k});
                return when(
                    logical_and(k < count(), equal(is_good(), 1)),
                    when(pixel_overlap(in[0], at[0], other, j) > threshold, is_good.set(make_const(kInt32, 0))));
              });
              Stmt take = sequence({store(out[0], j, {at[0], count()}), count.add(1)});
              return sequence({is_good.set(make_const(kInt32, 1)), compare, when(equal(is_good(), 1), take)});
            });
            Stmt clear =
                loop(looked_at, [&](const PrimExpr& j) { return store(out[0], make_const(kInt32, 0), {at[0], j}); });
            return sequence({count.set(make_const(kInt32, 0)), clear, each, store(out[1], count(), {at[0]})});
          });
        },
        true);
  });
  return compute(
      {batch * options.post_nms, PrimExpr(5)}, "i",
      [&](const Array<PrimExpr>& at) {
        PrimExpr image = floordiv(at[0], options.post_nms), count = max(te::load(kept[1], {image}), PrimExpr(1));
        PrimExpr row = te::load(kept[0], {image, floormod(floormod(at[0], options.post_nms), count)});
        PrimExpr value = te::load(best, {image, row, max(at[1] - 1, PrimExpr(0))});
        return select(equal(at[1], 0), tessera::cast(best->dtype, image), value);
      },
      "proposal", kInjective);
}

te::Tensor yolo_reorg(const te::Tensor& data, int stride) {
  const Array<PrimExpr>& shape = data->shape;
  PrimExpr channels = floordiv(shape[1], stride * stride), height = shape[2], width = shape[3];
  Array<PrimExpr> result{shape[0], shape[1] * (stride * stride), floordiv(height, stride), floordiv(width, stride)};
  return compute(
      result, "i",
      [&](const Array<PrimExpr>& at) {
        // the element in the order of the data, then its offset in a sheet of (channels, stride * h, stride * w)
        Array<PrimExpr> from = unflat_index(flat_index(at, result), shape);
        PrimExpr offset = floordiv(from[1], channels);
        Array<PrimExpr> sheet{from[0], floormod(from[1], channels), from[2] * stride + floordiv(offset, stride),
                              from[3] * stride + floormod(offset, stride)};
        Array<PrimExpr> extents{shape[0], channels, height * stride, width * stride};
        return te::load(data, unflat_index(flat_index(sheet, extents), shape));
      },
      "reorg", kInjective);
}

}  // namespace tessera::topi

#include "topi/vision/taken_boxes.h"

#include "base/dtypes.h"
#include "ir/prim/ops.h"

namespace tessera::topi {
namespace {

constexpr int kLanes = 16;    // boxes that are compared at once
constexpr int kTogether = 4;  // times as many, before it is asked whether one of them overlaps
constexpr int kChunk = kLanes * kTogether;
constexpr int kChunksPerBin = 4;  // so many boxes are worth a bin
constexpr int kMaxBins = 64;

PrimExpr make_int(int value) { return make_const(kInt32, value); }
PrimExpr begin_of(const Corner& box) { return min(box(0), box(2)); }
PrimExpr end_of(const Corner& box) { return max(box(0), box(2)); }

}  // namespace

Stmt TakenBoxes::with(DataType dtype, const PrimExpr& count, const std::function<Stmt(const TakenBoxes&)>& body) {
  TakenBoxes out;
  out.count_ = tessera::cast(kInt32, count);
  out.bins_ = max(min(floordiv(out.count_, make_int(kChunk * kChunksPerBin)), make_int(kMaxBins)), make_int(1));
  out.chunks_ = floordiv(out.count_, make_int(kChunk)) + out.bins_ + 1;
  return with_scratch(dtype, out.chunks_ * (4 * kChunk), [&](const Buffer& corners) {
    return with_scratch(kInt32, out.bins_ + out.chunks_ * 2, [&](const Buffer& lists) {
      return with_memory(dtype, kMaxBins, [&](const Buffer& ends) {
        return with_memory(kInt32, kNumbers, [&](const Buffer& numbers) {
          return with_memory(dtype, kValues, [&](const Buffer& values) {
            return with_memory(kInt32, kLanes, [&](const Buffer& hits) {
              out.corners_ = corners, out.lists_ = lists, out.ends_ = ends;
              out.numbers_ = numbers, out.values_ = values, out.hits_ = hits;
              return body(out);
            });
          });
        });
      });
    });
  });
}

PrimExpr TakenBoxes::is_found() const { return number(Found)() > 0; }

/// The bin of what begins at `x`; with `is_last`, the last one whose boxes may begin before `x`. Numbers that are none have the first
/// bin, and all bins before them.
PrimExpr TakenBoxes::bin_of(const PrimExpr& x, bool is_last) const {
  const PrimExpr t = (x - value(Low)()) * value(Scale)(), zero = make_zero(t.dtype()),
                 most = tessera::cast(t.dtype(), bins_ - 1);
  const PrimExpr otherwise = is_last ? select(t < zero, zero, most) : zero;
  return tessera::cast(kInt32, select(t >= zero, select(t < most, t, most), otherwise));
}

Stmt TakenBoxes::clear(const std::function<Corner(const PrimExpr&)>& box) const {
  const DataType dtype = corners_->dtype;
  const Cell low = value(Low), high = value(High);
  const PrimExpr zero = make_zero(dtype), range = high() - low();
  Stmt measure = loop(count_, [&](const PrimExpr& i) {
    const PrimExpr x = begin_of(box(i));
    return sequence({low.set(select(x < low(), x, low())), high.set(select(x > high(), x, high()))});
  });
  Stmt forget = loop(bins_, [&](const PrimExpr& bin) {
    return sequence({store(lists_, make_int(-1), {bin}), store(ends_, min_value(dtype), {bin})});
  });
  const PrimExpr scale =
      select(range > zero, div(tessera::cast(dtype, bins_), select(range > zero, range, make_const(dtype, 1))), zero);
  return sequence({number(Used).set(make_int(0)), low.set(max_value(dtype)), high.set(min_value(dtype)),
                   when(bins_ > 1, measure), value(Scale).set(scale), forget});
}

Stmt TakenBoxes::add(const Corner& box) const {
  const Cell bin = number(Bin), chunk = number(Chunk), used = number(Used);
  const PrimExpr filled = bins_ + chunks_ + chunk(), at = make_load(lists_, {filled});
  Stmt begin_chunk = sequence({store(lists_, chunk(), {bins_ + used()}), chunk.set(used()), used.add(1),
                               store(lists_, make_int(0), {filled}), store(lists_, chunk(), {bin()})});
  std::vector<Stmt> out{bin.set(bin_of(begin_of(box), false)), chunk.set(make_load(lists_, {bin()}))};
  const PrimExpr is_full = if_then_else(chunk() < 0, make_const(DataType::Bool(), 1), at >= kChunk);
  out.push_back(when(is_full, begin_chunk));
  for (int k = 0; k < 4; ++k) out.push_back(store(corners_, box(k), {(chunk() * 4 + k) * kChunk + at}));
  out.push_back(store(lists_, at + 1, {filled}));
  const PrimExpr end = end_of(box), known = make_load(ends_, {bin()});
  out.push_back(store(ends_, select(end > known, end, known), {bin()}));
  return sequence(out);
}

/// Adds to `Found` how many boxes of a chunk overlap.
Stmt TakenBoxes::compare_chunk(const Corner& box, const PrimExpr& threshold) const {
  const PrimExpr chunk = number(Chunk)(), filled = make_load(lists_, {bins_ + chunks_ + chunk});
  const Cell found = number(Found);
  auto each_lane = [&](const std::function<Stmt(const PrimExpr&)>& body) {
    return loop(PrimExpr(kLanes), body, LoopKind::Vectorized);
  };
  Stmt clear = each_lane([&](const PrimExpr& lane) { return store(hits_, make_int(0), {lane}); });
  Stmt compare = loop(PrimExpr(kTogether), [&](const PrimExpr& part) {
    return each_lane([&](const PrimExpr& lane) {
      const PrimExpr at = part * kLanes + lane;
      auto other = [&](int k) { return make_load(corners_, {(chunk * 4 + k) * kChunk + at}); };
      const PrimExpr is_hit = logical_and(at < filled, overlap(box, other) >= threshold);
      return store(hits_, make_load(hits_, {lane}) + select(is_hit, make_int(1), make_int(0)), {lane});
    });
  });
  Stmt sum =
      loop(PrimExpr(kLanes), [&](const PrimExpr& lane) { return found.set(found() + make_load(hits_, {lane})); });
  return sequence({clear, compare, sum});
}

Stmt TakenBoxes::find(const Corner& box, const PrimExpr& threshold) const {
  const Cell found = number(Found), bin = number(Bin), chunk = number(Chunk), last = number(Last), begin = value(Begin),
             end = value(End);
  const PrimExpr wants_all = logical_not(threshold > make_zero(threshold.dtype()));  // what is apart overlaps by 0
  const PrimExpr goes_on = equal(found(), 0);
  Stmt chunks = loop_while(logical_and(chunk() >= 0, goes_on),
                           sequence({compare_chunk(box, threshold), chunk.set(make_load(lists_, {bins_ + chunk()}))}));
  const PrimExpr is_near = logical_or(wants_all, logical_not(make_load(ends_, {bin()}) < begin()));
  Stmt look = when(is_near, sequence({chunk.set(make_load(lists_, {bin()})), chunks}));
  return sequence({found.set(make_int(0)), bin.set(make_int(0)), begin.set(begin_of(box)), end.set(end_of(box)),
                   last.set(select(wants_all, bins_ - 1, bin_of(end(), true))),
                   loop_while(logical_and(bin() <= last(), goes_on), sequence({look, bin.add(1)}))});
}

}  // namespace tessera::topi

// Rows that are summed, multiplied or compared by the segment that each belongs to.

#include <algorithm>
#include <limits>

#include "frontend/common/parts.h"
#include "frontend/tensorflow/operation.h"
#include "frontend/tensorflow/shapes.h"
#include "ir/prim/ops.h"
#include "relay/attrs/index.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::tensorflow {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// How many segments there are: one more than the last id, which stands at the end.
Expr segment_count(Operation& in, const Expr& ids) {
  if (std::optional<std::vector<int64_t>> known = in.constant_ints(ids)) {
    int64_t most = -1;
    for (int64_t id : *known) most = std::max(most, id);
    return make_ints({most + 1});
  }
  Expr most = cast_if_needed(in, reduce("max", ids, int_array({0}), true), DataType::Int(64));
  return add(most, make_ints({1}));
}

/// The least and greatest numbers of a type, for segments without rows and for those that rows are compared with.
double bound_of(DataType dtype, bool low) {
  if (is_float(dtype)) return low ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  if (dtype.is_uint()) return low ? 0 : static_cast<double>(~uint64_t{0} >> (64 - dtype.bits));
  const double half = static_cast<double>(uint64_t{1} << (dtype.bits - 1));
  return low ? -half : dtype.bits > 32 ? half - 1024 : half - 1;
}

bool has_negative(const std::vector<int64_t>& values) {
  return std::any_of(values.begin(), values.end(), [](int64_t value) { return value < 0; });
}

/// `count`: a vector of one number. Rows with an id below 0 are left out.
Expr by_segment(Operation& in, const Expr& data, const Expr& ids, const Expr& count, const std::string& mode,
                double start) {
  const DataType dtype = in.dtype(data), wide = DataType::Int(64);
  const size_t own = in.rank(ids), rank = in.rank(data);
  if (own > rank) in.invalid("there are more dimensions of ids than of data");
  Expr shape = cast_if_needed(in, count, wide);
  if (rank > own)
    shape = concatenate(
        {shape, slice(shape_value(in, data, wide), 0, static_cast<int64_t>(own), static_cast<int64_t>(rank))}, 0);
  std::optional<std::vector<int64_t>> known = in.constant_ints(shape);
  if (known) shape = make_ints(*known);
  Expr from = full_of(in, make_scalar(start, dtype), shape);
  // Here a negative index counts from the end, and one behind the end is left out.
  Expr none = make_scalar(static_cast<double>(INT32_MAX), in.dtype(ids));
  Expr index = in.constant_ints(ids) && !has_negative(*in.constant_ints(ids))
                   ? ids
                   : where(less(ids, make_scalar(0, in.dtype(ids))), none, ids);
  return call_op("scatter_nd", {from, expand_dims(index, 0), data},
                 make_attrs<ScatterNDAttrs>([&](auto& attrs) { attrs.mode = mode; }));
}

Expr counts_of(Operation& in, const Expr& ids, const Expr& count, DataType dtype) {
  Expr ones = cast(ones_like(ids), dtype);
  return by_segment(in, ones, ids, count, "add", 0);
}

/// Numbers of rows, for a division: at least 1, with dimensions behind as the data has.
Expr divisor(Operation& in, const Expr& ids, const Expr& count, const Expr& data) {
  const DataType dtype = in.dtype(data);
  Expr out = maximum(counts_of(in, ids, count, dtype), make_scalar(1, dtype));
  const int missing = static_cast<int>(in.rank(data)) - 1;
  return missing > 0 ? expand_dims(out, 1, missing) : out;
}

struct Kind {
  const char* mode;
  enum { Zero, One, Lowest, Highest } start;
};

double start_of(const Kind& kind, DataType dtype) {
  switch (kind.start) {
    case Kind::Zero: return 0;
    case Kind::One: return 1;
    case Kind::Lowest: return bound_of(dtype, true);
    default: return bound_of(dtype, false);
  }
}

/// Ids are sorted, and say how many segments there are. A segment without rows is zero, or one of a multiplication.
Converter segments(Kind kind) {
  return [kind](Operation& in) {
    const DataType dtype = in.dtype(in[0]);
    Expr count = segment_count(in, in[1]), out = by_segment(in, in[0], in[1], count, kind.mode, start_of(kind, dtype));
    if (kind.start == Kind::Zero || kind.start == Kind::One) return Values{out};
    Expr rows = counts_of(in, in[1], count, DataType::Int(32));
    const int missing = static_cast<int>(in.rank(in[0])) - 1;
    if (missing > 0) rows = expand_dims(rows, 1, missing);
    return Values{where(greater(rows, make_scalar(0, DataType::Int(32))), out, make_scalar(0, dtype))};
  };
}

Converter unsorted_segments(Kind kind) {
  return [kind](Operation& in) {
    Expr count = reshape(in[2], int_array({1}));
    double start = start_of(kind, in.dtype(in[0]));
    if (is_float(in.dtype(in[0])) && (kind.start == Kind::Lowest || kind.start == Kind::Highest))
      start = kind.start == Kind::Lowest ? std::numeric_limits<float>::lowest() : std::numeric_limits<float>::max();
    return Values{by_segment(in, in[0], in[1], count, kind.mode, start)};
  };
}

Values segment_mean(Operation& in) {
  Expr count = segment_count(in, in[1]);
  return {divide(by_segment(in, in[0], in[1], count, "add", 0), divisor(in, in[1], count, in[0]))};
}

enum class Combine { Sum, Mean, Sqrt };

/// Inputs: data, which rows, their segments, and perhaps how many segments there are.
Converter sparse_segments(Combine how) {
  return [how](Operation& in) {
    Expr rows = take(in[0], in[1], 0), ids = in[2];
    Expr count = in.has(3) ? reshape(in[3], int_array({1})) : segment_count(in, ids);
    Expr out = by_segment(in, rows, ids, count, "add", 0);
    if (how == Combine::Sum) return Values{out};
    Expr by = divisor(in, ids, count, rows);
    return Values{divide(out, how == Combine::Mean ? by : sqrt(by))};
  };
}

}  // namespace

Rows segment_rows() {
  constexpr Kind kSum{"add", Kind::Zero}, kProd{"mul", Kind::One}, kMax{"max", Kind::Lowest},
      kMin{"min", Kind::Highest};
  return {
      {"SegmentMax", segments(kMax)},
      {"SegmentMaxV2", unsorted_segments(kMax)},
      {"SegmentMean", segment_mean},
      {"SegmentMin", segments(kMin)},
      {"SegmentMinV2", unsorted_segments(kMin)},
      {"SegmentProd", segments(kProd)},
      {"SegmentProdV2", unsorted_segments(kProd)},
      {"SegmentSum", segments(kSum)},
      {"SegmentSumV2", unsorted_segments(kSum)},
      {"SparseSegmentMean", sparse_segments(Combine::Mean)},
      {"SparseSegmentMeanWithNumSegments", sparse_segments(Combine::Mean)},
      {"SparseSegmentSqrtN", sparse_segments(Combine::Sqrt)},
      {"SparseSegmentSqrtNWithNumSegments", sparse_segments(Combine::Sqrt)},
      {"SparseSegmentSum", sparse_segments(Combine::Sum)},
      {"SparseSegmentSumWithNumSegments", sparse_segments(Combine::Sum)},
      {"UnsortedSegmentMax", unsorted_segments(kMax)},
      {"UnsortedSegmentMin", unsorted_segments(kMin)},
      {"UnsortedSegmentProd", unsorted_segments(kProd)},
      {"UnsortedSegmentSum", unsorted_segments(kSum)},
  };
}

}  // namespace tessera::tensorflow

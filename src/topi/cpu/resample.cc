#include "topi/cpu/resample.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "topi/program.h"

namespace tessera::topi {
namespace {

constexpr size_t kMaxWidth = 2048;       // of a result: its vectors are written out one after the other
constexpr size_t kMinWidth = 8;          // below this there is no vector to fill
constexpr int64_t kVectorsShuffled = 4;  // at most

/// Vectors of a number for each lane.
PrimExpr literal(const std::vector<PrimExpr>& items) {
  Array<PrimExpr> lanes;
  for (size_t i = 0; i < items.size(); ++i) lanes.push_back(PrimExpr(static_cast<int>(i)));
  return make_shuffle(Array<PrimExpr>(items.begin(), items.end()), lanes);
}

PrimExpr vector_at(const Buffer& buffer, Indices at, int64_t lanes) {
  if (lanes > 1) at.set(at.size() - 1, make_ramp(at.back(), make_const(at.back().dtype(), 1), static_cast<int>(lanes)));
  return make_load(buffer, at);
}

Stmt store_vector(const Buffer& buffer, const PrimExpr& value, Indices at) {
  const int lanes = value.dtype().lanes;
  if (lanes > 1) at.set(at.size() - 1, make_ramp(at.back(), make_const(at.back().dtype(), 1), lanes));
  return make(BufferStore{.buffer = buffer, .value = value, .indices = at});
}

/// The row that one row of the result comes from: `count` elements from `column` on.
using Row = std::function<PrimExpr(const PrimExpr& column, int64_t count)>;

/// Blended from a few rows of the data.
Row blended_row(const Buffers& in, const ResampledTables& rows, const Indices& at) {
  return [&in, &rows, at](const PrimExpr& column, int64_t count) {
    const size_t taps = std::max<size_t>(rows.indices.size(), 1);
    PrimExpr sum;
    for (size_t tap = 0; tap < taps; ++tap) {
      Indices from = at;
      if (!rows.indices.empty())
        from.set(from.size() - 1, tessera::cast(DataType::Int(32), make_load(in[1 + tap], {at.back()})));
      from.push_back(column);
      PrimExpr value = vector_at(in[0], from, count);
      if (!rows.weights.empty()) {
        const Buffer& weights = in[1 + taps + tap];
        Indices index(weights->shape.size(), PrimExpr(0));
        for (size_t i = 0; i < index.size(); ++i)
          if (!is_one(weights->shape[i])) index.set(i, at.back());
        PrimExpr weight = make_load(weights, index);
        value = value * (count > 1 ? make_broadcast(weight, static_cast<int>(count)) : weight);
      }
      sum = sum ? sum + value : value;
    }
    return sum;
  };
}

/// The elements between the first and the last that some results read, in so many vectors.
struct Window {
  int64_t first = 0, vectors = 1;
};
Window window_of(const ResampledAxis& columns, int64_t begin, int64_t count, int64_t lanes) {
  int64_t least = columns.indices[0][static_cast<size_t>(begin)], greatest = least;
  for (const std::vector<int64_t>& indices : columns.indices)
    for (int64_t i = begin; i < begin + count; ++i) {
      least = std::min(least, indices[static_cast<size_t>(i)]);
      greatest = std::max(greatest, indices[static_cast<size_t>(i)]);
    }
  return {least, (greatest - least) / lanes + 1};
}

/// One row of the result from one that is `width` long, or filled up where that is endless.
Stmt columns_of(const Row& row, const Buffer& out, const Indices& at, const ResampledAxis& columns, int64_t lanes,
                int64_t width) {
  const auto results = static_cast<int64_t>(columns.indices[0].size()), count = std::min(lanes, results);
  std::vector<Stmt> stores;
  for (int64_t next = 0; next < results; next += lanes) {
    const int64_t begin = std::min(next, results - count);  // the last vector may write again what the one before did
    Window window = window_of(columns, begin, count, lanes);
    window.first = std::min(window.first, width - window.vectors * lanes);
    Array<PrimExpr> from;
    for (int64_t i = 0; i < window.vectors; ++i)
      from.push_back(row(PrimExpr(static_cast<int>(window.first + i * lanes)), lanes));
    PrimExpr sum;
    for (size_t tap = 0; tap < columns.indices.size(); ++tap) {
      Array<PrimExpr> lanes_read;
      std::vector<PrimExpr> weights;
      for (int64_t i = begin; i < begin + count; ++i) {
        lanes_read.push_back(PrimExpr(static_cast<int>(columns.indices[tap][static_cast<size_t>(i)] - window.first)));
        if (!columns.weights.empty())
          weights.push_back(float_imm(out->dtype, columns.weights[tap][static_cast<size_t>(i)]));
      }
      PrimExpr part = make_shuffle(from, lanes_read);
      if (!weights.empty()) part = part * literal(weights);
      sum = sum ? sum + part : part;
    }
    Indices to = at;
    to.push_back(PrimExpr(static_cast<int>(begin)));
    stores.push_back(store_vector(out, sum, to));
  }
  return sequence(stores);
}

/// `row` in memory.
Stmt written_row(const Row& row, const Buffer& memory, int64_t width, int64_t lanes) {
  const int64_t count = std::min(lanes, width);
  std::vector<Stmt> out;
  for (int64_t next = 0; next < width; next += lanes) {
    PrimExpr column(static_cast<int>(std::min(next, width - count)));
    out.push_back(store_vector(memory, row(column, count), {column}));
  }
  return sequence(out);
}

}  // namespace

bool can_resample(const ResampledAxis& columns) {
  if (columns.empty() || columns.indices[0].size() < kMinWidth || columns.indices[0].size() > kMaxWidth) return false;
  const auto results = static_cast<int64_t>(columns.indices[0].size());
  for (int64_t lanes : {4, 8, 16})  // of the machines there are
    for (int64_t begin = 0; begin < results; ++begin)
      if (window_of(columns, begin, std::min(lanes, results - begin), lanes).vectors > kVectorsShuffled) return false;
  return true;
}

te::Tensor resample(const te::Tensor& x, const ResampledTables& rows, const ResampledAxis& columns, int64_t lanes) {
  Indices shape = x->shape;
  shape.set(shape.size() - 1, PrimExpr(static_cast<int>(columns.indices[0].size())));
  if (!rows.indices.empty()) shape.set(shape.size() - 2, rows.indices[0]->shape[0]);
  Array<te::Tensor> inputs{x};
  for (const te::Tensor& tensor : rows.indices) inputs.push_back(tensor);
  for (const te::Tensor& tensor : rows.weights) inputs.push_back(tensor);
  const int64_t width = *as_int(x->shape.back()), results = *as_int(shape.back());
  int64_t most = 1;  // vectors that one of the result reads
  for (int64_t begin = 0; begin < results; ++begin)
    most = std::max(most, window_of(columns, begin, std::min(lanes, results - begin), lanes).vectors);
  return program("resample", inputs, {{shape, x->dtype}}, [&](const Buffers& in, const Buffers& out) {
    return loops(
        Indices(shape.begin(), shape.end() - 1),
        [&](const Indices& at) {
          Row row = blended_row(in, rows, at);
          if (width >= most * lanes) return columns_of(row, out[0], at, columns, lanes, width);
          const int64_t filled = width + (most + 1) * lanes;  // vectors of a short row would reach into the next
          return with_memory(x->dtype, static_cast<int>(filled), [&](const Buffer& memory) {
            Row there = [&](const PrimExpr& column, int64_t count) { return vector_at(memory, {column}, count); };
            return sequence(
                {written_row(row, memory, width, lanes), columns_of(there, out[0], at, columns, lanes, filled)});
          });
        },
        true);
  })[0];
}

}  // namespace tessera::topi

#include "topi/cpu/transpose_tiles.h"

#include "ir/prim/ops.h"
#include "tir/layout.h"
#include "topi/cpu/cost_model.h"
#include "topi/cpu/transpose_kernel.h"
#include "topi/program.h"

namespace tessera::topi {
namespace {

constexpr int64_t kMaxTileLanes = 16, kMinTileLanes = 4;

int64_t power_of_two_in(int64_t most) {
  int64_t out = 1;
  while (out * 2 <= most) out *= 2;
  return out;
}

/// Rows and columns of a tile, powers of two.
struct TransposeTile {
  int64_t rows, columns;
};
TransposeTile tile_of(const Transposition& move, DataType dtype, const Machine& machine) {
  const int64_t side = std::min(move.rows, move.columns), whole = machine->vector_bytes / dtype.bytes();
  if (interleaves_vectors(machine)) {  // vectors of two lengths, and squares of them: no others are interleaved
    constexpr int64_t kShortBytes = 16;
    const int64_t square = whole <= std::min(side, kMaxTileLanes) ? whole : kShortBytes / dtype.bytes();
    if (square <= side) return {square, square};
  }
  const int64_t lanes = std::min<int64_t>(kMaxTileLanes, whole);
  return {power_of_two_in(std::min(move.rows, lanes)), power_of_two_in(std::min(move.columns, lanes))};
}

Buffer flat(const Buffer& buffer, int64_t elements) {
  BufferNode node = *buffer.get();
  node.shape = {int_imm(DataType::Int(32), elements)};
  node.strides = {};
  return make(std::move(node));
}

PrimExpr shuffle(std::vector<PrimExpr> vectors, const std::vector<int64_t>& lanes) {
  Shuffle node;
  node.dtype = vectors[0].dtype().with_lanes(static_cast<int>(lanes.size()));
  for (PrimExpr& vector : vectors) node.vectors.push_back(std::move(vector));
  for (int64_t lane : lanes) node.indices.push_back(PrimExpr(static_cast<int>(lane)));
  return make(std::move(node));
}

/// Writes the statements of one tile: names for vectors, then stores.
class TileWriter {
 public:
  TileWriter(Buffer source, Buffer target, bool interleaves)
      : source_(std::move(source)), target_(std::move(target)), interleaves_(interleaves) {}

  /// The tile whose first element is `from` of the source, with rows `source_row` apart, and `to` of the target.
  Stmt operator()(const TransposeTile& tile, const PrimExpr& from, int64_t source_row, const PrimExpr& to,
                  int64_t target_row) {
    std::vector<PrimExpr> rows;
    for (int64_t i = 0; i < tile.rows; ++i) rows.push_back(load(from + number(i * source_row), tile.columns));
    for (int64_t i = 0; const PrimExpr& column : transposed(rows, tile)) {
      PrimExpr at = make_ramp(to + number(i++ * target_row), PrimExpr(1), static_cast<int>(tile.rows));
      stores_.push_back(make(BufferStore{.buffer = target_, .value = column, .indices = {at}}));
    }
    Stmt out = sequence(stores_);
    for (size_t i = named_.size(); i-- > 0;)
      out = make(LetStmt{.var = named_[i].first, .value = named_[i].second, .body = out});
    return out;
  }

 private:
  static PrimExpr number(int64_t value) { return int_imm(DataType::Int(32), value); }

  PrimExpr named(const PrimExpr& value) {
    named_.emplace_back(make_var("v" + std::to_string(named_.size()), value.dtype()), value);
    return named_.back().first;
  }

  PrimExpr load(const PrimExpr& at, int64_t lanes) {
    return named(make_load(source_, {make_ramp(at, PrimExpr(1), static_cast<int>(lanes))}));
  }

  /// Rows in, columns out. Where there are more rows than columns, several rows lie side by side in a vector first; where
  /// there are fewer, several columns do at the end. In between squares are transposed, each step swapping blocks off
  /// the diagonal:  a0 a1 a2 a3   =>  a0 b0 a2 b2   =>  a0 b0 c0 d0
  ///                b0 b1 b2 b3       a1 b1 a3 b3       ...
  std::vector<PrimExpr> transposed(std::vector<PrimExpr> vectors, const TransposeTile& tile) {
    const int64_t side = std::min(tile.rows, tile.columns), width = std::max(tile.rows, tile.columns);
    if (interleaves_ && side == width) return interleaved(std::move(vectors));
    if (tile.rows > tile.columns) {
      std::vector<PrimExpr> wide;
      for (int64_t i = 0; i < side; ++i) {
        std::vector<PrimExpr> parts;
        for (int64_t row = i; row < tile.rows; row += side) parts.push_back(vectors[static_cast<size_t>(row)]);
        wide.push_back(named(shuffle(parts, counted(0, width))));
      }
      vectors = wide;
    }
    for (int64_t step = 1; step < side; step *= 2)
      for (int64_t i = 0; i < side; ++i) {
        if (i & step) continue;
        PrimExpr a = vectors[static_cast<size_t>(i)], b = vectors[static_cast<size_t>(i + step)];
        std::vector<int64_t> low, high;
        for (int64_t lane = 0; lane < width; ++lane) {
          const bool is_second = (lane & step) != 0;
          low.push_back(is_second ? width + lane - step : lane);
          high.push_back(is_second ? width + lane : lane + step);
        }
        vectors[static_cast<size_t>(i)] = named(shuffle({a, b}, low));
        vectors[static_cast<size_t>(i + step)] = named(shuffle({a, b}, high));
      }
    if (tile.rows >= tile.columns) return vectors;
    std::vector<PrimExpr> columns;
    for (int64_t column = 0; column < tile.columns; ++column)
      columns.push_back(shuffle({vectors[static_cast<size_t>(column % side)]}, counted(column / side * side, side)));
    return columns;
  }

  /// The square's columns: see `transposed` in register_tile.h.
  std::vector<PrimExpr> interleaved(std::vector<PrimExpr> vectors) {
    const auto lanes = static_cast<int64_t>(vectors.size());
    for (int64_t step = 1; step < lanes; step *= 2) {
      std::vector<PrimExpr> next;
      for (size_t i = 0; i < vectors.size() / 2; ++i)
        for (bool half : {false, true})
          next.push_back(named(shuffle({vectors[i], vectors[i + vectors.size() / 2]}, interleaved_lanes(lanes, half))));
      vectors = next;
    }
    return vectors;
  }

  static std::vector<int64_t> counted(int64_t first, int64_t count) {
    std::vector<int64_t> out;
    for (int64_t i = 0; i < count; ++i) out.push_back(first + i);
    return out;
  }

  Buffer source_, target_;
  bool interleaves_;
  std::vector<std::pair<Var, PrimExpr>> named_;
  std::vector<Stmt> stores_;
};

}  // namespace

std::optional<Transposition> as_transposition(const Array<PrimExpr>& shape, const std::vector<size_t>& axes) {
  std::vector<int64_t> extents;
  for (const PrimExpr& extent : shape) {
    if (!as_int(extent) || *as_int(extent) < 1) return {};
    extents.push_back(*as_int(extent));
  }
  // runs of axes that stay neighbours, those of one element left out
  std::vector<std::pair<size_t, int64_t>> runs;  // the first axis of each, and its elements; in the new order
  std::optional<size_t> before;
  for (size_t axis : axes) {
    if (extents[axis] == 1) continue;
    bool follows = before.has_value();
    for (size_t i = before ? *before + 1 : 0; follows && i != axis; ++i)
      follows = i < extents.size() && extents[i] == 1;
    if (follows) runs.back().second *= extents[axis];
    else runs.emplace_back(axis, extents[axis]);
    before = axis;
  }
  Transposition out;
  if (runs.size() == 3 && runs[0].first < runs[2].first && runs[2].first < runs[1].first) {
    out.matrices = runs[0].second;
    runs.erase(runs.begin());
  }
  if (runs.size() != 2 || runs[0].first < runs[1].first) return {};
  out.columns = runs[0].second, out.rows = runs[1].second;
  return out;
}

std::optional<Transposition> as_transposition(const Array<PrimExpr>& shape, const String& from, const String& to) {
  Layout source = make_layout(from), target = make_layout(to);
  // every letter in two parts where one of the layouts splits it
  auto parts_of = [&](const Layout& layout) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < layout->axes.size(); ++i) {
      const char letter = layout->primal(i);
      const bool is_split = source->factor_of(letter) > 0 || target->factor_of(letter) > 0;
      const bool is_whole = layout->factor_of(letter) <= 0;
      if (!is_split || !layout->is_primal(i)) parts.push_back({letter, is_split ? 'i' : 'o'});
      else parts.push_back({letter, 'o'});
      if (is_split && is_whole) parts.push_back({letter, 'i'});
    }
    return parts;
  };
  std::vector<std::string> old = parts_of(source), made = parts_of(target);
  if (old.size() != made.size()) return {};
  Array<PrimExpr> extents;
  for (size_t i = 0; i < source->axes.size(); ++i) {
    const char letter = source->primal(i);
    const int64_t here = source->factor_of(letter), there = target->factor_of(letter);
    const int64_t factor = std::max(here, there);
    if (here > 0 && there > 0 && here != there) return {};
    if (factor <= 0 || here > 0) {
      extents.push_back(shape[i]);
      continue;
    }
    if (!as_int(shape[i]) || *as_int(shape[i]) % factor != 0) return {};
    extents.push_back(int_imm(DataType::Int(32), *as_int(shape[i]) / factor));
    extents.push_back(int_imm(DataType::Int(32), factor));
  }
  std::vector<size_t> axes;
  for (const std::string& part : made) {
    auto it = std::find(old.begin(), old.end(), part);
    if (it == old.end() || std::count(old.begin(), old.end(), part) != 1) return {};
    axes.push_back(static_cast<size_t>(it - old.begin()));
  }
  return as_transposition(extents, axes);
}

bool has_tiles(const Transposition& move, DataType dtype, const Machine& machine) {
  if (dtype.lanes != 1 || dtype.bits < 8 || move.matrices * move.rows * move.columns > INT32_MAX) return false;
  const TransposeTile tile = tile_of(move, dtype, machine);
  return tile.rows >= kMinTileLanes && tile.columns >= kMinTileLanes;
}

te::Tensor transpose_tiles(const te::Tensor& x, const Transposition& move, const Array<PrimExpr>& shape,
                           const Machine& machine) {
  const TransposeTile tile = tile_of(move, x->dtype, machine);
  const int64_t matrix = move.rows * move.columns, elements = move.matrices * matrix;
  auto number = [](int64_t value) { return int_imm(DataType::Int(32), value); };
  // The first element of tile i along an axis; the last tile ends where the axis does.
  auto start = [&](const PrimExpr& i, int64_t size, int64_t extent) {
    PrimExpr first = i * number(size);
    return extent % size == 0 ? first : min(first, number(extent - size));
  };
  const int64_t down = (move.rows + tile.rows - 1) / tile.rows,
                across = (move.columns + tile.columns - 1) / tile.columns;
  auto body = [&](const Buffers& in, const Buffers& out) {
    Buffer source = flat(in[0], elements), target = flat(out[0], elements);
    auto one_tile = [&](const PrimExpr& i) {
      PrimExpr row = start(floormod(i, number(down)), tile.rows, move.rows);
      PrimExpr rest = floordiv(i, number(down));
      PrimExpr column = start(floormod(rest, number(across)), tile.columns, move.columns);
      PrimExpr first = floordiv(rest, number(across)) * number(matrix);
      return TileWriter(source, target, interleaves_vectors(machine))(
          tile, first + row * number(move.columns) + column, move.columns, first + column * number(move.rows) + row,
          move.rows);
    };
    return loop(number(move.matrices * down * across), one_tile,
                elements >= ParallelThreshold::transposed ? LoopKind::Parallel : LoopKind::Serial);
  };
  return program("transpose_tiles", {x}, {{shape, x->dtype}}, body)[0];
}

}  // namespace tessera::topi

#include "topi/cpu/transpose_tiles.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/layout.h"
#include "topi/cpu/contraction/register_tile.h"
#include "topi/cpu/cost_model.h"
#include "topi/cpu/number.h"
#include "topi/cpu/reduction_block.h"
#include "topi/cpu/transpose_kernel.h"
#include "topi/program.h"
#include "topi/transform.h"

namespace tessera::topi {
namespace {

constexpr int64_t kMaxTileLanes = 16, kMinTileLanes = 4;

/// bfloat16 becomes uint16 later on, which vectors that are stored do not follow.
bool has_vectors(DataType dtype) { return dtype.lanes == 1 && dtype.bits >= 8 && !dtype.is_bfloat(); }

int64_t power_of_two_in(int64_t most) {
  int64_t out = 1;
  while (out * 2 <= most) out *= 2;
  return out;
}

TransposeTile tile_of(int64_t rows, int64_t columns, DataType dtype, const Machine& machine) {
  const int64_t side = std::min(rows, columns), whole = machine->vector_bytes / dtype.bytes();
  if (interleaves_vectors(machine)) {  // vectors of two lengths, and squares of them: no others are interleaved
    constexpr int64_t kShortBytes = 16;
    const int64_t square = whole <= std::min(side, kMaxTileLanes) ? whole : kShortBytes / dtype.bytes();
    if (square <= side) return {square, square};
  }
  const int64_t lanes = std::min<int64_t>(kMaxTileLanes, whole);
  return {power_of_two_in(std::min(rows, lanes)), power_of_two_in(std::min(columns, lanes))};
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

/// Indices of as many neighbours, from `first` on, which may count in 64 bits.
PrimExpr neighbours(const PrimExpr& first, int lanes) { return make_ramp(first, make_const(first.dtype(), 1), lanes); }

/// Transposes one tile: names for vectors on the way.
class TileTransposer {
 public:
  explicit TileTransposer(bool interleaves) : interleaves_(interleaves) {}

  /// The columns of a tile of `source` whose first element is `from`, with rows `row_stride` apart.
  std::vector<PrimExpr> operator()(const Buffer& source, const TransposeTile& tile, const PrimExpr& from,
                                   const PrimExpr& row_stride) {
    std::vector<PrimExpr> rows;
    for (int64_t i = 0; i < tile.rows; ++i)
      rows.push_back(
          named(make_load(source, {neighbours(from + number(i) * row_stride, static_cast<int>(tile.columns))})));
    return transposed(rows, tile);
  }

  /// The body, which uses the vectors.
  Stmt around(Stmt body) const {
    for (size_t i = named_.size(); i-- > 0;)
      body = make(LetStmt{.var = named_[i].first, .value = named_[i].second, .body = body});
    return body;
  }

 private:
  PrimExpr named(const PrimExpr& value) {
    named_.emplace_back(make_var("v" + std::to_string(named_.size()), value.dtype()), value);
    return named_.back().first;
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

  bool interleaves_;
  std::vector<std::pair<Var, PrimExpr>> named_;
};

/// The first element of tile i along an axis; the last tile ends where the axis does.
PrimExpr start_of(const PrimExpr& i, int64_t size, int64_t extent) {
  PrimExpr first = i * number(size);
  return extent % size == 0 ? first : min(first, number(extent - size));
}

/// Columns, one after the other, each `row_stride` after the one before.
Stmt store_columns(const Buffer& target, const std::vector<PrimExpr>& columns, const PrimExpr& to,
                   const PrimExpr& row_stride) {
  std::vector<Stmt> stores;
  for (int64_t i = 0; const PrimExpr& column : columns) {
    PrimExpr at = neighbours(to + number(i++) * row_stride, column.dtype().lanes);
    stores.push_back(make(BufferStore{.buffer = target, .value = column, .indices = {at}}));
  }
  return sequence(stores);
}

// ---- stages ----------------------------------------------------------------------------------------------------------

/// How far apart in memory elements of neighbouring axes are: of the store and of each load.
class Strides {
 public:
  Strides(const BlockNode* block, const std::vector<int64_t>& extents) : extents_(extents) {
    auto* store = block->body.as<BufferStore>();
    auto add = [&](const Buffer& buffer, const Array<PrimExpr>& indices) {
      std::vector<std::optional<int64_t>> row;
      for (const IterVar& axis : block->iter_vars) row.push_back(stride(buffer, indices, axis->var));
      rows_.push_back(row);
    };
    add(store->buffer, store->indices);
    walk(store->value, [&](const BufferLoad* load) {
      loads.push_back(load);
      add(load->buffer, load->indices);
    });
    PrimExpr rest = rewrite(store->value, [](const BufferLoad* load) -> PrimExpr { return make_zero(load->dtype); });
    for (const IterVar& axis : block->iter_vars) is_free_.push_back(!uses_var(rest, axis->var));
  }

  std::vector<const BufferLoad*> loads;

  /// Of access 0, the store, or load i - 1.
  std::optional<int64_t> of(size_t access, size_t axis) const { return rows_[access][axis]; }
  size_t accesses() const { return rows_.size(); }
  size_t axes() const { return extents_.size(); }

  /// The last axis of several elements that lie together for the access.
  std::optional<size_t> together(size_t access) const {
    for (size_t axis = axes(); axis-- > 0;)
      if (extents_[axis] > 1 && is_free_[axis] && of(access, axis) == 1) return axis;
    return std::nullopt;
  }

  /// The axis with all that continue it in every access.
  AxisRun run_of(size_t innermost, std::optional<size_t> without = std::nullopt) const {
    AxisRun out{{innermost}, extents_[innermost]};
    for (bool is_longer = true; is_longer;) {
      is_longer = false;
      for (size_t axis = 0; axis < axes(); ++axis) {
        if (extents_[axis] <= 1 || !is_free_[axis] || axis == without ||
            std::find(out.axes.begin(), out.axes.end(), axis) != out.axes.end())
          continue;
        bool continues = true;
        for (size_t i = 0; i < accesses(); ++i) {
          auto outer = of(i, axis), inner = of(i, innermost);
          continues = continues && outer && inner && *outer == *inner * out.extent;
        }
        if (!continues) continue;
        out.axes.insert(out.axes.begin(), axis);
        out.extent *= extents_[axis];
        is_longer = true;
      }
    }
    return out;
  }

 private:
  const std::vector<int64_t>& extents_;
  std::vector<std::vector<std::optional<int64_t>>> rows_;
  std::vector<bool> is_free_;  // the axis is used by loads alone
};

/// Elements of a tensor; -1 where they are known only at run time.
int64_t count_of(const Buffer& buffer) {
  int64_t out = 1;
  for (const PrimExpr& extent : buffer->shape) {
    if (!as_int(extent)) return -1;
    out *= *as_int(extent);
  }
  return out;
}

/// A tensor whose elements lie one after the other.
bool is_compact(const Buffer& buffer) {
  const int64_t elements = count_of(buffer);
  return buffer->strides.empty() && elements >= 0 && elements <= INT32_MAX;
}

}  // namespace

Stmt move_tile(const TileRows& from, const TileRows& to, const TransposeTile& tile, const Machine& machine) {
  TileTransposer transposer(interleaves_vectors(machine));
  const std::vector<PrimExpr> columns = transposer(from.buffer, tile, from.first, from.step);
  return transposer.around(store_columns(to.buffer, columns, to.first, to.step));
}

std::optional<TransposeTile> dynamic_tile(const PrimExpr& rows, const PrimExpr& columns, DataType dtype,
                                          const Machine& machine) {
  if (!has_vectors(dtype)) return std::nullopt;
  auto many = [](const PrimExpr& extent) { return as_int(extent) ? *as_int(extent) : kMaxTileLanes; };
  const TransposeTile out = tile_of(many(rows), many(columns), dtype, machine);
  return out.rows < kMinTileLanes || out.columns < kMinTileLanes ? std::nullopt : std::optional(out);
}

std::optional<TransposingStage> transposing_axes(const schedule::State& state, const schedule::BlockRef& ref,
                                                 bool takes_bfloat) {
  schedule::Cursor cursor = state.find(ref);
  TransposingStage out{.block = cursor.block(), .extents = plain_extents(cursor)};
  if (out.extents.empty()) return std::nullopt;
  auto* store = out.block->body.as<BufferStore>();
  auto is_taken = [&](const Buffer& buffer) {
    return is_compact(buffer) && (has_vectors(buffer->dtype) || (takes_bfloat && buffer->dtype.is_bfloat()));
  };
  Strides strides(out.block, out.extents);
  const std::optional<size_t> written = strides.together(0);
  if (!written || !is_taken(store->buffer)) return std::nullopt;
  auto is_along = [&](size_t access) {
    auto step = strides.of(access, *written);
    return step == 0 || step == 1;
  };
  std::optional<size_t> read;
  for (size_t i = 1; i < strides.accesses(); ++i) {
    const BufferLoad* load = strides.loads[i - 1];
    if (!is_taken(load->buffer)) return std::nullopt;
    if (is_along(i)) continue;
    const std::optional<size_t> axis = strides.together(i);
    if (!axis || !strides.of(i, *written) || (read && *read != *axis)) return std::nullopt;
    read = axis;
    out.transposed.push_back(load);
  }
  if (!read) return std::nullopt;
  for (size_t i = 0; i < strides.accesses(); ++i)
    if (!strides.of(i, *read)) return std::nullopt;
  out.written = strides.run_of(*written, read);
  out.read = strides.run_of(*read, written);
  return out;
}

std::optional<TransposingStage> as_transposing(const schedule::State& state, const schedule::BlockRef& ref,
                                               const Machine& machine) {
  std::optional<TransposingStage> out = transposing_axes(state, ref, false);
  if (!out) return std::nullopt;
  auto* store = out->block->body.as<BufferStore>();
  DataType widest = store->buffer->dtype;
  bool may_overlap = true;  // elements may be computed twice: nothing that is read as it is written may be overwritten
  walk(store->value, [&](const BufferLoad* load) {
    if (std::find(out->transposed.begin(), out->transposed.end(), load) == out->transposed.end())
      may_overlap = may_overlap && count_of(load->buffer) != count_of(store->buffer);
    else if (load->dtype.bytes() > widest.bytes()) widest = load->dtype;
  });
  out->tile = tile_of(out->written.extent, out->read.extent, widest, machine);
  if (!may_overlap) {
    while (out->written.extent % out->tile.rows != 0) out->tile.rows /= 2;
    while (out->read.extent % out->tile.columns != 0) out->tile.columns /= 2;
  }
  if (out->tile.rows < kMinTileLanes || out->tile.columns < kMinTileLanes) return std::nullopt;
  int64_t elements = 1;
  for (int64_t extent : out->extents) elements *= extent;
  const bool is_move = store->value.as<BufferLoad>() != nullptr;
  out->is_parallel = elements >= (is_move ? ParallelThreshold::transposed : ParallelThreshold::elements);
  return out;
}

Stmt transposing_nest(const TransposingStage& stage, const Machine& machine) {
  const BlockNode* block = stage.block;
  auto* store = block->body.as<BufferStore>();
  auto stride_along = [&](const Buffer& buffer, const Array<PrimExpr>& indices, const AxisRun& run) {
    return *stride(buffer, indices, block->iter_vars[run.axes.back()]->var);
  };
  const TransposeTile& tile = stage.tile;
  const int64_t down = ceil_div(stage.written.extent, tile.rows), across = ceil_div(stage.read.extent, tile.columns);
  std::vector<size_t> outer;  // axes of which a tile is one element
  auto is_of = [](const AxisRun& run, size_t axis) {
    return std::find(run.axes.begin(), run.axes.end(), axis) != run.axes.end();
  };
  int64_t tiles = down * across;
  for (size_t i = 0; i < stage.extents.size(); ++i) {
    if (is_of(stage.written, i) || is_of(stage.read, i)) continue;
    outer.push_back(i);
    tiles *= stage.extents[i];
  }
  auto one_tile = [&](const PrimExpr& index) {
    PrimExpr rest = index;
    auto digit = [&](int64_t extent) {
      PrimExpr out = floormod(rest, number(extent));
      rest = floordiv(rest, number(extent));
      return out;
    };
    const PrimExpr row = start_of(digit(down), tile.rows, stage.written.extent);
    const PrimExpr column = start_of(digit(across), tile.columns, stage.read.extent);
    Map<Var, PrimExpr> at;  // the first element of all tiles with these outer axes
    arith::Analyzer analyzer;
    for (const IterVar& axis : block->iter_vars) at.set(axis->var, make_zero(axis->var->dtype));
    for (size_t i = outer.size(); i-- > 0;) {
      const Var& var = block->iter_vars[outer[i]]->var;
      at.set(var, cast(var->dtype, digit(stage.extents[outer[i]])));
    }
    auto first = [&](const Buffer& buffer, const Array<PrimExpr>& indices) {
      Array<PrimExpr> there;
      for (const PrimExpr& i : indices) there.push_back(substitute(i, at));
      return cast(DataType::Int(32), analyzer.simplify(flat_index(there, buffer->shape)));
    };
    auto in_one_dimension = [](const Buffer& buffer) { return flat(buffer, count_of(buffer)); };
    TileTransposer transposer(interleaves_vectors(machine));
    std::vector<Stmt> parts;
    std::vector<Buffer> squares;
    for (const BufferLoad* load : stage.transposed) {
      const int64_t step = stride_along(load->buffer, load->indices, stage.written);
      const PrimExpr from = first(load->buffer, load->indices) + row * number(step) + column;
      squares.push_back(decl_buffer({number(tile.rows * tile.columns)}, load->dtype, "square", "local"));
      const std::vector<PrimExpr> columns = transposer(in_one_dimension(load->buffer), tile, from, number(step));
      parts.push_back(store_columns(squares.back(), columns, number(0), number(tile.rows)));
    }
    auto put = [&](int64_t i, const PrimExpr& lane) -> Stmt {
      Rewriter fill;
      fill.on([&](Rewriter&, const BufferLoad* load) -> PrimExpr {
        auto square = std::find(stage.transposed.begin(), stage.transposed.end(), load);
        if (square != stage.transposed.end())
          return make_load(squares[static_cast<size_t>(square - stage.transposed.begin())],
                           {number(i * tile.rows) + lane});
        const int64_t along = stride_along(load->buffer, load->indices, stage.written),
                      step = stride_along(load->buffer, load->indices, stage.read);
        PrimExpr from = first(load->buffer, load->indices) + (column + number(i)) * number(step);
        return make_load(in_one_dimension(load->buffer), {along == 0 ? from : from + row + lane});
      });
      fill.on([&](Rewriter&, const VarNode* var) -> PrimExpr {
        return at.count(Var(var)) ? at[Var(var)] : PrimExpr(Var(var));
      });
      const int64_t step = stride_along(store->buffer, store->indices, stage.read);
      PrimExpr to = first(store->buffer, store->indices) + (column + number(i)) * number(step) + row + lane;
      return make(BufferStore{.buffer = in_one_dimension(store->buffer), .value = fill(store->value), .indices = {to}});
    };
    for (int64_t i = 0; i < tile.columns; ++i)
      parts.push_back(loop_over(
          "lane", number(tile.rows), [&](const PrimExpr& lane) { return put(i, lane); }, LoopKind::Vectorized));
    Stmt body = transposer.around(sequence(parts));
    for (const Buffer& square : squares) body = allocated(square, body);
    return body;
  };
  return loop_over("tile", number(tiles), one_tile, stage.is_parallel ? LoopKind::Parallel : LoopKind::Serial);
}

// ---- tensors ---------------------------------------------------------------------------------------------------------

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
  if (!has_vectors(dtype) || move.matrices * move.rows * move.columns > INT32_MAX) return false;
  const TransposeTile tile = tile_of(move.rows, move.columns, dtype, machine);
  return tile.rows >= kMinTileLanes && tile.columns >= kMinTileLanes;
}

te::Tensor transpose_tiles(const te::Tensor& x, const Transposition& move, const Array<PrimExpr>& shape,
                           const Machine& machine) {
  const TransposeTile tile = tile_of(move.rows, move.columns, x->dtype, machine);
  const int64_t matrix = move.rows * move.columns, elements = move.matrices * matrix;
  const int64_t down = ceil_div(move.rows, tile.rows), across = ceil_div(move.columns, tile.columns);
  auto body = [&](const Buffers& in, const Buffers& out) {
    Buffer source = flat(in[0], elements), target = flat(out[0], elements);
    auto one_tile = [&](const PrimExpr& i) {
      PrimExpr row = start_of(floormod(i, number(down)), tile.rows, move.rows);
      PrimExpr rest = floordiv(i, number(down));
      PrimExpr column = start_of(floormod(rest, number(across)), tile.columns, move.columns);
      PrimExpr first = floordiv(rest, number(across)) * number(matrix);
      TileTransposer transposer(interleaves_vectors(machine));
      auto columns = transposer(source, tile, first + row * number(move.columns) + column, number(move.columns));
      return transposer.around(
          store_columns(target, columns, first + column * number(move.rows) + row, number(move.rows)));
    };
    return loop(number(move.matrices * down * across), one_tile,
                elements >= ParallelThreshold::transposed ? LoopKind::Parallel : LoopKind::Serial);
  };
  return program("transpose_tiles", {x}, {{shape, x->dtype}}, body)[0];
}

}  // namespace tessera::topi

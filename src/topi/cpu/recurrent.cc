#include "topi/cpu/recurrent.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "topi/cpu/contraction/register_tile.h"
#include "topi/cpu/lets.h"
#include "topi/cpu/number.h"
#include "topi/cpu/recurrent_activation.h"
#include "topi/program.h"

namespace tessera::topi {
namespace {

const DataType kInt32 = DataType::Int(32);
constexpr int64_t kGroup = 4;                   // neighbours along k in a lane of int8 weights
constexpr int64_t kMaxGroup = 32;               // rows of the batch that go through the steps together
constexpr int64_t kMaxBlocks = 4;               // of a register tile
constexpr int64_t kMaxRows = 8;                 // of a register tile
constexpr int64_t kMinParallelFlops = 1 << 22;  // below this no thread is woken

PrimExpr count(const PrimExpr& extent) { return tessera::cast(kInt32, extent); }

/// A number with the type and the lanes of x.
PrimExpr like(const PrimExpr& x, double value) { return make_const(x.dtype(), value); }

// ---- the kernel -----------------------------------------------------------------------------------------------------

/// Rows of a register tile, for each of `vectors` sums: as many as leave registers for the vectors of weights and one element.
int64_t rows_that_fit(int64_t vectors, int64_t registers) {
  return std::clamp<int64_t>((registers - vectors - 1) / vectors, 1, kMaxRows);
}

class RecurrentKernel {
 public:
  RecurrentKernel(const RecurrentLayer& layer, const RecurrentInputs& in, const RecurrentTiles& tiles)
      : layer_(layer), tiles_(tiles), gates_(gates_of(layer.cell)) {
    const Array<PrimExpr>& shape = in.weight->shape;
    blocks_ = *as_int(shape[1]), hidden_ = *as_int(shape[2]), block_ = *as_int(shape[4]);
    if (in.is_quantized()) hidden_ = layer.hidden, block_ /= kGroup;
    width_ = blocks_ * block_;
    sum_ = in.data->dtype == DataType::Float(64) ? in.data->dtype : DataType::Float(32);
    lanes_ = tiles.lanes > 1 ? block_ : 1;
    is_tiled_ = tiles.lanes > 1 && (!in.is_quantized() || tiles.dot);
    steps_ = count(in.data->shape[0]);
    batch_ = count(in.data->shape[1]);
    plan(in);
    auto add = [&](const te::Tensor& tensor) {
      if (!tensor) return -1;
      tensors_.push_back(tensor);
      return static_cast<int>(tensors_.size()) - 1;
    };
    data_ = add(in.data), weight_ = add(in.weight), reset_weight_ = add(in.reset_weight),
    bias_ = add(in.recurrent_bias), peepholes_ = add(in.peepholes);
    initial_h_ = add(in.initial_h), initial_c_ = add(in.initial_c), lengths_ = add(in.lengths);
    scale_ = add(in.weight_scale), sums_ = add(in.weight_sums), zero_ = add(in.weight_zero);
  }

  Array<te::Tensor> run() {
    const DataType dtype = is_quantized() ? sum_ : tensors_[static_cast<size_t>(weight_)]->dtype;
    const PrimExpr ways = number(layer_.directions), hidden = number(hidden_);
    const Array<PrimExpr>& shape = tensors_[0]->shape;
    std::vector<Result> results{{{shape[0], ways, shape[1], hidden}, dtype}, {{ways, shape[1], hidden}, dtype}};
    if (is_lstm()) results.push_back(results[1]);
    return program("recurrent", Array<te::Tensor>(tensors_.begin(), tensors_.end()), results,
                   [&](const Buffers& in, const Buffers& out) {
                     in_ = in, out_ = out;
                     return all_tasks();
                   });
  }

 private:
  bool is_quantized() const { return has(scale_); }
  bool is_lstm() const { return layer_.cell == RecurrentCell::LSTM; }
  bool has(int input) const { return input >= 0; }
  const Buffer& input(int index) const { return in_[static_cast<size_t>(index)]; }

  // ---- sizes --------------------------------------------------------------------------------------------------------

  /// Blocks of a register tile of so many rows and gates.
  int64_t tile_blocks(int64_t rows, int64_t gates) const {
    const int64_t vectors = gates * block_ / tiles_.lanes;  // of one block
    return std::clamp<int64_t>((tiles_.registers - 4) / (vectors * (rows == 1 ? 1 : rows + 1)), 1,
                               std::min(kMaxBlocks, blocks_));
  }

  void plan(const RecurrentInputs& in) {
    const int64_t vectors = gates_ * block_ / tiles_.lanes;
    rows_ = is_tiled_ ? rows_that_fit(vectors, tiles_.registers) : 1;
    const int64_t *steps = as_int(in.data->shape[0]), *batch = as_int(in.data->shape[1]);
    const int64_t most = is_tiled_ ? kMaxGroup : 1;
    group_ = number(rows_ * std::max<int64_t>(most / rows_, 1));
    const int64_t flops = 2 * gates_ * hidden_ * hidden_ * layer_.directions * (steps ? *steps : 64) *
                          (batch ? std::max<int64_t>(*batch, 1) : 1);
    is_parallel_ = tiles_.cores > 1 && flops >= kMinParallelFlops;
    if (in.is_quantized()) group_ = batch_;  // one range is for all rows
    if (!batch) return;
    const int64_t all = std::max<int64_t>(*batch, 1);
    rows_ = ceil_div(all, ceil_div(all, rows_));  // tiles of about equal size
    const int64_t tasks = is_parallel_ ? std::max<int64_t>(tiles_.cores / layer_.directions, 1) : 1;
    const int64_t share = std::min(most, ceil_div(all, tasks));
    if (!in.is_quantized()) group_ = number(std::min(all, ceil_div(share, rows_) * rows_));
  }

  // ---- tasks --------------------------------------------------------------------------------------------------------

  bool directions_are_alike() const {
    const size_t each = activations_of(layer_.cell);
    for (size_t i = each; i < layer_.activations.size(); ++i)
      if (!(layer_.activations[i] == layer_.activations[i - each])) return false;
    return true;
  }

  Stmt all_tasks() {
    const PrimExpr groups = is_quantized() ? number(1) : ceildiv(batch_, group_);
    const LoopKind kind = is_parallel_ ? LoopKind::Parallel : LoopKind::Serial;
    if (directions_are_alike())
      return loop_over(
          "task", groups * number(layer_.directions),
          [&](const PrimExpr& task) {
            const bool is_one = layer_.directions == 1;
            return one_task(is_one ? number(0) : indexdiv(task, groups), is_one ? task : indexmod(task, groups), 0);
          },
          kind);
    std::vector<Stmt> out;
    for (int64_t d = 0; d < layer_.directions; ++d)
      out.push_back(
          loop_over("task", groups, [&](const PrimExpr& task) { return one_task(number(d), task, d); }, kind));
    return sequence(out);
  }

  Buffer state(const char* name, int64_t copies = 1) const {
    return decl_buffer({group_ * number(copies * width_)}, sum_, name, tiles_.memory);
  }

  /// All steps of one direction for a group of rows. `like`: the direction whose activations hold.
  Stmt one_task(const PrimExpr& direction, const PrimExpr& group, int64_t like) {
    direction_ = direction;
    activations_ = layer_.activations.data() + static_cast<size_t>(like) * activations_of(layer_.cell);
    first_ = is_quantized() ? number(0) : group * group_;
    const int64_t *batch = as_int(batch_), *most = as_int(group_);
    const bool is_whole = is_quantized() || (batch && most && *batch == *most);
    task_rows_ = is_whole ? batch_ : min(group_, batch_ - first_);
    if (is_quantized()) quantized_ = QuantizedState(group_, width_, lanes_, tiles_.memory);
    h_ = state("h", 2), c_ = state("c"), update_ = state("update"), reset_ = state("reset");
    Stmt body = sequence({first_states(), loop_over("t", steps_, [&](const PrimExpr& t) { return one_step(t); }),
                          last_states(floormod(steps_, number(2)))});
    body = allocated(h_, body);
    if (is_lstm()) body = allocated(c_, body);
    if (is_quantized()) body = quantized_.allocated_around(body);
    if (layer_.resets_first()) body = allocated(update_, allocated(reset_, body));
    return body;
  }

  Stmt each_row(const std::function<Stmt(const PrimExpr&)>& body) { return loop_over("row", task_rows_, body); }
  PrimExpr h_at(const PrimExpr& copy, const PrimExpr& row) const { return (copy * group_ + row) * number(width_); }

  Stmt first_states() {
    auto fill = [&](const Buffer& to, int from) {
      return each_row([&](const PrimExpr& row) {
        auto put = [&](const PrimExpr& unit, const PrimExpr& value) {
          return store(to, value, {row * number(width_) + unit});
        };
        Stmt zeros = loop_over("unit", number(width_), [&](const PrimExpr& u) { return put(u, make_zero(sum_)); });
        if (!has(from)) return zeros;
        Stmt given = loop_over("unit", number(hidden_), [&](const PrimExpr& u) {
          return put(u, tessera::cast(sum_, make_load(input(from), {direction_, first_ + row, u})));
        });
        return width_ == hidden_ ? given : sequence({zeros, given});
      });
    };
    return is_lstm() ? sequence({fill(h_, initial_h_), fill(c_, initial_c_)}) : fill(h_, initial_h_);
  }

  Stmt last_states(const PrimExpr& copy) {
    return each_row([&](const PrimExpr& row) {
      auto take = [&](const Buffer& to, const Buffer& from, const PrimExpr& at) {
        return loop_over("unit", number(hidden_), [&](const PrimExpr& u) {
          return store(to, make_load(from, {at + u}), {direction_, first_ + row, u});
        });
      };
      Stmt h = take(out_[1], h_, h_at(copy, row));
      return is_lstm() ? sequence({h, take(out_[2], c_, row * number(width_))}) : h;
    });
  }

  // ---- one step -----------------------------------------------------------------------------------------------------

  using Sums = std::function<PrimExpr(int64_t gate)>;
  /// What is done with the sums of a block of units of one row, from `unit` on.
  using Use = std::function<Stmt(const PrimExpr& row, const PrimExpr& unit, const Sums& sums)>;

  Stmt one_step(const PrimExpr& t) {
    t_ = t;
    now_ = indexmod(t, number(2));
    auto state_h = [&](const PrimExpr& row, const PrimExpr& k) { return make_load(h_, {h_at(now_, row) + k}); };
    if (!layer_.resets_first()) {
      Stmt step = matmul(0, gates_, state_h, [&](const PrimExpr& row, const PrimExpr& unit, const Sums& sums) {
        return unless_ended(row, unit, [&](const PrimExpr& step) { return cell(row, unit, step, sums); });
      });
      return is_quantized() ? sequence({quantize(), step}) : step;
    }
    auto state_reset = [&](const PrimExpr& row, const PrimExpr& k) {
      return make_load(reset_, {row * number(width_) + k});
    };
    return sequence(
        {matmul(0, 2, state_h,
                [&](const PrimExpr& row, const PrimExpr& unit, const Sums& sums) {
                  return unless_ended(
                      row, unit, [&](const PrimExpr& step) { return gru_gates(row, unit, step, sums); }, true);
                }),
         matmul(2, 3, state_reset, [&](const PrimExpr& row, const PrimExpr& unit, const Sums& sums) {
           return unless_ended(row, unit, [&](const PrimExpr& step) { return gru_output(row, unit, step, sums); });
         })});
  }

  using State = std::function<PrimExpr(const PrimExpr& row, const PrimExpr& k)>;

  /// Tiles of rows, each size with its own blocks; weights are read once for all tiles of a size.
  Stmt matmul(int64_t first_gate, int64_t last_gate, const State& state, const Use& use) {
    auto tiles = [&](int64_t rows, const PrimExpr& first, const PrimExpr& tiles) {
      const int64_t side = tile_blocks(rows, last_gate - first_gate), whole = blocks_ / side, rest = blocks_ % side;
      auto at = [&](int64_t blocks, const PrimExpr& block) {
        return loop_over("tile", tiles, [&](const PrimExpr& i) {
          return tile(rows, blocks, first + i * number(rows), block, first_gate, last_gate, state, use);
        });
      };
      std::vector<Stmt> out;
      if (whole > 0)
        out.push_back(loop_over("block", number(whole), [&](const PrimExpr& b) { return at(side, b * number(side)); }));
      if (rest > 0) out.push_back(at(rest, number(whole * side)));
      return sequence(out);
    };
    const PrimExpr whole = indexdiv(task_rows_, number(rows_)), rest = indexmod(task_rows_, number(rows_));
    std::vector<Stmt> out;
    if (const int64_t* known = as_int(whole); !known || *known > 0) out.push_back(tiles(rows_, number(0), whole));
    const PrimExpr at = whole * number(rows_);
    if (const int64_t* known = as_int(rest)) {
      if (*known > 0) out.push_back(tiles(*known, at, number(1)));
    } else {
      Stmt choice;
      for (int64_t rows = 1; rows < rows_; ++rows)
        choice = when(equal(rest, number(rows)), tiles(rows, at, number(1)), choice);
      if (choice) out.push_back(choice);
    }
    return sequence(out);
  }

  Stmt tile(int64_t rows, int64_t blocks, const PrimExpr& row, const PrimExpr& block, int64_t first_gate,
            int64_t last_gate, const State& state, const Use& use) {
    const int64_t gates = last_gate - first_gate, size = blocks * gates * block_;
    const DataType dtype = is_quantized() ? kInt32 : sum_;
    Buffer scratch = decl_buffer({number(rows * size)}, dtype, "gates", "local");
    const bool is_reset = layer_.resets_first() && first_gate == 2;
    const int64_t first_weight = is_reset ? 0 : first_gate;
    auto weight = [&](const PrimExpr& b, const PrimExpr& k, const PrimExpr& gate, const PrimExpr& lane) {
      PrimExpr value = make_load(input(is_reset ? reset_weight_ : weight_), {direction_, b, k, gate, lane});
      return tessera::cast(sum_.with_lanes(value.dtype().lanes), value);
    };
    Stmt sums;
    if (is_tiled_) {
      const int64_t parts = block_ / tiles_.lanes, per_block = gates * parts;
      OuterTile tile;
      tile.dtype = dtype;
      tile.size = {.rows = rows, .vectors = blocks * per_block, .lanes = tiles_.lanes, .rest = tiles_.lanes};
      tile.depth = number(hidden_);
      tile.a = [&](int64_t i, const PrimExpr& k) { return state(row + number(i), k); };
      tile.b = [&](const PrimExpr& k, int64_t v) {
        return weight(block + number(v / per_block), k, number(first_weight + v % per_block / parts),
                      ramp(number(v % parts * tiles_.lanes), tiles_.lanes));
      };
      if (is_quantized()) {
        tile.depth = number(ceil_div(hidden_, kGroup));
        tile.a = [&](int64_t i, const PrimExpr& k) {
          const PrimExpr at = (row + number(i)) * number(width_) + k * number(kGroup);
          return reinterpret(kInt32, load_vector(quantized_.integers, at, kGroup, kGroup));
        };
        tile.b = [&](const PrimExpr& k, int64_t v) {
          const PrimExpr lane = ramp(number(v % parts * tiles_.lanes * kGroup), tiles_.lanes * kGroup);
          PrimExpr groups = make_load(
              input(weight_), {direction_, block + number(v / per_block), k, number(v % per_block / parts), lane});
          return reinterpret(kInt32.with_lanes(static_cast<int>(tiles_.lanes)), groups);
        };
        tile.multiply_add = [&](const PrimExpr& sum, const PrimExpr& a, const PrimExpr& b) {
          return multiply_add(*tiles_.dot, *tiles_.isa, sum, a, b);
        };
      }
      tile.use = [&](const Buffer& from) {
        std::vector<Stmt> copies;
        for (int64_t i = 0; i < rows * size; i += tiles_.lanes)
          copies.push_back(store_vector(scratch, number(i), load_vector(from, number(i), tiles_.lanes, tiles_.lanes)));
        return sequence(copies);
      };
      sums = outer_tile(tile);
    } else {
      sums = loop_over("sum", number(size), [&](const PrimExpr& s) {
        const PrimExpr lane = indexmod(s, number(block_)), g = indexdiv(s, number(block_));
        const PrimExpr b = block + indexdiv(g, number(gates)), gate = number(first_weight) + indexmod(g, number(gates));
        auto term = [&](const PrimExpr& k) {
          if (!is_quantized()) return state(row, k) * weight(b, k, gate, lane);
          const PrimExpr at = lane * number(kGroup) + indexmod(k, number(kGroup));
          PrimExpr value = make_load(input(weight_), {direction_, b, indexdiv(k, number(kGroup)), gate, at});
          return count(make_load(quantized_.integers, {row * number(width_) + k})) * count(value);
        };
        return sequence({store(scratch, make_zero(dtype), {s}), loop_over("k", number(hidden_), [&](const PrimExpr& k) {
                           return store(scratch, make_load(scratch, {s}) + term(k), {s});
                         })});
      });
    }
    Stmt uses = loop_over("row", number(rows), [&](const PrimExpr& i) {
      return loop_over("part", number(blocks), [&](const PrimExpr& b) {
        return loop_over("lane", number(block_ / lanes_), [&](const PrimExpr& lane) {
          Sums sum = [&](int64_t gate) {
            PrimExpr at = i * number(size) + b * number(gates * block_) + number((gate - first_gate) * block_) + lane;
            const PrimExpr unit = (block + b) * number(block_) + lane;
            return is_quantized() ? dequantized(scratch, at, row + i, unit, gate) : vector_at(scratch, {at});
          };
          return use(row + i, (block + b) * number(block_) + lane, sum);
        });
      });
    });
    return allocated(scratch, sequence({sums, uses}));
  }

  // ---- states as integers ---------------------------------------------------------------------------------------------

  /// The state as uint8: its range, which has 0 inside, is that of all rows.
  struct QuantizedState {
    Buffer integers, row_sums, range, scale, zero;

    QuantizedState() = default;
    QuantizedState(const PrimExpr& rows, int64_t width, int64_t lanes, const char* memory)
        : integers(decl_buffer({rows * number(width)}, DataType::UInt(8), "integers", memory)),
          row_sums(decl_buffer({rows}, kInt32, "row_sums", memory)),
          range(decl_buffer({number(2 * lanes)}, DataType::Float(32), "range", "local")),
          scale(decl_buffer({number(1)}, DataType::Float(32), "scale", "local")),
          zero(decl_buffer({number(1)}, kInt32, "zero", "local")) {}
    Stmt allocated_around(Stmt body) const {
      for (const Buffer& buffer : {integers, row_sums, range, scale, zero}) body = allocated(buffer, body);
      return body;
    }
  };

  PrimExpr everywhere(const PrimExpr& x) const { return lanes_ > 1 ? make_broadcast(x, static_cast<int>(lanes_)) : x; }
  /// Units of a row of the state from `unit` on, with zeros for padding.
  PrimExpr state_units(const PrimExpr& row, const PrimExpr& unit) const {
    const PrimExpr x = state_before(row, unit);
    if (width_ == hidden_) return x;
    return select(ramp(unit, lanes_) < everywhere(number(hidden_)), x, make_zero(vector_type()));
  }
  Stmt each_block(const std::function<Stmt(const PrimExpr& row, const PrimExpr& unit)>& body) {
    return each_row([&](const PrimExpr& row) {
      return loop_over("block", number(width_ / lanes_),
                       [&](const PrimExpr& block) { return body(row, block * number(lanes_)); });
    });
  }

  /// As DynamicQuantizeLinear of ONNX does it.
  Stmt quantize() {
    const Buffer& range = quantized_.range;
    const PrimExpr low = number(0), high = number(lanes_), zeros = make_zero(vector_type());
    auto one = [&](int64_t lane) { return make_load(range, {number(lane)}); };
    std::vector<Stmt> out{put(range, zeros, {low}), put(range, zeros, {high})};
    out.push_back(each_block([&](const PrimExpr& row, const PrimExpr& unit) {
      Lets lets;
      const PrimExpr x = lets("x", state_units(row, unit));
      return lets.around(sequence(
          {put(range, min(vector_at(range, {low}), x), {low}), put(range, max(vector_at(range, {high}), x), {high})}));
    }));
    PrimExpr least = one(0), most = one(lanes_);
    for (int64_t i = 1; i < lanes_; ++i) least = min(least, one(i)), most = max(most, one(lanes_ + i));
    Lets lets;
    least = lets("least", least);
    const PrimExpr width = lets("width", lets("most", most) - least);
    const PrimExpr scale =
        lets("scale", div(select(equal(width, like(width, 0)), like(width, 1), width), like(width, 255)));
    const PrimExpr zero = nearbyint(max(min(like(width, 0) - div(least, scale), like(width, 255)), like(width, 0)));
    out.push_back(lets.around(
        sequence({store(quantized_.scale, scale, {number(0)}), store(quantized_.zero, zero, {number(0)})})));
    out.push_back(each_block([&](const PrimExpr& row, const PrimExpr& unit) {
      const PrimExpr step = everywhere(make_load(quantized_.scale, {number(0)}));
      const PrimExpr middle = everywhere(tessera::cast(sum_, make_load(quantized_.zero, {number(0)})));
      const PrimExpr x = nearbyint(div(state_units(row, unit), step)) + middle;
      const PrimExpr whole =
          tessera::cast(kInt32.with_lanes(static_cast<int>(lanes_)), max(min(x, like(x, 255)), like(x, 0)));
      return put(quantized_.integers, whole, {row * number(width_) + unit});
    }));
    if (has(zero_))
      out.push_back(each_row([&](const PrimExpr& row) {
        const PrimExpr sum = make_load(quantized_.row_sums, {row});
        return sequence(
            {store(quantized_.row_sums, number(0), {row}), loop_over("k", number(hidden_), [&](const PrimExpr& k) {
               PrimExpr value = count(make_load(quantized_.integers, {row * number(width_) + k}));
               return store(quantized_.row_sums, sum + value, {row});
             })});
      }));
    return sequence(out);
  }

  /// Sums of integers as what they stand for:
  ///   sum of (state - p)(weight - q)  =  sum of state * weight - p * sum of (weight - q) - q * sum of state
  PrimExpr dequantized(const Buffer& scratch, const PrimExpr& at, const PrimExpr& row, const PrimExpr& unit,
                       int64_t gate) const {
    auto column = [&](int from) {
      const PrimExpr lane = ramp(indexmod(unit, number(block_)), lanes_);
      return make_load(input(from), {direction_, indexdiv(unit, number(block_)), number(gate), lane});
    };
    PrimExpr sums =
        make_load(scratch, {ramp(at, lanes_)}) - everywhere(make_load(quantized_.zero, {number(0)})) * column(sums_);
    if (has(zero_)) sums = sums - everywhere(make_load(quantized_.row_sums, {row})) * column(zero_);
    return tessera::cast(vector_type(), sums) * (everywhere(make_load(quantized_.scale, {number(0)})) * column(scale_));
  }

  // ---- the gates of a block of units --------------------------------------------------------------------------------

  static PrimExpr ramp(const PrimExpr& first, int64_t lanes) {
    return lanes == 1 ? first : make_ramp(first, make_const(first.dtype(), 1), static_cast<int>(lanes));
  }
  DataType vector_type() const { return sum_.with_lanes(static_cast<int>(lanes_)); }

  /// As many elements as a block is computed with, in the type of sums.
  PrimExpr vector_at(const Buffer& from, Indices at) const {
    at.set(at.size() - 1, ramp(at.back(), lanes_));
    return tessera::cast(vector_type(), make_load(from, at));
  }
  Stmt put(const Buffer& to, const PrimExpr& value, Indices at) const {
    at.set(at.size() - 1, ramp(at.back(), lanes_));
    return make(BufferStore{
        .buffer = to, .value = tessera::cast(to->dtype.with_lanes(static_cast<int>(lanes_)), value), .indices = at});
  }

  /// The element of a packed tensor (directions, blocks, ..., block) at a unit.
  PrimExpr of_unit(int from, const PrimExpr& unit, int64_t part = -1) const {
    Indices at{direction_, indexdiv(unit, number(block_))};
    if (part >= 0) at.push_back(number(part));
    at.push_back(indexmod(unit, number(block_)));
    return vector_at(input(from), at);
  }

  /// What the data gives to a gate in that step.
  PrimExpr of_data(const PrimExpr& row, const PrimExpr& unit, const PrimExpr& step, int64_t gate) const {
    PrimExpr block = direction_ * number(blocks_) + indexdiv(unit, number(block_));
    PrimExpr column = (block * number(gates_) + number(gate)) * number(block_) + indexmod(unit, number(block_));
    return vector_at(input(data_), {step, first_ + row, column});
  }

  PrimExpr limited(const PrimExpr& x) const {
    return layer_.clip > 0 ? max(min(x, like(x, layer_.clip)), like(x, -layer_.clip)) : x;
  }
  PrimExpr active(size_t i, const PrimExpr& x) const {
    const RecurrentActivation& activation = activations_[i];
    return activated(activation, x);
  }

  /// An output, without the padding of the last block.
  Stmt put_output(const PrimExpr& row, const PrimExpr& unit, const PrimExpr& step, const PrimExpr& value) const {
    Indices at{step, direction_, first_ + row, unit};
    if (width_ == hidden_) return put(out_[0], value, at);
    const PrimExpr end = number(hidden_);
    if (lanes_ == 1) return when(unit < end, put(out_[0], value, at));
    const int64_t rest = hidden_ % block_;
    std::vector<Stmt> lanes;
    for (int64_t i = 0; i < rest; ++i)
      lanes.push_back(
          store(out_[0], make_shuffle({value}, {number(i)}), {step, direction_, first_ + row, unit + number(i)}));
    return when(unit + number(block_) <= end, put(out_[0], value, at), sequence(lanes));
  }

  /// `body` with the step whose data comes next; a sequence that has ended keeps its state and gives zeros.
  Stmt unless_ended(const PrimExpr& row, const PrimExpr& unit, const std::function<Stmt(const PrimExpr&)>& body,
                    bool is_first_half = false) {
    Lets lets;
    PrimExpr length = steps_;
    if (has(lengths_))
      length = lets("length", max(min(count(make_load(input(lengths_), {first_ + row})), steps_), number(0)));
    PrimExpr step = t_;
    const PrimExpr backwards = length - number(1) - t_;
    if (layer_.directions == 2) step = lets("step", select(equal(direction_, number(1)), backwards, t_));
    else if (layer_.is_reversed) step = backwards;
    Stmt out = body(step);
    if (has(lengths_)) {
      Stmt ended;
      if (!is_first_half) {
        const PrimExpr same = state_before(row, unit);
        ended = sequence(
            {put(h_, same, {h_at(number(1) - now_, row) + unit}), put_output(row, unit, t_, make_zero(vector_type()))});
      }
      out = when(t_ < length, out, ended);
    }
    return lets.around(out);
  }
  PrimExpr state_before(const PrimExpr& row, const PrimExpr& unit) const {
    return vector_at(h_, {h_at(now_, row) + unit});
  }

  Stmt put_state(const PrimExpr& row, const PrimExpr& unit, const PrimExpr& step, const PrimExpr& value) const {
    return sequence({put(h_, value, {h_at(number(1) - now_, row) + unit}), put_output(row, unit, step, value)});
  }

  Stmt cell(const PrimExpr& row, const PrimExpr& unit, const PrimExpr& step, const Sums& sums) const {
    switch (layer_.cell) {
      case RecurrentCell::RNN: return rnn(row, unit, step, sums);
      case RecurrentCell::GRU: return gru_linear(row, unit, step, sums);
      case RecurrentCell::LSTM: return lstm(row, unit, step, sums);
    }
    return nullptr;
  }

  Stmt rnn(const PrimExpr& row, const PrimExpr& unit, const PrimExpr& step, const Sums& sums) const {
    Lets lets;
    PrimExpr x = lets("x", limited(of_data(row, unit, step, 0) + sums(0)));
    PrimExpr next = lets("next", active(0, x));
    return lets.around(put_state(row, unit, step, next));
  }

  /// Gates: input, output, forget, cell. Peepholes: input, output, forget.
  Stmt lstm(const PrimExpr& row, const PrimExpr& unit, const PrimExpr& step, const Sums& sums) const {
    Lets lets;
    const PrimExpr at = row * number(width_) + unit;
    PrimExpr memory = lets("memory", vector_at(c_, {at}));
    auto gate = [&](const char* name, int64_t g, const PrimExpr& seen, size_t activation) {
      PrimExpr x = of_data(row, unit, step, g) + sums(g);
      if (has(peepholes_) && seen) x = x + of_unit(peepholes_, unit, g) * seen;
      return lets(name, active(activation, lets("x", limited(x))));
    };
    PrimExpr opened = gate("input", 0, memory, 0);
    PrimExpr kept = layer_.input_forget ? like(opened, 1) - opened : gate("forget", 2, memory, 0);
    PrimExpr fresh = gate("fresh", 3, nullptr, 1);
    PrimExpr next = lets("next", kept * memory + opened * fresh);
    PrimExpr shown = gate("output", 1, next, 0);
    PrimExpr output = lets("h", shown * active(2, next));
    return lets.around(sequence({put_state(row, unit, step, output), put(c_, next, {at})}));
  }

  /// Gates: update, reset, hidden.
  Stmt gru_linear(const PrimExpr& row, const PrimExpr& unit, const PrimExpr& step, const Sums& sums) const {
    Lets lets;
    auto gate = [&](const char* name, int64_t g) {
      return lets(name, active(0, lets("x", limited(of_data(row, unit, step, g) + sums(g)))));
    };
    PrimExpr update = gate("update", 0), reset = gate("reset", 1);
    PrimExpr inner = has(bias_) ? sums(2) + of_unit(bias_, unit) : sums(2);
    PrimExpr x = lets("x", limited(of_data(row, unit, step, 2) + reset * inner));
    PrimExpr fresh = lets("fresh", active(1, x)), before = state_before(row, unit);
    PrimExpr next = lets("next", (like(update, 1) - update) * fresh + update * before);
    return lets.around(put_state(row, unit, step, next));
  }
  Stmt gru_gates(const PrimExpr& row, const PrimExpr& unit, const PrimExpr& step, const Sums& sums) const {
    Lets lets;
    auto gate = [&](const char* name, int64_t g) {
      return lets(name, active(0, lets("x", limited(of_data(row, unit, step, g) + sums(g)))));
    };
    PrimExpr update = gate("update", 0), reset = gate("reset", 1);
    const PrimExpr at = row * number(width_) + unit;
    return lets.around(sequence({put(update_, update, {at}), put(reset_, reset * state_before(row, unit), {at})}));
  }
  Stmt gru_output(const PrimExpr& row, const PrimExpr& unit, const PrimExpr& step, const Sums& sums) const {
    Lets lets;
    PrimExpr x = lets("x", limited(of_data(row, unit, step, 2) + sums(2)));
    PrimExpr fresh = lets("fresh", active(1, x));
    PrimExpr update = lets("update", vector_at(update_, {row * number(width_) + unit}));
    PrimExpr next = lets("next", (like(update, 1) - update) * fresh + update * state_before(row, unit));
    return lets.around(put_state(row, unit, step, next));
  }

  const RecurrentLayer& layer_;
  const RecurrentTiles& tiles_;
  int64_t gates_, blocks_ = 0, hidden_ = 0, block_ = 0, width_ = 0;
  int64_t lanes_ = 1;  // with which gates are computed
  int64_t rows_ = 1;   // of a register tile
  PrimExpr group_;     // rows of a task
  bool is_tiled_ = false;
  bool is_parallel_ = false;
  DataType sum_;
  PrimExpr steps_, batch_;
  std::vector<te::Tensor> tensors_;
  int data_ = -1, weight_ = -1, reset_weight_ = -1, bias_ = -1, peepholes_ = -1, initial_h_ = -1, initial_c_ = -1,
      lengths_ = -1;
  int scale_ = -1, sums_ = -1, zero_ = -1;
  Buffers in_, out_;

  // of the task that is being written
  PrimExpr direction_, first_, task_rows_;
  const RecurrentActivation* activations_ = nullptr;
  Buffer h_, c_, update_,
      reset_;  // states: two copies of the output's, the cell's; of a GRU its update and what is reset
  QuantizedState quantized_;
  PrimExpr t_, now_;  // the step, and which copy of the output's state it reads
};

}  // namespace

int64_t gates_of(RecurrentCell cell) { return cell == RecurrentCell::RNN ? 1 : cell == RecurrentCell::GRU ? 3 : 4; }
size_t activations_of(RecurrentCell cell) {
  return cell == RecurrentCell::RNN ? 1 : cell == RecurrentCell::GRU ? 2 : 3;
}

RecurrentTiles recurrent_tiles(const Machine& machine, const RecurrentInputs& in) {
  const int64_t bytes = in.data->dtype == DataType::Float(64) ? 8 : 4,
                block = *as_int(in.weight->shape[4]) / (in.is_quantized() ? kGroup : 1);
  RecurrentTiles out{.registers = machine->vector_registers, .cores = machine->cores};
  out.lanes = machine->vector_bytes / bytes;
  if (in.is_quantized()) {
    out.dot = dot_on(machine, DataType::UInt(8), DataType::Int(8));
    out.isa = &matmul_isa(machine, DataType::UInt(8));
    if (out.dot && (out.dot->group != kGroup || block % (out.isa->vector_bytes / bytes) != 0)) out.dot = nullptr;
    if (out.dot) out.lanes = out.isa->vector_bytes / bytes, out.registers = out.isa->registers;
  }
  while (out.lanes > 1 && block % out.lanes != 0) out.lanes /= 2;
  return out;
}

Array<te::Tensor> recurrent(const RecurrentLayer& layer, const RecurrentInputs& in, const RecurrentTiles& tiles) {
  return RecurrentKernel(layer, in, tiles).run();
}

}  // namespace tessera::topi

#include "topi/cpu/nbits/nbits_matmul.h"

#include <algorithm>

#include "codegen/target_cpu.h"
#include "ir/prim/ops.h"
#include "topi/cpu/contraction/group_dot.h"
#include "topi/cpu/contraction/register_tile.h"
#include "topi/cpu/cost_model.h"
#include "topi/cpu/lets.h"
#include "topi/cpu/nbits/nbits_data.h"
#include "topi/cpu/number.h"
#include "topi/program.h"

namespace tessera::topi {
namespace {

const DataType kFloat32 = DataType::Float(32), kInt16 = DataType::Int(16), kInt32 = DataType::Int(32),
               kUInt8 = DataType::UInt(8), kUInt32 = DataType::UInt(32);
constexpr int64_t kPanel = NBitsMatmul::kPanel, kLaneBytes = NBitsMatmul::kLaneBytes;
constexpr int64_t kManyRows = 12;  // from which on weights are unpacked to memory
constexpr int64_t kFewRows = 4;    // of a tile of few rows
/// Vectors of a tile of few rows: as many sums as keep the units busy, and no more streams of memory than that takes.
constexpr int64_t kFloatVectors = 4, kInt8Vectors = 2;
constexpr int64_t kMaxInt8 = 127;

/// How x86 without VNNI multiplies int8: pairs of uint8 times int8 into int16, which are added up while they cannot overflow.
struct PairDot {
  const char *multiply, *widen;
};

class NBitsKernel {
 public:
  NBitsKernel(const NBitsMatmul& matmul, const Machine& machine)
      : matmul_(matmul), k_(*as_int(matmul.data->shape.back())), panels_(*as_int(matmul.weight->shape[0])) {
    lanes_ = std::clamp<int64_t>(machine->vector_bytes / kFloat32.bytes(), 1, kPanel);
    registers_ = machine->vector_registers;
    is_parallel_ = machine->cores > 1 && matmul.units * k_ >= ParallelThreshold::matmul;
    rows_ = 1;
    for (size_t i = 0; i + 1 < matmul.data->shape.size(); ++i) rows_ = rows_ * cast(kInt32, matmul.data->shape[i]);
    int8_lanes_ = lanes_;
    if (!matmul.int8_data) return;
    const bool has_pairs = int8_isa(machine) && int8_isa(machine)->name == std::string_view("avx2");
    if (has_pairs && matmul.bits < 8) {
      pairs_ = lanes_ == 16 ? &kPairs512 : &kPairs256;
    } else if (const Isa* isa = int8_isa(machine)) {
      isa_ = isa, int8_lanes_ = isa->vector_bytes / kInt32.bytes();
    }
  }

  te::Tensor run() {
    Array<PrimExpr> shape = matmul_.data->shape;
    shape.set(shape.size() - 1, number(matmul_.units));
    return program("matmul_nbits", {matmul_.data, matmul_.weight, matmul_.scale, matmul_.zero},
                   {{shape, matmul_.data->dtype}}, [&](const Buffers& in, const Buffers& out) {
                     in_ = in, out_ = out[0];
                     const int64_t* known = as_int(rows_);
                     if (known) return *known < kManyRows ? few_rows() : many_rows();
                     return when(rows_ < number(kManyRows), few_rows(), many_rows());
                   })[0];
  }

 private:
  static constexpr PairDot kPairs512{"llvm.x86.avx512.pmaddubs.w.512", "llvm.x86.avx512.pmaddw.d.512"};
  static constexpr PairDot kPairs256{"llvm.x86.avx2.pmadd.ub.sw", "llvm.x86.avx2.pmadd.wd"};

  bool is_int8() const { return pairs_ || isa_; }

  // ---- operands -------------------------------------------------------------------------------------------------------

  /// A vector of `lanes` columns, the v-th of a tile of columns.
  struct Columns {
    PrimExpr panel;
    int64_t lane = 0, lanes = 1;
    PrimExpr first() const { return panel * number(kPanel) + number(lane); }
  };
  static Columns columns_at(const PrimExpr& panel, int64_t v, int64_t lanes) {
    const int64_t first = v * lanes;
    return {panel + number(first / kPanel), first % kPanel, lanes};
  }
  static PrimExpr ramp(const PrimExpr& first, int64_t lanes) {
    return lanes == 1 ? first : make_ramp(first, make_const(first.dtype(), 1), static_cast<int>(lanes));
  }
  static PrimExpr everywhere(const PrimExpr& x, int64_t lanes) {
    return lanes == 1 ? x : make_broadcast(x, static_cast<int>(lanes));
  }
  static PrimExpr everywhere(DataType dtype, int64_t value, int64_t lanes) {
    return everywhere(make_const(dtype, value), lanes);
  }
  static DataType of_lanes(DataType dtype, int64_t lanes) { return dtype.with_lanes(static_cast<int>(lanes)); }

  /// What the columns have in a step, one lane each.
  PrimExpr packed(const Columns& at, const PrimExpr& step) const {
    const PrimExpr bytes =
        make_load(in_[1], {at.panel, step, ramp(number(at.lane * kLaneBytes), at.lanes * kLaneBytes)});
    return reinterpret(of_lanes(kUInt32, at.lanes), bytes);
  }
  PrimExpr scale(const Columns& at, const PrimExpr& block) const {
    return cast(of_lanes(kFloat32, at.lanes), make_load(in_[2], {at.panel, block, ramp(number(at.lane), at.lanes)}));
  }
  PrimExpr zero(const Columns& at, const PrimExpr& block) const {
    if (is_one(in_[3]->shape[2]))
      return everywhere(cast(kFloat32, make_load(in_[3], {number(0), number(0), number(0)})), at.lanes);
    return cast(of_lanes(kFloat32, at.lanes), make_load(in_[3], {at.panel, block, ramp(number(at.lane), at.lanes)}));
  }

  Indices at_row(const PrimExpr& row) const {
    Indices out;
    PrimExpr inner = rows_, left = row;
    const Array<PrimExpr>& shape = in_[0]->shape;
    for (size_t i = 0; i + 1 < shape.size(); ++i) {
      const bool is_last = i + 2 == shape.size();
      if (is_one(shape[i])) {
        out.push_back(number(0));
      } else if (is_last) {
        out.push_back(left);
      } else {
        inner = 1;
        for (size_t j = i + 1; j + 1 < shape.size(); ++j) inner = inner * cast(kInt32, shape[j]);
        out.push_back(indexdiv(left, inner));
        left = indexmod(left, inner);
      }
    }
    return out;
  }

  RowVector row_vector() const {
    return [this](const PrimExpr& row, const PrimExpr& k, int64_t lanes) {
      Indices at = at_row(row);
      at.push_back(ramp(k, lanes));
      return make_load(in_[0], at);
    };
  }

  /// Without the padding of the last panel.
  Stmt put(const PrimExpr& row, const Columns& at, const PrimExpr& value) const {
    auto store_at = [&](const PrimExpr& column, const PrimExpr& part) {
      Indices indices = at_row(row);
      indices.push_back(ramp(column, part.dtype().lanes));
      return make(BufferStore{
          .buffer = out_, .value = cast(out_->dtype.with_lanes(part.dtype().lanes), part), .indices = indices});
    };
    const PrimExpr first = at.first();
    if (matmul_.units % kPanel == 0) return store_at(first, value);
    std::vector<Stmt> parts;
    for (int64_t i = 0; i < at.lanes; ++i) {
      const PrimExpr column = first + number(i);
      const PrimExpr lane = at.lanes == 1 ? value : make_shuffle({value}, {number(i)});
      parts.push_back(when(column < number(matmul_.units), store_at(column, lane)));
    }
    return when(first + number(at.lanes) <= number(matmul_.units), store_at(first, value), sequence(parts));
  }

  // ---- tiles ----------------------------------------------------------------------------------------------------------

  /// Tiles of so many panels, the last of which may have fewer.
  Stmt each_tile(int64_t panels, const std::function<Stmt(const PrimExpr& panel, int64_t panels)>& tile_of) const {
    panels = std::min(panels, panels_);
    const int64_t whole = panels_ / panels, rest = panels_ % panels;
    return loop_over(
        "tile", number(whole + (rest > 0)),
        [&](const PrimExpr& tile) {
          const PrimExpr panel = tile * number(panels);
          if (rest == 0) return tile_of(panel, panels);
          return when(tile < number(whole), tile_of(panel, panels), tile_of(panel, rest));
        },
        is_parallel_ ? LoopKind::Parallel : LoopKind::Serial);
  }

  /// All rows, by tiles of the given heights, the largest first and 1 last.
  Stmt each_row_tile(const std::vector<int64_t>& heights,
                     const std::function<Stmt(const PrimExpr& row, int64_t height)>& tile_of) const {
    std::vector<Stmt> out;
    PrimExpr first = 0, left = rows_;
    for (int64_t height : heights) {
      const PrimExpr tiles = indexdiv(left, number(height));
      if (const int64_t* known = as_int(tiles); !known || *known > 0)
        out.push_back(loop_over("rows", tiles,
                                [&](const PrimExpr& tile) { return tile_of(first + tile * number(height), height); }));
      first = first + tiles * number(height);
      left = indexmod(left, number(height));
    }
    return sequence(out);
  }

  Stmt few_rows() {
    NBitsData data{matmul_, k_, row_vector(), rows_, {}, {}, {}};
    const int64_t lanes = is_int8() ? int8_lanes_ : lanes_;
    const int64_t panels = std::max<int64_t>((is_int8() ? kInt8Vectors : kFloatVectors) * lanes / kPanel, 1);
    auto body = [&] {
      return each_tile(panels, [&](const PrimExpr& panel, int64_t count) {
        return each_row_tile({kFewRows, 1}, [&](const PrimExpr& row, int64_t height) {
          return few_tile(data, lanes, panel, count * kPanel / lanes, row, height);
        });
      });
    };
    return is_int8() ? data.for_int8(body) : data.for_floats(body);
  }

  /// One tile of results, block by block; `sums` are those of a block.
  Stmt few_tile(const NBitsData& data, int64_t lanes, const PrimExpr& panel, int64_t vectors, const PrimExpr& row,
                int64_t height) const {
    Buffer totals = decl_buffer({number(height * vectors * lanes)}, kFloat32, "totals", "local");
    Buffer sums = decl_buffer(totals->shape, is_int8() ? kInt32 : kFloat32, "sums", "local");
    auto at = [&](int64_t i, int64_t v) { return number((i * vectors + v) * lanes); };
    auto get = [&](const Buffer& from, int64_t i, int64_t v) { return load_vector(from, at(i, v), lanes, lanes); };
    auto each = [&](const std::function<Stmt(int64_t i, int64_t v)>& body) {
      std::vector<Stmt> out;
      for (int64_t i = 0; i < height; ++i)
        for (int64_t v = 0; v < vectors; ++v) out.push_back(body(i, v));
      return sequence(out);
    };
    auto clear = [&](const Buffer& to) {
      return each(
          [&](int64_t i, int64_t v) { return store_vector(to, at(i, v), make_zero(of_lanes(to->dtype, lanes))); });
    };
    const Tile tile{data, lanes, panel, vectors, row, height, sums};
    Stmt blocks = loop_over("block", number(data.blocks()), [&](const PrimExpr& block) {
      std::vector<Stmt> scaled;
      for (int64_t v = 0; v < vectors; ++v) {
        const Columns columns = columns_at(panel, v, lanes);
        Lets lets;
        const PrimExpr factor = lets("factor", scale(columns, block)), middle = lets("middle", zero(columns, block));
        std::vector<Stmt> rows;
        for (int64_t i = 0; i < height; ++i) {
          const PrimExpr of_block = (row + number(i)) * number(data.blocks()) + block;
          const PrimExpr sum = cast(of_lanes(kFloat32, lanes), get(sums, i, v)) -
                               everywhere(make_load(data.sums, {of_block}), lanes) * middle;
          const PrimExpr by = is_int8() ? everywhere(make_load(data.scales, {of_block}), lanes) * factor : factor;
          rows.push_back(store_vector(totals, at(i, v), get(totals, i, v) + sum * by));
        }
        scaled.push_back(lets.around(sequence(rows)));
      }
      Stmt multiplied = pairs_ ? pair_sums(tile, block) : isa_ ? int8_sums(tile, block) : float_sums(tile, block);
      return sequence({prefetch_next(tile, block), clear(sums), multiplied, sequence(scaled)});
    });
    Stmt stores = each(
        [&](int64_t i, int64_t v) { return put(row + number(i), columns_at(panel, v, lanes), get(totals, i, v)); });
    return allocated(totals, allocated(sums, sequence({clear(totals), blocks, stores})));
  }

  struct Tile {
    const NBitsData& data;
    int64_t lanes;
    PrimExpr panel;
    int64_t vectors;
    PrimExpr row;
    int64_t height;
    const Buffer& sums;

    PrimExpr at(int64_t i, int64_t v) const { return number((i * vectors + v) * lanes); }
    PrimExpr value(const Buffer& from, int64_t i, int64_t v) const { return load_vector(from, at(i, v), lanes, lanes); }
    /// Where the data of a row begins that meets a step.
    PrimExpr data_at(int64_t i, const PrimExpr& step) const {
      return (row + number(i)) * number(data.k) + step * number(data.matmul.per_step());
    }
  };
  int64_t steps_of_block() const { return matmul_.block / matmul_.per_step(); }

  /// The same block of the next tile, into L2. Behind the last panel nothing is read.
  Stmt prefetch_next(const Tile& tile, const PrimExpr& block) const {
    std::vector<Stmt> out;
    for (int64_t v = 0; v < tile.vectors; ++v) {
      const Columns at = columns_at(tile.panel, tile.vectors + v, tile.lanes);
      if (at.lane != 0) continue;  // a panel's lanes are a cache line
      for (int64_t i = 0; i < steps_of_block(); ++i) {
        const PrimExpr step = block * number(steps_of_block()) + number(i);
        out.push_back(prefetch(in_[1], {at.panel, step, number(0)}, false, Cache::L2));
      }
      out.push_back(prefetch(in_[2], {at.panel, block, number(0)}, false, Cache::L2));
    }
    return sequence(out);
  }

  /// for steps of a block: for what lies in a lane: sums += data * number. The number is not shifted down: the data is divided instead.
  Stmt float_sums(const Tile& tile, const PrimExpr& block) const {
    const int64_t per = matmul_.per_step();
    return loop_over("step", number(steps_of_block()), [&](const PrimExpr& in_block) {
      const PrimExpr step = block * number(steps_of_block()) + in_block;
      Lets words;
      std::vector<PrimExpr> word;
      for (int64_t v = 0; v < tile.vectors; ++v)
        word.push_back(words("word", packed(columns_at(tile.panel, v, tile.lanes), step)));
      std::vector<Stmt> out;
      for (int64_t position = 0; position < per; ++position) {
        Lets values;
        std::vector<PrimExpr> numbers;
        for (const PrimExpr& all : word) {
          const int64_t bit = position * matmul_.bits;
          const PrimExpr part = position + 1 < per ? all & everywhere(kUInt32, matmul_.mask() << bit, tile.lanes)
                                                   : all >> everywhere(kUInt32, bit, tile.lanes);
          numbers.push_back(
              values("number", cast(of_lanes(kFloat32, tile.lanes), reinterpret(of_lanes(kInt32, tile.lanes), part))));
        }
        std::vector<Stmt> sums;
        for (int64_t i = 0; i < tile.height; ++i) {
          const PrimExpr x = values(
              "x", everywhere(make_load(tile.data.values, {tile.data_at(i, step) + number(position)}), tile.lanes));
          for (int64_t v = 0; v < tile.vectors; ++v)
            sums.push_back(store_vector(tile.sums, tile.at(i, v),
                                        tile.value(tile.sums, i, v) + x * numbers[static_cast<size_t>(v)]));
        }
        out.push_back(values.around(sequence(sums)));
      }
      return words.around(sequence(out));
    });
  }

  /// `add(i, v, data, numbers)` for each part of the bytes of a step; both are four int8 a lane, seen as int32.
  Stmt each_group(const Tile& tile, const PrimExpr& step,
                  const std::function<Stmt(int64_t i, int64_t v, const PrimExpr&, const PrimExpr&)>& add) const {
    Lets lets;
    std::vector<PrimExpr> word;
    for (int64_t v = 0; v < tile.vectors; ++v)
      word.push_back(lets("word", packed(columns_at(tile.panel, v, tile.lanes), step)));
    std::vector<Stmt> out;
    for (int64_t part = 0; part < matmul_.parts(); ++part) {
      std::vector<PrimExpr> groups;
      for (const PrimExpr& all : word) {
        const PrimExpr moved = part ? all >> everywhere(kUInt32, part * matmul_.bits, tile.lanes) : all;
        const PrimExpr bytes =
            matmul_.bits == 8 ? moved : moved & everywhere(kUInt32, matmul_.mask() * 0x01010101, tile.lanes);
        groups.push_back(lets("group", reinterpret(of_lanes(kInt32, tile.lanes), bytes)));
      }
      for (int64_t i = 0; i < tile.height; ++i) {
        const PrimExpr four =
            load_vector(tile.data.values, tile.data_at(i, step) + number(part * kLaneBytes), kLaneBytes, kLaneBytes);
        const PrimExpr x = lets("x", everywhere(reinterpret(kInt32, four), tile.lanes));
        for (int64_t v = 0; v < tile.vectors; ++v) out.push_back(add(i, v, x, groups[static_cast<size_t>(v)]));
      }
    }
    return lets.around(sequence(out));
  }

  Stmt int8_sums(const Tile& tile, const PrimExpr& block) const {
    return loop_over("step", number(steps_of_block()), [&](const PrimExpr& in_block) {
      const PrimExpr step = block * number(steps_of_block()) + in_block;
      return each_group(tile, step, [&](int64_t i, int64_t v, const PrimExpr& x, const PrimExpr& numbers) {
        return store_vector(tile.sums, tile.at(i, v),
                            group_dot(kInt8Dot, *isa_, tile.value(tile.sums, i, v), numbers, x));
      });
    });
  }

  static PrimExpr llvm_call(DataType dtype, const char* intrinsic, const PrimExpr& a, const PrimExpr& b) {
    return make_call(dtype, "tir.call_llvm_pure_intrin",
                     {make_const(kUInt32, codegen::llvm_intrinsic_id(intrinsic)), make_const(kUInt32, 2), a, b});
  }

  Stmt pair_sums(const Tile& tile, const PrimExpr& block) const {
    const int64_t safe = INT16_MAX / (2 * matmul_.mask() * kMaxInt8) / matmul_.parts();  // steps without overflow
    int64_t steps = std::min(safe, steps_of_block());
    while (steps_of_block() % steps) --steps;
    const int64_t lanes = tile.lanes, shorts = 2 * lanes;
    auto as_bytes = [&](const PrimExpr& x) { return reinterpret(of_lanes(DataType::Int(8), 4 * lanes), x); };
    Buffer pairs = decl_buffer({number(tile.height * tile.vectors * shorts)}, kInt16, "pairs", "local");
    auto at = [&](int64_t i, int64_t v) { return number((i * tile.vectors + v) * shorts); };
    auto get = [&](int64_t i, int64_t v) { return load_vector(pairs, at(i, v), shorts, shorts); };
    return loop_over("part", number(steps_of_block() / steps), [&](const PrimExpr& part) {
      std::vector<Stmt> out, widened;
      for (int64_t s = 0; s < steps; ++s) {
        const PrimExpr step = block * number(steps_of_block()) + part * number(steps) + number(s);
        std::vector<bool> is_set(static_cast<size_t>(tile.height * tile.vectors), s > 0);
        out.push_back(each_group(tile, step, [&](int64_t i, int64_t v, const PrimExpr& x, const PrimExpr& numbers) {
          const PrimExpr dot = llvm_call(of_lanes(kInt16, shorts), pairs_->multiply, as_bytes(numbers), as_bytes(x));
          const auto n = static_cast<size_t>(i * tile.vectors + v);
          const bool adds = is_set[n];
          is_set[n] = true;
          return store_vector(pairs, at(i, v), adds ? get(i, v) + dot : dot);
        }));
      }
      for (int64_t i = 0; i < tile.height; ++i)
        for (int64_t v = 0; v < tile.vectors; ++v) {
          const PrimExpr wide =
              llvm_call(of_lanes(kInt32, lanes), pairs_->widen, get(i, v), everywhere(kInt16, 1, shorts));
          widened.push_back(store_vector(tile.sums, tile.at(i, v), tile.value(tile.sums, i, v) + wide));
        }
      return allocated(pairs, sequence({sequence(out), sequence(widened)}));
    });
  }

  // ---- many rows ------------------------------------------------------------------------------------------------------

  Stmt many_rows() {
    NBitsData data{matmul_, k_, row_vector(), rows_, {}, {}, {}};
    return data.for_gemm(is_parallel_, [&] {
      const int64_t panels = std::max<int64_t>(2 * lanes_ / kPanel, 1), vectors = panels * kPanel / lanes_;
      const int64_t fitting = std::max<int64_t>((registers_ - vectors - 2) / vectors, 1);
      return each_tile(panels, [&](const PrimExpr& panel, int64_t count) {
        const int64_t used = count * kPanel / lanes_;
        Buffer weights = decl_buffer({number(k_ * count * kPanel)}, kFloat32, "weights", "global");
        Stmt rows = each_row_tile(
            fitting > kFewRows ? std::vector{fitting, kFewRows, int64_t{1}} : std::vector{fitting, int64_t{1}},
            [&](const PrimExpr& row, int64_t height) { return gemm_tile(data, weights, panel, used, row, height); });
        return allocated(weights, sequence({unpack(weights, panel, used), rows}));
      });
    });
  }

  /// weights[k, column] in fp32
  Stmt unpack(const Buffer& weights, const PrimExpr& panel, int64_t vectors) const {
    const int64_t per = matmul_.per_step(), row = vectors * lanes_;
    return loop_over("block", number(k_ / matmul_.block), [&](const PrimExpr& block) {
      Lets of_block;
      std::vector<PrimExpr> factor, middle;
      for (int64_t v = 0; v < vectors; ++v) {
        const Columns columns = columns_at(panel, v, lanes_);
        factor.push_back(of_block("factor", scale(columns, block)));
        middle.push_back(of_block("middle", zero(columns, block)));
      }
      return of_block.around(loop_over("step", number(steps_of_block()), [&](const PrimExpr& in_block) {
        const PrimExpr step = block * number(steps_of_block()) + in_block;
        std::vector<Stmt> out;
        for (int64_t v = 0; v < vectors; ++v) {
          Lets lets;
          const PrimExpr word = lets("word", packed(columns_at(panel, v, lanes_), step));
          std::vector<Stmt> stores;
          for (int64_t position = 0; position < per; ++position) {
            const PrimExpr moved = position ? word >> everywhere(kUInt32, position * matmul_.bits, lanes_) : word;
            const PrimExpr number_at = moved & everywhere(kUInt32, matmul_.mask(), lanes_);
            const PrimExpr value = cast(of_lanes(kFloat32, lanes_), reinterpret(of_lanes(kInt32, lanes_), number_at));
            const PrimExpr k = step * number(per) + number(matmul_.k_of(position));
            stores.push_back(store_vector(weights, k * number(row) + number(v * lanes_),
                                          (value - middle[static_cast<size_t>(v)]) * factor[static_cast<size_t>(v)]));
          }
          out.push_back(lets.around(sequence(stores)));
        }
        return sequence(out);
      }));
    });
  }

  Stmt gemm_tile(const NBitsData& data, const Buffer& weights, const PrimExpr& panel, int64_t vectors,
                 const PrimExpr& row, int64_t height) const {
    OuterTile tile;
    tile.dtype = kFloat32;
    tile.size = {.rows = height, .vectors = vectors, .lanes = lanes_, .rest = lanes_};
    tile.depth = number(k_);
    tile.a = [&](int64_t i, const PrimExpr& k) {
      return make_load(data.values, {(row + number(i)) * number(data.stride()) + k});
    };
    tile.b = [&](const PrimExpr& k, int64_t v) {
      return load_vector(weights, k * number(vectors * lanes_) + number(v * lanes_), lanes_, lanes_);
    };
    tile.use = [&](const Buffer& sums) {
      std::vector<Stmt> out;
      for (int64_t i = 0; i < height; ++i)
        for (int64_t v = 0; v < vectors; ++v)
          out.push_back(put(row + number(i), columns_at(panel, v, lanes_),
                            load_vector(sums, number((i * vectors + v) * lanes_), lanes_, lanes_)));
      return sequence(out);
    };
    return outer_tile(tile);
  }

  const NBitsMatmul& matmul_;
  int64_t k_, panels_, lanes_ = 1, registers_ = 16;
  int64_t int8_lanes_ = 1;
  const PairDot* pairs_ = nullptr;
  const Isa* isa_ = nullptr;  // of dot products of int8
  bool is_parallel_ = false;
  PrimExpr rows_;
  Buffers in_;
  Buffer out_;
};

}  // namespace

te::Tensor nbits_matmul(const NBitsMatmul& matmul, const Machine& machine) {
  return NBitsKernel(matmul, machine).run();
}

}  // namespace tessera::topi

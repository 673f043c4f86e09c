// Images of another size whose indices and weights are tensors that a program reads. These tables are read once, before all rows;
// where 16 results that lie together read elements that are near enough, they are one vector or two, shuffled, else each lane reads
// its own. Rows are blended in registers before that.

#include <algorithm>

#include "codegen/target_cpu.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "topi/broadcast.h"
#include "topi/cpu/lets.h"
#include "topi/cpu/resample.h"
#include "topi/program.h"

namespace tessera::topi {
namespace {

const DataType kIndex = DataType::Int(32), kResampled = DataType::Float(32);

PrimExpr int_of(int64_t value) { return make_const(kIndex, value); }
PrimExpr ramp_from(const PrimExpr& first, int64_t lanes) {
  return make_ramp(first, make_const(first.dtype(), 1), static_cast<int>(lanes));
}

/// Lanes of `low`, and for indices from the number of lanes on of `high` where there is one.
PrimExpr permuted(const Machine& machine, const PrimExpr& low, const PrimExpr& high, const PrimExpr& index) {
  auto call = [&](const char* name, const std::vector<PrimExpr>& args) {
    const DataType uint32 = DataType::UInt(32);
    Array<PrimExpr> all{make_const(uint32, codegen::llvm_intrinsic_id(name)),
                        make_const(uint32, static_cast<int64_t>(args.size()))};
    for (const PrimExpr& arg : args) all.push_back(arg);
    return make_call(low.dtype(), "tir.call_llvm_pure_intrin", all);
  };
  const bool is_wide = machine->isa == "avx512";
  const char* one = is_wide ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx2.permps";
  if (!high) return call(one, {low, index});
  if (is_wide) return call("llvm.x86.avx512.vpermi2var.ps.512", {low, index, high});
  const int lanes = low.dtype().lanes;
  return select(index < make_broadcast(int_of(lanes), lanes), call(one, {low, index}), call(one, {high, index}));
}
bool can_permute(const Machine& machine) { return machine->isa == "avx512" || machine->isa == "avx2"; }

/// The extent of an axis of the result; tables of one entry are broadcast.
PrimExpr resampled_extent(const ResampledTables& tables) {
  PrimExpr out = PrimExpr(1);
  auto add = [&](const PrimExpr& extent) { out = broadcast_shape({out}, {extent})[0]; };
  for (const te::Tensor& table : tables.indices) add(table->shape[0]);
  for (const te::Tensor& table : tables.weights)
    for (const PrimExpr& extent : table->shape)
      if (!is_one(extent)) add(extent);
  return out;
}

PrimExpr entry(const Buffer& table, const PrimExpr& index) {
  Indices at(table->shape.size(), PrimExpr(0));
  for (size_t i = 0; i < at.size(); ++i)
    if (!is_one(table->shape[i])) at.set(i, min(index, tessera::cast(kIndex, table->shape[i]) - int_of(1)));
  return make_load(table, at);
}

/// An index inside the data.
PrimExpr index_at(const Buffer& table, const PrimExpr& index, const PrimExpr& extent) {
  const DataType wide = DataType::Int(64);
  PrimExpr value = tessera::cast(wide, entry(table, index)), last = tessera::cast(wide, extent) - make_const(wide, 1);
  return tessera::cast(kIndex, max(min(value, last), make_zero(wide)));
}

/// The tables of an axis among the inputs.
struct TableBuffers {
  Buffers indices, weights;

  TableBuffers(const ResampledTables& tables, const Buffers& in, size_t* next) {
    for (size_t i = 0; i < tables.indices.size(); ++i) indices.push_back(in[(*next)++]);
    for (size_t i = 0; i < tables.weights.size(); ++i) weights.push_back(in[(*next)++]);
  }
};

/// What a result is made of along an axis: an element of the data, and its weight where there are weights.
struct Tap {
  PrimExpr index, weight;
};

/// Indices and weights of an axis, read once for a whole call: indices lie inside the data.
class Tables {
 public:
  Tables(const TableBuffers& given, PrimExpr data, PrimExpr results)
      : given_(given), data_(std::move(data)), results_(std::move(results)), taps_(given.indices.size()) {}

  Stmt around(const std::function<Stmt()>& body) {
    return with_scratch(kIndex, results_ * int_of(taps()), [&](const Buffer& indices) {
      indices_ = indices;
      if (given_.weights.empty()) return sequence({read(), body()});
      return with_scratch(kResampled, results_ * int_of(taps()), [&](const Buffer& weights) {
        weights_ = weights;
        return sequence({read(), body()});
      });
    });
  }

  int64_t taps() const { return static_cast<int64_t>(taps_); }
  const PrimExpr& data() const { return data_; }
  const PrimExpr& results() const { return results_; }
  /// Those of one result, or of a vector of them.
  std::vector<Tap> at(const PrimExpr& result) const {
    std::vector<Tap> out;
    for (int64_t tap = 0; tap < taps(); ++tap) {
      const PrimExpr index = offset_of(tap, result);
      out.push_back({make_load(indices_, {index}), weights_ ? make_load(weights_, {index}) : PrimExpr()});
    }
    return out;
  }

 private:
  PrimExpr offset_of(int64_t tap, const PrimExpr& result) const {
    PrimExpr offset = results_ * int_of(tap);
    const int lanes = result.dtype().lanes;
    return result + (lanes > 1 ? make_broadcast(offset, lanes) : offset);
  }
  Stmt read() const {
    return loop(results_, [&](const PrimExpr& i) {
      std::vector<Stmt> out;
      for (size_t tap = 0; tap < taps_; ++tap) {
        const PrimExpr to = offset_of(static_cast<int64_t>(tap), i);
        out.push_back(store(indices_, index_at(given_.indices[tap], i, data_), {to}));
        if (weights_) out.push_back(store(weights_, entry(given_.weights[tap], i), {to}));
      }
      return sequence(out);
    });
  }

  const TableBuffers& given_;
  PrimExpr data_, results_;  // extents
  size_t taps_;
  Buffer indices_, weights_;
};

/// The sum of elements times their weights; a weight of one number goes to all lanes.
PrimExpr sum(const std::vector<Tap>& taps, const std::function<PrimExpr(const PrimExpr& index)>& element) {
  PrimExpr out;
  for (const Tap& tap : taps) {
    PrimExpr value = element(tap.index);
    if (tap.weight) {
      const int lanes = value.dtype().lanes;
      value = value * (lanes > tap.weight.dtype().lanes ? make_broadcast(tap.weight, lanes) : tap.weight);
    }
    out = out ? out + value : value;
  }
  return out;
}

/// Rows that are computed together, so that what is known of columns stays in registers.
constexpr int64_t kRowsTogether = 8;

/// An image, plane by plane. How it reads the data is decided before the first row, for all vectors of results: from one vector of
/// the data, from two, or lane by lane.
class Planes {
 public:
  Planes(const Machine& machine, const Buffer& data, const Buffer& out, const Tables* rows, const Tables& columns)
      : machine_(machine),
        data_(data),
        out_(out),
        rows_(rows),
        columns_(columns),
        lanes_(machine->vector_bytes / kResampled.bytes()) {}

  /// `lead`: the extents before rows and columns.
  Stmt all(const Indices& lead, const PrimExpr& height) {
    return with_scratch(kIndex, vectors() + 1, [&](const Buffer& firsts) {
      firsts_ = firsts;
      Stmt planes = loops(
          lead,
          [&](const Indices& at) {
            const PrimExpr together = int_of(kRowsTogether);
            return loop(floordiv(height + int_of(kRowsTogether - 1), together), [&](const PrimExpr& block) {
              const PrimExpr begin = block * together;
              return block_of_rows(at, begin, min(together, height - begin));
            });
          },
          true);
      return sequence({find_firsts(), planes});
    });
  }

 private:
  /// How many vectors of the data a vector of results is made of; 0: each lane is read by itself.
  enum Reads : int64_t { LaneByLane = 0, Two = 1, One = 2 };

  PrimExpr vectors() const { return floordiv(columns_.results() + int_of(lanes_ - 1), int_of(lanes_)); }
  /// The last vector writes again what the one before did.
  PrimExpr begin(const PrimExpr& vector) const {
    return min(vector * int_of(lanes_), columns_.results() - int_of(lanes_));
  }

  /// Rows of the data that a row of results is made of.
  std::vector<Tap> rows_at(const PrimExpr& y, Lets* lets) const {
    if (!rows_) return {{y, PrimExpr()}};
    std::vector<Tap> out = rows_->at(y);
    for (Tap& tap : out) {
      tap.index = (*lets)("row", tap.index);
      if (tap.weight) tap.weight = (*lets)("weight", tap.weight);
    }
    return out;
  }
  Stmt put(const Indices& lead, const PrimExpr& y, const PrimExpr& column, const PrimExpr& value) const {
    return make(BufferStore{.buffer = out_, .value = value, .indices = at(lead, y, column)});
  }
  PrimExpr element(const Indices& lead, const PrimExpr& row, const PrimExpr& column) const {
    return make_load(data_, at(lead, row, column));
  }
  /// A signal without other axes has no rows.
  Indices at(Indices lead, const PrimExpr& row, const PrimExpr& column) const {
    if (data_->shape.size() > 1) lead.push_back(row);
    lead.push_back(column);
    return lead;
  }
  /// A vector of a row; what lies beyond its end is not read.
  PrimExpr vector_of(const Indices& lead, const PrimExpr& row, const PrimExpr& first) const {
    const int lanes = static_cast<int>(lanes_);
    const PrimExpr mask = ramp_from(int_of(0), lanes_) < make_broadcast(columns_.data() - first, lanes);
    const PrimExpr address = make_call(DataType::Handle(), builtin::address_of(), {element(lead, row, first)});
    const DataType dtype = kResampled.with_lanes(lanes);
    return make_call(dtype, "tir.masked_load", {address, mask, make_zero(dtype)});
  }

  Stmt block_of_rows(const Indices& lead, const PrimExpr& y0, const PrimExpr& count) const {
    auto by_index = [&](const PrimExpr& column) {
      const std::vector<Tap> taps = columns_.at(column);
      return loop(count, [&](const PrimExpr& i) {
        Lets lets;
        const std::vector<Tap> rows = rows_at(y0 + i, &lets);
        const PrimExpr value = sum(taps, [&](const PrimExpr& index) {
          return sum(rows, [&](const PrimExpr& row) { return element(lead, row, index); });
        });
        return lets.around(put(lead, y0 + i, column, value));
      });
    };
    Stmt one_by_one = loop(columns_.results(), by_index);
    Stmt vectors_of_all = loop(vectors(), [&](const PrimExpr& v) { return by_index(ramp_from(begin(v), lanes_)); });
    if (can_permute(machine_)) {
      const PrimExpr reads = make_load(firsts_, {vectors()});
      for (Reads kind : {Two, One})
        vectors_of_all = when(equal(reads, int_of(kind)), permuted_rows(kind, lead, y0, count), vectors_of_all);
    }
    return when(columns_.results() >= int_of(lanes_), vectors_of_all, one_by_one);
  }

  /// What a vector of results needs of its columns, in registers for all rows.
  struct Permutation {
    PrimExpr first, column;
    std::vector<Tap> taps;  // indices count from `first`
  };
  Permutation permutation(const PrimExpr& v, Lets* lets) const {
    Permutation out;
    out.first = (*lets)("first", make_load(firsts_, {v}));
    out.column = ramp_from((*lets)("begin", begin(v)), lanes_);
    out.taps = columns_.at(out.column);
    for (Tap& tap : out.taps) {
      tap.index = (*lets)("index", tap.index - make_broadcast(out.first, static_cast<int>(lanes_)));
      if (tap.weight) tap.weight = (*lets)("weight", tap.weight);
    }
    return out;
  }

  /// Two vectors at a time, which share what is known of rows.
  Stmt permuted_rows(Reads kind, const Indices& lead, const PrimExpr& y0, const PrimExpr& count) const {
    auto side_by_side = [&](const std::vector<PrimExpr>& numbers) {
      Lets lets;
      std::vector<Permutation> all;
      for (const PrimExpr& v : numbers) all.push_back(permutation(v, &lets));
      return lets.around(loop(count, [&](const PrimExpr& i) {
        Lets loaded;
        const std::vector<Tap> rows = rows_at(y0 + i, &loaded);
        auto blended = [&](const PrimExpr& at) {
          return loaded("blended", sum(rows, [&](const PrimExpr& row) { return vector_of(lead, row, at); }));
        };
        std::vector<Stmt> stores;
        for (const Permutation& one : all) {
          const PrimExpr low = blended(one.first);
          const PrimExpr high = kind == Two ? blended(one.first + int_of(lanes_)) : PrimExpr();
          auto permute = [&](const PrimExpr& index) { return permuted(machine_, low, high, index); };
          stores.push_back(put(lead, y0 + i, one.column, sum(one.taps, permute)));
        }
        return loaded.around(sequence(stores));
      }));
    };
    const PrimExpr pairs = floordiv(vectors(), int_of(2)), two = int_of(2);
    Stmt both = loop(pairs, [&](const PrimExpr& pair) { return side_by_side({pair * two, pair * two + int_of(1)}); });
    return sequence({both, when(pairs * two < vectors(), side_by_side({pairs * two}))});
  }

  Stmt find_firsts() const {
    const PrimExpr at = vectors();
    auto find = [&](const PrimExpr& v) {
      return with_memory(kIndex, 2, [&](const Buffer& memory) {
        Cell least(memory, 0), greatest(memory, 1);
        Stmt look = loop(int_of(lanes_), [&](const PrimExpr& lane) {
          std::vector<Stmt> out;
          for (const Tap& tap : columns_.at(begin(v) + lane)) {
            out.push_back(least.set(min(least(), tap.index)));
            out.push_back(greatest.set(max(greatest(), tap.index)));
          }
          return sequence(out);
        });
        const PrimExpr span = greatest() - least();
        const PrimExpr reads = select(span < int_of(lanes_), int_of(One),
                                      select(span < int_of(2 * lanes_), int_of(Two), int_of(LaneByLane)));
        return sequence({least.set(columns_.data()), greatest.set(int_of(0)), look, store(firsts_, least(), {v}),
                         store(firsts_, min(make_load(firsts_, {at}), reads), {at})});
      });
    };
    return sequence(
        {store(firsts_, int_of(One), {at}), when(columns_.results() >= int_of(lanes_), loop(vectors(), find))});
  }

  const Machine& machine_;
  const Buffer &data_, &out_;
  const Tables* rows_;  // null: rows stay as they are
  const Tables& columns_;
  int64_t lanes_;
  Buffer firsts_;
};

}  // namespace

te::Tensor resample_at_run_time(const te::Tensor& x, const ResampledTables& rows, const ResampledTables& columns,
                                const Machine& machine) {
  const size_t rank = x->shape.size();
  const bool has_rows = !rows.indices.empty();
  auto as_int32 = [](const PrimExpr& extent) { return tessera::cast(kIndex, extent); };
  const PrimExpr width = as_int32(x->shape.back()), results = as_int32(resampled_extent(columns));
  Indices shape = x->shape;
  shape.set(rank - 1, results);
  if (has_rows) shape.set(rank - 2, as_int32(resampled_extent(rows)));
  Array<te::Tensor> inputs{x};
  for (const ResampledTables* tables : {&rows, &columns})
    for (const auto* list : {&tables->indices, &tables->weights})
      for (const te::Tensor& table : *list) inputs.push_back(table);

  return program("resample", inputs, {{shape, x->dtype}}, [&](const Buffers& in, const Buffers& out) {
    size_t next = 1;
    const TableBuffers of_rows(rows, in, &next), of_columns(columns, in, &next);
    Tables by_column(of_columns, width, results);
    return by_column.around([&] {
      const Indices lead(shape.begin(), shape.end() - std::min<long>(2, static_cast<long>(rank)));
      const PrimExpr height = rank > 1 ? as_int32(shape[rank - 2]) : int_of(1);
      if (!has_rows) return Planes(machine, in[0], out[0], nullptr, by_column).all(lead, height);
      Tables by_row(of_rows, as_int32(x->shape[rank - 2]), height);
      return by_row.around([&] { return Planes(machine, in[0], out[0], &by_row, by_column).all(lead, height); });
    });
  })[0];
}

}  // namespace tessera::topi

// Images of another size whose indices and weights are tensors that a program reads. Tables of the columns are read once, before
// all rows; where 16 results that lie together read elements that are that near, they are two vectors, shuffled, else each lane
// reads its own.

#include "codegen/target_cpu.h"
#include "ir/prim/ops.h"
#include "topi/broadcast.h"
#include "topi/cpu/lets.h"
#include "topi/cpu/resample.h"
#include "topi/program.h"

namespace tessera::topi {
namespace {

const DataType kIndex = DataType::Int(32);

PrimExpr int_of(int64_t value) { return make_const(kIndex, value); }
PrimExpr ramp_from(const PrimExpr& first, int64_t lanes) {
  return make_ramp(first, make_const(first.dtype(), 1), static_cast<int>(lanes));
}

/// A lane of `low` for each index below the number of lanes, and one of `high` for the others.
PrimExpr permuted(const Machine& machine, const PrimExpr& low, const PrimExpr& high, const PrimExpr& index) {
  auto call = [&](const char* name, const std::vector<PrimExpr>& args) {
    const DataType uint32 = DataType::UInt(32);
    Array<PrimExpr> all{make_const(uint32, codegen::llvm_intrinsic_id(name)),
                        make_const(uint32, static_cast<int64_t>(args.size()))};
    for (const PrimExpr& arg : args) all.push_back(arg);
    return make_call(low.dtype(), "tir.call_llvm_pure_intrin", all);
  };
  if (machine->isa == "avx512") return call("llvm.x86.avx512.vpermi2var.ps.512", {low, index, high});
  const char* one = "llvm.x86.avx2.permps";
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

/// Elements of a row of data; the column may be a vector.
using DataRow = std::function<PrimExpr(const PrimExpr& row, const PrimExpr& column)>;
/// Where a row of the result lies: all indices but the last.
using ResultRow = std::function<Indices(const PrimExpr& row)>;

/// What is known of the columns before the first row: for each vector of results where the elements begin that it reads, and
/// whether all of them fit into two vectors.
class Columns {
 public:
  Columns(const Machine& machine, const TableBuffers& tables, PrimExpr data, PrimExpr results)
      : machine_(machine),
        tables_(tables),
        lanes_(machine->vector_bytes / kResampled.bytes()),
        taps_(static_cast<int64_t>(tables.indices.size())),
        data_(std::move(data)),
        results_(std::move(results)) {}

  /// `readable` elements of a row may be read from its beginning.
  Stmt around(const PrimExpr& readable, const std::function<Stmt()>& body) {
    return with_scratch(kIndex, results_ * int_of(taps_), [&](const Buffer& indices) {
      indices_ = indices;
      return with_scratch(kResampled, results_ * int_of(taps_), [&](const Buffer& weights) {
        weights_ = weights;
        return with_scratch(kIndex, vectors() + 1, [&](const Buffer& firsts) {
          firsts_ = firsts;
          return sequence({read_tables(), find_firsts(readable), body()});
        });
      });
    });
  }

  /// Rows of the result; what is read of a vector's columns is read once for all of them.
  Stmt rows(const PrimExpr& count, const DataRow& data, const Buffer& out, const ResultRow& at) const {
    auto store_at = [&](const PrimExpr& row, const PrimExpr& column, const PrimExpr& value) {
      Indices to = at(row);
      to.push_back(column);
      return make(BufferStore{.buffer = out, .value = value, .indices = to});
    };
    auto by_index = [&](const PrimExpr& column) {
      const std::vector<Tap> taps = taps_at(column);
      return loop(count, [&](const PrimExpr& row) {
        return store_at(row, column, sum(taps, [&](const PrimExpr& index) { return data(row, index); }));
      });
    };
    Stmt one_by_one = loop(results_, by_index);
    Stmt lane_by_lane = loop(vectors(), [&](const PrimExpr& v) { return by_index(ramp_from(begin(v), lanes_)); });
    Stmt by_vectors = lane_by_lane;
    if (can_permute(machine_)) {
      Stmt shuffled = loop(vectors(), [&](const PrimExpr& v) {
        Lets lets;
        const PrimExpr first = lets("first", make_load(firsts_, {v})),
                       column = ramp_from(lets("begin", begin(v)), lanes_);
        const PrimExpr from = make_broadcast(first, static_cast<int>(lanes_));
        std::vector<Tap> taps = taps_at(column);
        for (Tap& tap : taps) {
          tap.index = lets("index", tap.index - from);
          if (tap.weight) tap.weight = lets("weight", tap.weight);
        }
        return lets.around(loop(count, [&](const PrimExpr& row) {
          Lets loaded;
          const PrimExpr low = loaded("low", data(row, ramp_from(first, lanes_)));
          const PrimExpr high = loaded("high", data(row, ramp_from(first + int_of(lanes_), lanes_)));
          auto permute = [&](const PrimExpr& index) { return permuted(machine_, low, high, index); };
          return loaded.around(store_at(row, column, sum(taps, permute)));
        }));
      });
      by_vectors = when(not_equal(make_load(firsts_, {vectors()}), int_of(0)), shuffled, lane_by_lane);
    }
    return when(results_ >= int_of(lanes_), by_vectors, one_by_one);
  }

 private:
  PrimExpr vectors() const { return floordiv(results_ + int_of(lanes_ - 1), int_of(lanes_)); }
  /// The last vector writes again what the one before did.
  PrimExpr begin(const PrimExpr& vector) const { return min(vector * int_of(lanes_), results_ - int_of(lanes_)); }
  /// Entries of the tables, for one column or a vector of them.
  PrimExpr table_index(int64_t tap, const PrimExpr& column) const {
    PrimExpr offset = results_ * int_of(tap);
    const int lanes = column.dtype().lanes;
    return column + (lanes > 1 ? make_broadcast(offset, lanes) : offset);
  }

  Stmt read_tables() const {
    return loop(results_, [&](const PrimExpr& i) {
      std::vector<Stmt> out;
      for (int64_t tap = 0; tap < taps_; ++tap) {
        out.push_back(store(indices_, index_at(tables_.indices[size_t(tap)], i, data_), {table_index(tap, i)}));
        if (!tables_.weights.empty())
          out.push_back(store(weights_, entry(tables_.weights[size_t(tap)], i), {table_index(tap, i)}));
      }
      return sequence(out);
    });
  }

  Stmt find_firsts(const PrimExpr& readable) const {
    auto find = [&](const PrimExpr& v) {
      return with_memory(kIndex, 2, [&](const Buffer& memory) {
        Cell least(memory, 0), greatest(memory, 1);
        Stmt look = loop(int_of(lanes_), [&](const PrimExpr& lane) {
          std::vector<Stmt> out;
          for (int64_t tap = 0; tap < taps_; ++tap) {
            PrimExpr index = make_load(indices_, {table_index(tap, begin(v) + lane)});
            out.push_back(least.set(min(least(), index)));
            out.push_back(greatest.set(max(greatest(), index)));
          }
          return sequence(out);
        });
        PrimExpr first = min(least(), readable - int_of(2 * lanes_)), at = vectors();
        PrimExpr is_near = logical_and(first >= int_of(0), greatest() - first < int_of(2 * lanes_));
        return sequence({least.set(data_), greatest.set(int_of(0)), look, store(firsts_, first, {v}),
                         when(is_near, evaluate(int_of(0)), store(firsts_, int_of(0), {at}))});
      });
    };
    Stmt all = loop(vectors(), find);
    return sequence({store(firsts_, int_of(1), {vectors()}), when(results_ >= int_of(lanes_), all)});
  }

  /// What a result is made of: an element of the data, and its weight where there are weights.
  struct Tap {
    PrimExpr index, weight;
  };
  std::vector<Tap> taps_at(const PrimExpr& column) const {
    std::vector<Tap> out;
    for (int64_t tap = 0; tap < taps_; ++tap) {
      const PrimExpr at = table_index(tap, column);
      out.push_back({make_load(indices_, {at}), tables_.weights.empty() ? PrimExpr() : make_load(weights_, {at})});
    }
    return out;
  }
  static PrimExpr sum(const std::vector<Tap>& taps, const std::function<PrimExpr(const PrimExpr& index)>& element) {
    PrimExpr out;
    for (const Tap& tap : taps) {
      PrimExpr value = element(tap.index);
      if (tap.weight) value = value * tap.weight;
      out = out ? out + value : value;
    }
    return out;
  }

  static constexpr DataType kResampled = DataType::Float(32);

  const Machine& machine_;
  const TableBuffers& tables_;
  int64_t lanes_, taps_;
  PrimExpr data_, results_;  // extents
  Buffer indices_, weights_, firsts_;
};

/// Rows whose columns are taken together: what is stored is in the cache then, where loads that begin elsewhere find it.
constexpr int64_t kRowsTogether = 8;

/// Row `y` of the result before its columns are taken, into memory from `first` on.
Stmt blend_rows(const Buffer& data, const TableBuffers& rows, const Indices& lead, const PrimExpr& y,
                const Buffer& memory, const PrimExpr& first, int64_t lanes) {
  const PrimExpr height = data->shape[data->shape.size() - 2], width = data->shape.back();
  Lets lets;
  std::vector<PrimExpr> indices, weights;
  for (const Buffer& table : rows.indices) indices.push_back(lets("row", index_at(table, y, height)));
  for (const Buffer& table : rows.weights) weights.push_back(lets("weight", entry(table, y)));
  auto blended = [&](const PrimExpr& column) {
    const int count = column.dtype().lanes;
    PrimExpr out;
    for (size_t tap = 0; tap < indices.size(); ++tap) {
      Indices at = lead;
      at.push_back(indices[tap]);
      at.push_back(column);
      PrimExpr value = make_load(data, at);
      if (!weights.empty()) value = value * (count > 1 ? make_broadcast(weights[tap], count) : weights[tap]);
      out = out ? out + value : value;
    }
    const PrimExpr from = count > 1 ? make_broadcast(first, count) : first;
    return make(BufferStore{.buffer = memory, .value = out, .indices = {from + column}});
  };
  Stmt by_vectors = loop(floordiv(width + int_of(lanes - 1), int_of(lanes)), [&](const PrimExpr& v) {
    return blended(ramp_from(min(v * int_of(lanes), width - int_of(lanes)), lanes));
  });
  return lets.around(when(width >= int_of(lanes), by_vectors, loop(width, blended)));
}

}  // namespace

te::Tensor resample_at_run_time(const te::Tensor& x, const ResampledTables& rows, const ResampledTables& columns,
                                const Machine& machine) {
  const size_t rank = x->shape.size();
  const int64_t lanes = machine->vector_bytes / x->dtype.bytes();
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
    Columns along(machine, of_columns, width, results);
    const PrimExpr filled = width + int_of(2 * lanes);  // two vectors from any element of a row in memory
    if (!has_rows)
      return along.around(width, [&] {
        return loops(
            Indices(shape.begin(), shape.end() - 1),
            [&](const Indices& at) {
              DataRow data = [&](const PrimExpr&, const PrimExpr& column) {
                Indices from = at;
                from.push_back(column);
                return make_load(in[0], from);
              };
              return along.rows(int_of(1), data, out[0], [&](const PrimExpr&) { return at; });
            },
            true);
      });
    return along.around(filled, [&] {
      return loops(
          Indices(shape.begin(), shape.end() - 2),
          [&](const Indices& lead) {
            return with_scratch(x->dtype, filled * int_of(kRowsTogether), [&](const Buffer& memory) {
              const PrimExpr height = shape[rank - 2], together = int_of(kRowsTogether);
              return loop(floordiv(height + int_of(kRowsTogether - 1), together), [&](const PrimExpr& block) {
                const PrimExpr begin = block * together, rows_here = min(together, height - begin);
                Stmt blend = loop(rows_here, [&](const PrimExpr& i) {
                  return blend_rows(in[0], of_rows, lead, begin + i, memory, i * filled, lanes);
                });
                DataRow data = [&](const PrimExpr& row, const PrimExpr& column) {
                  const int count = column.dtype().lanes;
                  const PrimExpr first = row * filled;
                  return make_load(memory, {(count > 1 ? make_broadcast(first, count) : first) + column});
                };
                Stmt take = along.rows(rows_here, data, out[0], [&](const PrimExpr& row) {
                  Indices at = lead;
                  at.push_back(begin + row);
                  return at;
                });
                return sequence({blend, take});
              });
            });
          },
          true);
    });
  })[0];
}

}  // namespace tessera::topi

// Attention by multiply-adds of threads: tiles of queries, keys, values and exponentials in shared memory.

#include <algorithm>
#include <cmath>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "topi/cpu/machine.h"
#include "topi/gpu/attention.h"
#include "topi/gpu/nest.h"

namespace tessera::topi {
namespace {

register_types<ThreadAttentionPlanNode> thread_attention_plan_types;

const DataType kFloat = DataType::Float(32);
constexpr int kVector = 4, kColumnThreads = 16;  // elements of an access; threads that share rows
constexpr int64_t kMaxThreadHead = 256, kMinThreadSide = 8;
constexpr int64_t kReserved = 2 << 10;  // bytes of shared memory for what threads tell each other
constexpr int64_t kStaticTiles = 46 << 10;
constexpr int64_t kBlocksWanted = 2;  // of a multiprocessor, which has shared memory for them

PrimExpr value_of(double value) { return make_const(kFloat, value); }

/// Tiles in shared memory, each line with a pitch by which neighbouring lines lie in other banks.
struct AttentionTiles {
  int64_t depth, width, depth_pitch, width_pitch, score_pitch, q, k, v, p;  // then first elements
  int64_t elements;

  AttentionTiles(int64_t of_depth, int64_t of_width, const ThreadAttentionPlan& plan) {
    const int64_t chunk = kVector * kColumnThreads;
    depth = ceil_div(of_depth, kVector) * kVector;
    width = ceil_div(of_width, chunk) * chunk;
    depth_pitch = depth + kVector, width_pitch = width, score_pitch = plan->columns + kVector;
    q = 0, k = plan->rows * depth_pitch, v = k + plan->columns * depth_pitch, p = v + plan->columns * width_pitch;
    elements = p + plan->rows * score_pitch;
  }
  int64_t bytes() const { return elements * kFloat.bytes() + kReserved; }
};

bool thread_plan_fits(int64_t depth, int64_t width, const ThreadAttentionPlan& plan, const GpuMachine& machine) {
  if (plan->part != 1 && plan->part != 2 && plan->part != 4 && plan->part != 8) return false;
  if (plan->rows < plan->part || plan->rows % plan->part != 0 || plan->columns < kColumnThreads ||
      plan->columns % kColumnThreads != 0 || plan->columns > 128)
    return false;
  const int64_t threads = plan->rows / plan->part * kColumnThreads;
  return threads <= machine->max_threads && AttentionTiles(depth, width, plan).bytes() <= machine->dynamic_shared_bytes;
}

ThreadAttentionPlan plan_of(const GpuAttentionSize& size, int64_t batches, const GpuMachine& machine) {
  if (size.rows < kMinThreadSide || size.columns < kMinThreadSide || size.depth < 1 || size.width < 1 ||
      size.depth > kMaxThreadHead || size.width > kMaxThreadHead)
    return nullptr;
  ThreadAttentionPlan last;
  for (const auto [rows, part] : {std::pair{128, 8}, {64, 4}, {32, 4}, {16, 2}})
    for (int32_t columns : {64, 32, 16}) {
      ThreadAttentionPlanNode node;
      node.rows = rows, node.part = part, node.columns = columns;
      ThreadAttentionPlan plan = make(std::move(node));
      if (!thread_plan_fits(size.depth, size.width, plan, machine)) continue;
      last = plan;
      const int64_t blocks = batches * ceil_div(size.rows, rows);
      const int64_t together =
          machine->multiprocessor_shared_bytes / AttentionTiles(size.depth, size.width, plan).bytes();
      const bool fills = blocks >= kBlocksWanted * machine->multiprocessors;
      if (fills && together >= kBlocksWanted) return plan;
      break;  // a smaller tile of rows has more blocks
    }
  return last;
}

GpuAttentionSize size_of(const AttentionProgram& a) {
  return {a.scores.m.known, a.scores.n.known, a.scores.k.known, a.values.n.known};
}

class ThreadAttention {
 public:
  ThreadAttention(const AttentionProgram& attention, const ThreadAttentionPlan& plan)
      : a_(attention),
        plan_(plan),
        tiles_(attention.scores.k.known, attention.values.n.known, plan),
        keys_(attention.scores.n.known),
        of_thread_(plan->columns / kColumnThreads),
        chunks_(tiles_.width / (kVector * kColumnThreads)),
        threads_(plan->rows / plan->part * kColumnThreads) {}

  Stmt operator()() {
    const int64_t down = ceil_div(a_.scores.m.known, plan_->rows);
    const int64_t blocks = std::max<int64_t>(1, a_.scores.batch.known) * down;
    return thread_loop("blockIdx.x", number(blocks), [&](const PrimExpr& block) {
      const bool is_one = a_.scores.batch.vars.empty();
      batch_ = is_one ? PrimExpr(number(0)) : floordiv(block, number(down));
      row_ = (is_one ? block : floormod(block, number(down))) * number(plan_->rows);
      return thread_loop("threadIdx.y", number(plan_->rows / plan_->part), [&](const PrimExpr& y) {
        return thread_loop("threadIdx.x", number(kColumnThreads), [&](const PrimExpr& x) {
          x_ = x, y_ = y;
          return keep_unrolled_loops(of_thread());
        });
      });
    });
  }

 private:
  Stmt of_thread() {
    const int64_t part = plan_->part, width = chunks_ * kVector;
    const bool is_dynamic = tiles_.elements * kFloat.bytes() > kStaticTiles;
    memory_ = memory_of("tiles", kFloat, tiles_.elements, is_dynamic ? "shared.dyn" : "shared");
    scores_ = memory_of("scores", kFloat, part * of_thread_, "local");
    results_ = memory_of("results", kFloat, part * width, "local");
    left_ = memory_of("left", kFloat, part * kVector, "local");
    right_ = memory_of("right", kFloat, std::max(of_thread_ * kVector, width), "local");
    greatest_ = memory_of("greatest", kFloat, part, "local");
    total_ = memory_of("total", kFloat, part, "local");
    partial_ = memory_of("partial", kFloat, 1, "local");
    for (int64_t i = 0; i < 2 * part; ++i) combined_.push_back(memory_of("combined", kFloat, 1, "local"));
    factor_ = memory_of("factor", kFloat, 1, "local");
    auto fill = [&](const Buffer& buffer, int64_t count, double value) {
      return unrolled_loop("i", count, [&](const PrimExpr& i) { return store_to(buffer, i, value_of(value)); });
    };
    const GpuContraction &s = a_.scores, &o = a_.values;
    Stmt loop = loop_over("tile", number(ceil_div(keys_, plan_->columns)), [&](const PrimExpr& tile) {
      const PrimExpr first = tile * number(plan_->columns);
      return sequence({copy(s, s.b, s.n, first, plan_->columns, number(0), tiles_.depth, tiles_.k, tiles_.depth_pitch),
                       copy_values(o, first), multiply_keys(), exponentials(first), multiply_values()});
    });
    std::vector<Buffer> memory{memory_, scores_, results_, left_, right_, greatest_, total_, partial_, factor_};
    memory.insert(memory.end(), combined_.begin(), combined_.end());
    return all_allocated(
        memory, sequence({fill(results_, part * width, 0), fill(greatest_, part, -INFINITY), fill(total_, part, 0),
                          copy(s, s.a, s.m, row_, plan_->rows, number(0), tiles_.depth, tiles_.q, tiles_.depth_pitch),
                          loop, store()}));
  }

  // ---- copies ---------------------------------------------------------------------------------------------------------
  /// Elements (row, k) of an operand, `lanes` neighbours along k or along the rows.
  struct Source {
    GemmOperand operand;
    GemmAxes batch;
    bool along_k = true;
    int64_t lanes = 1;
  };
  static Source source_of(const GpuContraction& c, const GemmOperand& given, const GemmAxes& rows) {
    auto [operand, batch] = in_batch_digits(c, given, rows);
    Source out{operand, batch, operand.lies_along_k()};
    if (operand.flat && is_one(operand.condition)) out.lanes = std::min<int64_t>(kVector, operand.lanes());
    return out;
  }

  PrimExpr element(const GpuContraction& c, const Source& source, const GemmAxes& rows, const PrimExpr& row,
                   const PrimExpr& k, const PrimExpr& lane) const {
    Map<Var, PrimExpr> at;
    auto set = [&](const GemmAxes& axes, const PrimExpr& index) {
      std::vector<PrimExpr> digits = digits_of(index, axes.extents);
      for (size_t d = 0; d < digits.size(); ++d) at.set(axes.vars[d], cast(axes.vars[d]->dtype, digits[d]));
    };
    set(source.batch, batch_), set(rows, row), set(c.k, k);
    if (source.lanes > 1)
      return cast(kFloat, make_load(source.operand.flat,
                                    {cast(DataType::Int(32), substitute(source.operand.index, at)) + lane}));
    return cast(kFloat, substitute(source.operand.value, at));
  }

  /// `rows` x `depth` elements to lines of a row each, or of a step of k each where `lines_along_rows`; zeros outside.
  Stmt copy(const GpuContraction& c, const GemmOperand& operand, const GemmAxes& axes, const PrimExpr& first_row,
            int64_t rows, const PrimExpr& first_k, int64_t depth, int64_t to, int64_t pitch,
            bool lines_along_rows = false) const {
    const Source source = source_of(c, operand, axes);
    const int64_t in_line = (source.along_k ? depth : rows) / source.lanes, lines = source.along_k ? rows : depth;
    const int64_t accesses = in_line * lines;
    return unrolled_loop("access", ceil_div(accesses, threads_), [&](const PrimExpr& i) {
      const PrimExpr which = (i * number(threads_ / kColumnThreads) + y_) * number(kColumnThreads) + x_;
      const PrimExpr line = floordiv(which, number(in_line)),
                     offset = floormod(which, number(in_line)) * number(source.lanes);
      const PrimExpr row = source.along_k ? line : offset, k = source.along_k ? offset : line;
      PrimExpr inside = bool_imm(true);
      if (axes.known % rows != 0) inside = first_row + row < number(axes.known);
      if (c.k.known % depth != 0) inside = logical_and(inside, first_k + k < number(c.k.known));
      const bool is_along_line = source.along_k != lines_along_rows;
      auto put = [&](const PrimExpr& lane) {
        PrimExpr value = element(c, source, axes, first_row + row, first_k + k, lane);
        if (!is_one(inside)) value = if_then_else(inside, value, value_of(0));
        const PrimExpr across = lines_along_rows ? k : row, along = lines_along_rows ? row : k;
        const PrimExpr start = number(to) + across * number(pitch) + along;
        return store_to(memory_, start + (is_along_line ? lane : lane * number(pitch)), value);
      };
      Stmt copies = is_along_line ? each_lane(source.lanes, put) : unrolled_loop("lane", source.lanes, put);
      return guarded(accesses % threads_ == 0 ? PrimExpr(bool_imm(true)) : which < number(accesses), copies);
    });
  }

  /// Lines of a key each. What is beyond the last column is zero, so that nothing that is no number comes in.
  Stmt copy_values(const GpuContraction& o, const PrimExpr& first) const {
    return copy(o, o.b, o.n, number(0), tiles_.width, first, plan_->columns, tiles_.v, tiles_.width_pitch, true);
  }

  // ---- matmuls --------------------------------------------------------------------------------------------------------
  Stmt read_vector(const Buffer& registers, const PrimExpr& to, const PrimExpr& from) const {
    return each_lane(kVector, [&](const PrimExpr& lane) {
      return store_to(registers, to + lane, make_load(memory_, {from + lane}));
    });
  }
  PrimExpr my_row(const PrimExpr& i) const { return y_ * number(plan_->part) + i; }
  /// Columns x, x + 16, ... of the tile are a thread's.
  PrimExpr my_column(const PrimExpr& j) const { return j * number(kColumnThreads) + x_; }

  Stmt multiply_keys() const {
    const int64_t part = plan_->part, count = of_thread_;
    Stmt clear = unrolled_loop("i", part * count, [&](const PrimExpr& i) { return store_to(scores_, i, value_of(0)); });
    Stmt loop = loop_over("k", number(tiles_.depth / kVector), [&](const PrimExpr& k) {
      Stmt reads = unrolled_loop("i", part, [&](const PrimExpr& i) {
        return read_vector(left_, i * kVector,
                           number(tiles_.q) + my_row(i) * number(tiles_.depth_pitch) + k * number(kVector));
      });
      Stmt others = unrolled_loop("j", count, [&](const PrimExpr& j) {
        return read_vector(right_, j * kVector,
                           number(tiles_.k) + my_column(j) * number(tiles_.depth_pitch) + k * number(kVector));
      });
      Stmt sums = unrolled_loop("step", kVector, [&](const PrimExpr& step) {
        return unrolled_loop("i", part, [&](const PrimExpr& i) {
          return unrolled_loop("j", count, [&](const PrimExpr& j) {
            const PrimExpr at = i * number(count) + j;
            return store_to(scores_, at,
                            make_load(scores_, {at}) +
                                make_load(left_, {i * kVector + step}) * make_load(right_, {j * kVector + step}));
          });
        });
      });
      return sequence({reads, others, sums});
    });
    return sequence({clear, loop});
  }

  /// results += P V
  Stmt multiply_values() const {
    const int64_t part = plan_->part, width = chunks_ * kVector;
    return loop_over("key", number(plan_->columns / kVector), [&](const PrimExpr& key) {
      Stmt reads = unrolled_loop("i", part, [&](const PrimExpr& i) {
        return read_vector(left_, i * kVector,
                           number(tiles_.p) + my_row(i) * number(tiles_.score_pitch) + key * number(kVector));
      });
      Stmt sums = unrolled_loop("step", kVector, [&](const PrimExpr& step) {
        Stmt others = unrolled_loop("chunk", chunks_, [&](const PrimExpr& chunk) {
          const PrimExpr line = key * number(kVector) + step;
          return read_vector(right_, chunk * kVector,
                             number(tiles_.v) + line * number(tiles_.width_pitch) + column_of(chunk));
        });
        Stmt products = unrolled_loop("i", part, [&](const PrimExpr& i) {
          return unrolled_loop("j", width, [&](const PrimExpr& j) {
            const PrimExpr at = i * number(width) + j;
            return store_to(
                results_, at,
                make_load(results_, {at}) + make_load(left_, {i * kVector + step}) * make_load(right_, {j}));
          });
        });
        return sequence({others, products});
      });
      return sequence({reads, sums});
    });
  }
  /// Of results: the first of four neighbours.
  PrimExpr column_of(const PrimExpr& chunk) const { return (chunk * number(kColumnThreads) + x_) * number(kVector); }

  // ---- softmax --------------------------------------------------------------------------------------------------------
  /// Of a thread's row; each has memory of its own for what comes out.
  const Buffer& combined_of(int64_t row, bool is_max) const {
    return combined_[static_cast<size_t>(is_max ? row : plan_->part + row)];
  }
  Stmt combine_row(int64_t row, bool is_max) const {
    const PrimExpr a = make_var("a", kFloat), b = make_var("b", kFloat);
    return combine_threads(is_max ? max(a, b) : a + b, value_of(is_max ? -INFINITY : 0), partial_,
                           combined_of(row, is_max), x_);
  }

  Stmt exponentials(const PrimExpr& first) const {
    const int64_t part = plan_->part, count = of_thread_, width = chunks_ * kVector;
    const int64_t queries = a_.scores.m.known;
    std::vector<Stmt> out;
    for (int64_t i = 0; i < part; ++i) {
      auto score = [&](const PrimExpr& j) { return make_load(scores_, {number(i * count) + j}); };
      PrimExpr row = row_ + my_row(number(i));
      if (queries % plan_->rows != 0) row = min(row, number(queries - 1));
      auto each = [&](const NestBody& body) { return unrolled_loop("j", count, body); };
      const PrimExpr greatest = make_load(greatest_, {number(i)}), total = make_load(total_, {number(i)});
      const PrimExpr partial = make_load(partial_, {0}), combined = make_load(combined_of(i, true), {0}),
                     factor = make_load(factor_, {0});
      // what is beyond the last key counts nothing
      out.push_back(each([&](const PrimExpr& j) {
        const PrimExpr column = first + my_column(j);
        const bool is_even = keys_ % plan_->columns == 0;
        PrimExpr value = a_.score_at(score(j), batch_, row, is_even ? column : min(column, number(keys_ - 1)));
        if (!is_even) value = select(column < number(keys_), value, value_of(-INFINITY));
        return store_to(scores_, number(i * count) + j, value);
      }));
      out.push_back(store_to(partial_, number(0), value_of(-INFINITY)));
      out.push_back(each([&](const PrimExpr& j) { return store_to(partial_, number(0), max(partial, score(j))); }));
      out.push_back(combine_row(i, true));
      // a row of which all is masked so far has no greatest score
      out.push_back(store_to(partial_, number(0), max(greatest, combined)));
      out.push_back(store_to(factor_, number(0), select(partial > value_of(-INFINITY), partial, value_of(0))));
      out.push_back(
          each([&](const PrimExpr& j) { return store_to(scores_, number(i * count) + j, exp_of(score(j) - factor)); }));
      out.push_back(store_to(factor_, number(0), exp_of(greatest - factor)));
      out.push_back(store_to(greatest_, number(i), partial));
      out.push_back(store_to(total_, number(i), total * factor));
      out.push_back(each([&](const PrimExpr& j) {
        return sequence(
            {store_to(total_, number(i), total + score(j)),
             store_to(memory_, number(tiles_.p) + my_row(number(i)) * number(tiles_.score_pitch) + my_column(j),
                      score(j))});
      }));
      out.push_back(unrolled_loop("j", width, [&](const PrimExpr& j) {
        const PrimExpr at = number(i * width) + j;
        return store_to(results_, at, make_load(results_, {at}) * factor);
      }));
    }
    return sequence(out);
  }
  static PrimExpr exp_of(const PrimExpr& x) { return make_call(kFloat, "tir.exp", {x}); }

  Stmt store() const {
    const int64_t width = chunks_ * kVector;
    const bool is_vector = a_.values.stores_columns_together() && a_.values.n.known % kVector == 0;
    std::vector<Stmt> out;
    for (int64_t i = 0; i < plan_->part; ++i) {
      const PrimExpr row = row_ + my_row(number(i));
      out.push_back(store_to(partial_, number(0), make_load(total_, {number(i)})));
      out.push_back(combine_row(i, false));
      out.push_back(store_to(factor_, number(0), div(value_of(1), make_load(combined_of(i, false), {0}))));
      Stmt stores = unrolled_loop("chunk", chunks_, [&](const PrimExpr& chunk) {
        const PrimExpr column = column_of(chunk);
        auto put = [&](const PrimExpr& lane) {
          const PrimExpr value =
              make_load(results_, {number(i * width) + chunk * kVector + lane}) * make_load(factor_, {0});
          Stmt stored = a_.values.store(batch_, row, column + lane, value);
          return is_vector ? stored : guarded(column + lane < number(a_.values.n.known), stored);
        };
        if (!is_vector) return unrolled_loop("lane", kVector, put);
        const bool is_even = a_.values.n.known == tiles_.width;
        return guarded(is_even ? PrimExpr(bool_imm(true)) : column < number(a_.values.n.known),
                       each_lane(kVector, put));
      });
      const bool is_even = a_.scores.m.known % plan_->rows == 0;
      out.push_back(guarded(is_even ? PrimExpr(bool_imm(true)) : row < number(a_.scores.m.known), stores));
    }
    return sequence(out);
  }

  const AttentionProgram& a_;
  const ThreadAttentionPlan& plan_;
  AttentionTiles tiles_;
  int64_t keys_, of_thread_, chunks_, threads_;  // columns of scores, and vectors of results, of a thread
  Buffer memory_, scores_, results_, left_, right_, greatest_, total_, partial_, factor_;
  std::vector<Buffer> combined_;
  PrimExpr batch_, row_, x_, y_;
};

}  // namespace

bool has_thread_attention(const GpuAttentionSize& size, const GpuMachine& machine) {
  return plan_of(size, 1, machine).defined();
}

ThreadAttentionPlan plan_thread_attention(const AttentionProgram& a, const GpuMachine& machine) {
  if (a.scores.is_dynamic() || a.values.is_dynamic()) return nullptr;
  for (const GemmOperand* operand : {&a.scores.a, &a.scores.b, &a.values.b})
    if (!operand->dtype.is_floating() || operand->dtype.bits > 32) return nullptr;
  return plan_of(size_of(a), std::max<int64_t>(1, a.scores.batch.known), machine);
}

void check_thread_attention(const AttentionProgram& a, const ThreadAttentionPlan& plan, const GpuMachine& machine) {
  if (!thread_plan_fits(a.scores.k.known, a.values.n.known, plan, machine))
    throw Error(ScheduleError)
        << "the plan of attention by threads does not fit it or the machine: a thread has 1, 2, 4 "
           "or 8 of the rows, columns are multiples of "
        << kColumnThreads << " up to 128, a block has at most " << machine->max_threads
        << " threads, and all tiles fit " << machine->dynamic_shared_bytes << " bytes of shared memory";
}

Stmt thread_attention_nest(const AttentionProgram& attention, const ThreadAttentionPlan& plan) {
  return ThreadAttention(attention, plan)();
}

}  // namespace tessera::topi

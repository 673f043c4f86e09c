// The kernel of attention by wgmma (sm_90a).

#include <cmath>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "topi/gpu/attention.h"
#include "topi/gpu/nest.h"
#include "topi/gpu/wgmma_parts.h"

namespace tessera::topi {
namespace {

const DataType kScore = DataType::Float(32);
constexpr double kLog2E = 1.4426950408889634;

PrimExpr real(double value) { return make_const(kScore, value); }
PrimExpr exp2_of(const PrimExpr& x) { return make_call(kScore, "tir.ptx_exp2", {x}); }
PrimExpr of_lane_xor(const PrimExpr& value, int64_t bits) {
  return make_call(value.dtype(), "tir.ptx_shuffle_xor", {value, number(bits)});
}

class AttentionNest {
 public:
  AttentionNest(const GpuAttention& attention, const GpuAttentionPlan& plan)
      : a_(attention),
        plan_(plan),
        dtype_(attention.q.operand.dtype),
        line_(attention.q.line()),
        bytes_(dtype_.bytes()),
        lines_(attention.depth_lines()),
        width_(attention.width()),
        columns_(plan->columns),
        tiles_(ceil_div(attention.scores.n.known, columns_)),
        q_elements_(plan->rows() * lines_ * line_),
        k_elements_(columns_ * lines_ * line_),
        v_elements_(columns_ * width_) {
    memory_ = memory_of("tiles", dtype_, gpu_attention_shared_bytes(a_, plan) / bytes_, "shared.dyn");
    // exponents of scores: of sums, or of what `score` makes of them
    to_exponent_ = kLog2E * (a_.is_scaled ? a_.scale : 1);
  }

  Stmt operator()() {
    const int64_t down = ceil_div(a_.scores.m.known, plan_->rows());
    const int64_t blocks = std::max<int64_t>(1, a_.scores.batch.known) * down;
    return thread_loop("blockIdx.x", number(blocks), [&](const PrimExpr& block) {
      batch_ = a_.scores.batch.vars.empty() ? PrimExpr(number(0)) : floordiv(block, number(down));
      row_ = (a_.scores.batch.vars.empty() ? block : floormod(block, number(down))) * number(plan_->rows());
      return thread_loop("threadIdx.x", number(plan_->threads()), [&](const PrimExpr& thread) {
        Stmt body = with_own_barriers(keep_unrolled_loops(of_thread(thread)));
        return make(AttrStmt{.node = number(0), .attr_key = attr::kMinBlocks, .value = number(1), .body = body});
      });
    });
  }

 private:
  enum Barrier { KeysFull, KeysEmpty, ValuesFull, ValuesEmpty, QueriesFull };

  // ---- shared memory: queries, then for each stage keys and values, then barriers -------------------------------------
  PrimExpr keys(const PrimExpr& stage) const { return number(q_elements_) + stage * number(k_elements_ + v_elements_); }
  PrimExpr values(const PrimExpr& stage) const { return keys(stage) + number(k_elements_); }
  PrimExpr barrier(Barrier which, const PrimExpr& stage) const {
    const int64_t first = q_elements_ + plan_->stages * (k_elements_ + v_elements_);
    const int64_t each = kAttentionBarrierBytes / bytes_;
    return number(first + each * plan_->stages * which) + stage * number(each);
  }
  PrimExpr stage_of(const PrimExpr& tile) const { return floormod(tile, number(plan_->stages)); }
  PrimExpr parity_of(const PrimExpr& tile) const { return floormod(floordiv(tile, number(plan_->stages)), number(2)); }
  Stmt wait_full(Barrier which, const PrimExpr& tile) const {
    return ptx("mbarrier_wait", {memory_->data, barrier(which, stage_of(tile)), parity_of(tile)});
  }
  Stmt arrive(Barrier which, const PrimExpr& tile) const {
    return guarded(lane_ < number(1),
                   ptx("mbarrier_arrive", {memory_->data, barrier(which, stage_of(tile)), number(-1)}));
  }

  Stmt of_thread(const PrimExpr& thread) {
    std::vector<Stmt> make_barriers;
    auto add = [&](Barrier which, int64_t stage, int64_t arrivals) {
      make_barriers.push_back(ptx("mbarrier_init", {memory_->data, barrier(which, number(stage)), number(arrivals)}));
    };
    const int64_t warps = plan_->groups * 4;
    for (int64_t stage = 0; stage < plan_->stages; ++stage) {
      add(KeysFull, stage, 1), add(ValuesFull, stage, 1);
      add(KeysEmpty, stage, warps), add(ValuesEmpty, stage, warps);
    }
    add(QueriesFull, 0, 1);
    make_barriers.push_back(ptx("mbarrier_fence"));
    Stmt copies = guarded(thread < number(1), copy_tiles()), multiplies = multiply(thread - number(kWarpGroupThreads));
    return all_allocated({memory_}, sequence({guarded(thread < number(1), sequence(make_barriers)), shared_barrier(),
                                              wgmma_roles(thread, plan_->groups, copies, multiplies)}));
  }

  // ---- the warp group that copies -------------------------------------------------------------------------------------
  Stmt copy_tiles() const {
    /// Lines along k of a tile that begins at element `to`.
    auto copy = [&](const TensorOperand& tensor, const PrimExpr& row, int64_t rows, const PrimExpr& first_k,
                    int64_t lines, const PrimExpr& to, const PrimExpr& full) {
      std::vector<Stmt> out;
      for (int64_t i = 0; i < lines; ++i)
        out.push_back(copy_box(tensor, batch_, row, first_k + number(i * line_), rows, memory_,
                               to + number(i * line_ * rows), full, number(0)));
      return sequence(out);
    };
    auto expect = [&](const PrimExpr& full, int64_t elements) {
      return ptx("mbarrier_expect", {memory_->data, full, number(elements * bytes_)});
    };
    const PrimExpr q_full = barrier(QueriesFull, number(0));
    Stmt queries =
        sequence({expect(q_full, q_elements_), copy(a_.q, row_, plan_->rows(), number(0), lines_, number(0), q_full)});
    Stmt others = loop_over("tile", number(tiles_), [&](const PrimExpr& tile) {
      const PrimExpr stage = stage_of(tile), first = tile * number(columns_), empty = number(1) - parity_of(tile);
      const PrimExpr k_full = barrier(KeysFull, stage), v_full = barrier(ValuesFull, stage);
      return sequence({ptx("mbarrier_wait", {memory_->data, barrier(KeysEmpty, stage), empty}),
                       expect(k_full, k_elements_), copy(a_.k, first, columns_, number(0), lines_, keys(stage), k_full),
                       ptx("mbarrier_wait", {memory_->data, barrier(ValuesEmpty, stage), empty}),
                       expect(v_full, v_elements_),
                       copy(a_.v, number(0), width_, first, columns_ / line_, values(stage), v_full)});
    });
    return sequence({queries, others});
  }

  // ---- warp groups that multiply --------------------------------------------------------------------------------------
  Stmt multiply(const PrimExpr& thread) {
    lane_ = floormod(thread, number(32));
    group_ = plan_->groups > 1 ? floordiv(thread, number(kWarpGroupThreads)) : PrimExpr(number(0));
    my_rows_ = group_ * number(kWgmmaRows);
    my_row_ =
        row_ + my_rows_ + floormod(floordiv(thread, number(32)), number(4)) * number(16) + floordiv(lane_, number(4));
    scores_ = memory_of("scores", kScore, columns_ / 2, "local");
    powers_ = memory_of("powers", DataType::UInt(32), columns_ / 4, "local");
    results_ = memory_of("results", kScore, width_ / 2, "local");
    greatest_ = memory_of("greatest", kScore, 2, "local");
    total_ = memory_of("total", kScore, 2, "local");
    factor_ = memory_of("factor", kScore, 2, "local");
    part_ = memory_of("part", kScore, 4, "local");
    auto fill = [&](const Buffer& buffer, int64_t count, double value) {
      return unrolled_loop("i", count, [&](const PrimExpr& i) { return store_to(buffer, i, real(value)); });
    };
    const PrimExpr last = number(tiles_ - 1);
    Stmt loop = loop_over("rest", number(tiles_ - 1), [&](const PrimExpr& before) {
      const PrimExpr tile = before + 1;
      return sequence({wait_for_turn(), add_scores(tile), add_results(before), pass_turn(),
                       ptx("wgmma_wait", {number(1)}), hold(scores_, columns_ / 2), arrive(KeysEmpty, tile),
                       exponentials(tile), ptx("wgmma_wait", {number(0)}), hold(results_, width_ / 2),
                       arrive(ValuesEmpty, before), rescale(), narrow_powers()});
    });
    Stmt stores = store_wgmma_sums(
        a_.values, {results_, 1, width_, a_.values.m.known % plan_->rows() == 0, a_.values.n.known == width_}, thread,
        batch_, row_ + my_rows_, number(0));
    return all_allocated({scores_, powers_, results_, greatest_, total_, factor_, part_},
                         sequence({fill(results_, width_ / 2, 0),
                                   fill(greatest_, 2, -INFINITY),
                                   fill(total_, 2, 0),
                                   first_turn(),
                                   ptx("mbarrier_wait", {memory_->data, barrier(QueriesFull, number(0)), number(0)}),
                                   wait_for_turn(),
                                   add_scores(number(0)),
                                   pass_turn(),
                                   ptx("wgmma_wait", {number(0)}),
                                   hold(scores_, columns_ / 2),
                                   arrive(KeysEmpty, number(0)),
                                   exponentials(number(0)),
                                   narrow_powers(),
                                   loop,
                                   add_results(last),
                                   ptx("wgmma_wait", {number(0)}),
                                   hold(results_, width_ / 2),
                                   last_turn(),
                                   divide(),
                                   stores}));
  }

  // Turns: a barrier of its own for each warp group, at which it waits and the one before it arrives.
  PrimExpr turn_barrier(const PrimExpr& group) const { return group + 1; }
  Stmt named_barrier(const PrimExpr& id, bool waits) const {
    if (!plan_->by_turns) return make_nop();
    return ptx("named_barrier", {id, number(2 * kWarpGroupThreads), number(waits ? 1 : 0)});
  }
  Stmt wait_for_turn() const { return named_barrier(turn_barrier(group_), true); }
  Stmt pass_turn() const { return named_barrier(turn_barrier(floormod(group_ + 1, number(plan_->groups))), false); }
  Stmt first_turn() const {
    if (!plan_->by_turns) return make_nop();
    return guarded(equal(group_, number(plan_->groups - 1)), named_barrier(turn_barrier(number(0)), false));
  }
  /// Nobody leaves a barrier at which somebody has arrived.
  Stmt last_turn() const {
    if (!plan_->by_turns) return make_nop();
    return guarded(equal(group_, number(0)), named_barrier(turn_barrier(number(0)), true));
  }

  Stmt hold(const Buffer& registers, int64_t count) const {
    return ptx("hold_registers", {registers->data, number(0), number(count)});
  }

  /// scores = Q K^T, started.
  Stmt add_scores(const PrimExpr& tile) const {
    std::vector<Stmt> out{wait_full(KeysFull, tile), ptx("wgmma_fence")};
    const int64_t step = kWgmmaStepBytes / bytes_, leading = line_ * line_ * bytes_;
    for (int64_t k = 0; k < lines_ * line_; k += step) {
      // of each line the tile's rows follow each other; lines that lie along the rows have 64 rows each
      auto at = [&](const TensorOperand& tensor, int64_t rows) {
        const int64_t of_line = k / line_ * line_ * rows, in_line = k % line_;
        return number(of_line + (tensor.along_k ? in_line : in_line * line_));
      };
      out.push_back(ptx(
          "wgmma", {string_imm(wgmma_form(columns_, dtype_, dtype_)), scores_->data, number(0), memory_->data,
                    my_rows_ * number(line_) + at(a_.q, plan_->rows()), keys(stage_of(tile)) + at(a_.k, columns_),
                    number(a_.q.along_k ? 0 : leading), number(a_.k.along_k ? 0 : leading), number(k > 0 ? 1 : 0)}));
    }
    out.push_back(ptx("wgmma_commit"));
    return sequence(out);
  }

  /// results += P V, started.
  Stmt add_results(const PrimExpr& tile) const {
    std::vector<Stmt> out{wait_full(ValuesFull, tile), ptx("wgmma_fence")};
    const int64_t step = kWgmmaStepBytes / bytes_, leading = line_ * line_ * bytes_;
    for (int64_t k = 0; k < columns_; k += step) {
      const int64_t of_line = k / line_ * line_ * width_, in_line = k % line_;
      const int64_t at = of_line + (a_.v.along_k ? in_line : in_line * line_);
      out.push_back(ptx("wgmma_of_registers",
                        {string_imm(wgmma_form(width_, dtype_, dtype_)), results_->data, number(0), powers_->data,
                         number(k / step * 4), memory_->data, values(stage_of(tile)) + number(at),
                         number(a_.v.along_k ? 0 : leading), number(1)}));
    }
    out.push_back(ptx("wgmma_commit"));
    return sequence(out);
  }

  /// body(register, half: 0 of the thread's first row, 1 of its second) for each score of a thread; two neighbours, of each of both
  /// rows, of each eight columns.
  using ScoreBody = std::function<Stmt(const PrimExpr& at, int64_t half, int64_t neighbour)>;
  Stmt each_score(const ScoreBody& body) const {
    return unrolled_loop("eight", columns_ / 8, [&](const PrimExpr& eight) {
      std::vector<Stmt> out;
      for (int64_t half = 0; half < 2; ++half)
        for (int64_t neighbour = 0; neighbour < 2; ++neighbour)
          out.push_back(body(eight * 4 + number(2 * half + neighbour), half, neighbour));
      return sequence(out);
    });
  }
  PrimExpr score(const PrimExpr& at) const { return make_load(scores_, {at}); }
  PrimExpr column_of(const PrimExpr& tile, const PrimExpr& at) const {
    return tile * number(columns_) + floordiv(at, number(4)) * 8 + floormod(lane_, number(4)) * 2 +
           floormod(at, number(2));
  }

  /// What is beyond the last key counts nothing.
  Stmt prepare_scores(const PrimExpr& tile) const {
    const int64_t keys = a_.scores.n.known, queries = a_.scores.m.known;
    const bool is_even = keys % columns_ == 0;
    auto at_edge = [&] {
      return each_score([&](const PrimExpr& at, int64_t, int64_t) {
        return store_to(scores_, at, select(column_of(tile, at) < number(keys), score(at), real(-INFINITY)));
      });
    };
    std::vector<Stmt> out;
    if (!a_.is_scaled)
      out.push_back(each_score([&](const PrimExpr& at, int64_t half, int64_t) {
        PrimExpr row = my_row_ + number(8 * half), column = column_of(tile, at);
        // what others have at these positions is not used
        if (queries % plan_->rows() != 0) row = min(row, number(queries - 1));
        if (!is_even) column = min(column, number(keys - 1));
        return store_to(scores_, at, a_.score_at(score(at), batch_, row, column));
      }));
    if (!is_even) out.push_back(guarded(equal(tile, number(tiles_ - 1)), at_edge()));
    return out.empty() ? make_nop() : sequence(out);
  }

  /// Of four lanes that have a row.
  Stmt share(const Buffer& buffer, int64_t at, bool is_max) const {
    std::vector<Stmt> out;
    for (int64_t bits : {1, 2}) {
      const PrimExpr mine = make_load(buffer, {number(at)}), other = of_lane_xor(mine, bits);
      out.push_back(store_to(buffer, number(at), is_max ? max(mine, other) : mine + other));
    }
    return sequence(out);
  }

  /// scores = exp(score - greatest), greatest, total, and the factor by which they have changed.
  Stmt exponentials(const PrimExpr& tile) const {
    auto part = [&](int64_t half, int64_t neighbour) { return make_load(part_, {number(2 * half + neighbour)}); };
    std::vector<Stmt> out{prepare_scores(tile)};
    auto begin = [&](double value) {
      return unrolled_loop("i", 4, [&](const PrimExpr& i) { return store_to(part_, i, real(value)); });
    };
    out.push_back(begin(-INFINITY));
    out.push_back(each_score([&](const PrimExpr& at, int64_t half, int64_t neighbour) {
      return store_to(part_, number(2 * half + neighbour), max(part(half, neighbour), score(at)));
    }));
    for (int64_t half = 0; half < 2; ++half) {
      const PrimExpr i = number(half), greatest = make_load(greatest_, {i}),
                     mine = make_load(part_, {number(2 * half)});
      out.push_back(store_to(part_, number(2 * half), max(greatest, max(part(half, 0), part(half, 1)))));
      out.push_back(share(part_, 2 * half, true));
      // a row of which all is masked so far has no greatest score
      const PrimExpr base = a_.is_scaled ? mine : select(mine > real(-INFINITY), mine, real(0));
      out.push_back(store_to(part_, number(2 * half + 1), base * real(to_exponent_)));
      out.push_back(
          store_to(factor_, i, exp2_of(greatest * real(to_exponent_) - make_load(part_, {number(2 * half + 1)}))));
      out.push_back(store_to(greatest_, i, mine));
      out.push_back(store_to(total_, i, make_load(total_, {i}) * make_load(factor_, {i})));
      out.push_back(store_to(part_, number(2 * half), real(0)));
    }
    out.push_back(each_score([&](const PrimExpr& at, int64_t half, int64_t) {
      return store_to(scores_, at, exp2_of(score(at) * real(to_exponent_) - part(half, 1)));
    }));
    out.push_back(begin(0));
    out.push_back(each_score([&](const PrimExpr& at, int64_t half, int64_t neighbour) {
      return store_to(part_, number(2 * half + neighbour), part(half, neighbour) + score(at));
    }));
    for (int64_t half = 0; half < 2; ++half)
      out.push_back(
          store_to(total_, number(half), make_load(total_, {number(half)}) + (part(half, 0) + part(half, 1))));
    return sequence(out);
  }

  Stmt narrow_powers() const {
    return ptx("narrow_pairs", {string_imm(dtype_.is_bfloat() ? "bf16" : "f16"), scores_->data, number(0),
                                powers_->data, number(0), number(columns_ / 4)});
  }

  Stmt rescale() const { return scale_results(factor_); }
  Stmt scale_results(const Buffer& by) const {
    return unrolled_loop("i", width_ / 2, [&](const PrimExpr& i) {
      const PrimExpr half = floormod(floordiv(i, number(2)), number(2));
      return store_to(results_, i, make_load(results_, {i}) * make_load(by, {half}));
    });
  }
  Stmt divide() const {
    std::vector<Stmt> out;
    for (int64_t half = 0; half < 2; ++half) {
      out.push_back(share(total_, half, false));
      out.push_back(store_to(factor_, number(half), div(real(1), make_load(total_, {number(half)}))));
    }
    out.push_back(scale_results(factor_));
    return sequence(out);
  }

  const GpuAttention& a_;
  const GpuAttentionPlan& plan_;
  DataType dtype_;
  int64_t line_, bytes_, lines_, width_, columns_, tiles_, q_elements_, k_elements_, v_elements_;
  double to_exponent_ = 1;
  Buffer memory_, scores_, powers_, results_, greatest_, total_, factor_, part_;
  PrimExpr batch_, row_, lane_, group_, my_rows_, my_row_;
};

}  // namespace

Stmt gpu_attention_nest(const GpuAttention& attention, const GpuAttentionPlan& plan) {
  return AttentionNest(attention, plan)();
}

}  // namespace tessera::topi

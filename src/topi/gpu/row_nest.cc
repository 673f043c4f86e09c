// The kernel of a program of rows.

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "topi/cpu/machine.h"
#include "topi/gpu/nest.h"
#include "topi/gpu/rows.h"

namespace tessera::topi {
namespace {

/// fp16 and bf16 are added up in float32.
DataType accumulator_of(DataType dtype) { return dtype.is_floating() && dtype.bits < 32 ? DataType::Float(32) : dtype; }

/// What a thread keeps in registers.
struct Held {
  const BufferLoad* load;
  Buffer memory;
};

class RowNest {
 public:
  RowNest(const RowProgram& program, const RowPlan& plan)
      : program_(program),
        plan_(plan),
        count_(product_of(program.row_extents)),
        length_(product_of(program.element_extents)) {}

  Stmt operator()() {
    if (plan_->parts == 1) return launched(1, [&](const PrimExpr&) { return sequence(whole_row()); });
    const RowStage& stage = program_.stages[0];
    const DataType dtype = accumulator_of(stage.target->dtype);
    partials_ = memory_of("partials", dtype, program_.count * plan_->parts, "global");
    Stmt parts = launched(plan_->parts, [&](const PrimExpr& part) {
      const int64_t batch = int64_t{plan_->steps} * plan_->threads * plan_->lanes;
      const int64_t batches = ceil_div(ceil_div(program_.length, batch), plan_->parts);
      from_ = part * number(batches * batch);
      batches_ = batches;
      std::vector<Stmt> out;
      Buffer result = reduce_elements(stage, &out);
      Stmt store = store_to(partials_, row_ * number(plan_->parts) + part, make_load(result, {0}));
      out.push_back(guarded(logical_and(equal(thread_, number(0)), has_row_), store));
      return sequence(out);
    });
    memory_.clear();
    return allocated(partials_, sequence({parts, RowNest(program_, combining_plan(), partials_, plan_->parts)()}));
  }

 private:
  RowNest(const RowProgram& program, const RowPlan& plan, const Buffer& partials, int64_t parts)
      : RowNest(program, plan) {
    partials_ = partials;
    parts_ = parts;
  }

  static RowPlan combining_plan() {
    static const RowPlan plan = [] {
      RowPlanNode out;
      out.threads = 32;
      out.rows = 4;
      return make(std::move(out));
    }();
    return plan;
  }

  /// A kernel: blocks for rows, and for parts of them.
  Stmt launched(int64_t parts, const NestBody& body) {
    const char* of_rows = plan_->by_columns ? "threadIdx.x" : "threadIdx.y";
    const char* of_elements = plan_->by_columns ? "threadIdx.y" : "threadIdx.x";
    const PrimExpr blocks = floordiv(count_ + number(plan_->rows - 1), number(plan_->rows));
    return thread_loop("blockIdx.x", blocks, [&](const PrimExpr& block) {
      auto threads = [&](const PrimExpr& part) {
        return thread_loop(of_rows, number(plan_->rows), [&](const PrimExpr& row) {
          return thread_loop(of_elements, number(plan_->threads), [&](const PrimExpr& thread) {
            return of_thread(block * number(plan_->rows) + row, thread, part, body);
          });
        });
      };
      return parts == 1 ? threads(number(0)) : thread_loop("blockIdx.y", number(parts), threads);
    });
  }

  Stmt of_thread(const PrimExpr& row, const PrimExpr& thread, const PrimExpr& part, const NestBody& body) {
    thread_ = thread;
    // Threads beyond the last row compute the last one again: they take part in barriers, and store nothing.
    const bool is_even = program_.count > 0 && program_.count % plan_->rows == 0;
    has_row_ = is_even ? PrimExpr(bool_imm(true)) : row < count_;
    const Var my_row = make_var("row", DataType::Int(32));
    row_ = my_row;
    if (plan_->shifts) {
      row_step_ = shifted_row_step(program_);
      shift_ = make_var("shift", DataType::Int(32));
    }
    Stmt made = body(part);
    made = keep_unrolled_loops(all_allocated(memory_, made));
    if (shift_) {
      const PrimExpr begin = row_ * number(row_step_);
      made = make(LetStmt{.var = downcast<Var>(shift_), .value = floormod(begin, number(plan_->lanes)), .body = made});
    }
    return make(LetStmt{.var = my_row, .value = is_even ? row : min(row, count_ - 1), .body = made});
  }

  std::vector<Stmt> whole_row() {
    std::vector<Stmt> parts;
    if (plan_->holds_row) hold(&parts);
    for (const RowStage& stage : program_.stages) {
      if (stage.reduced) reduce(stage, &parts);
      else parts.push_back(store(stage));
    }
    return parts;
  }

  /// `lanes` neighbours of a row, some of which may be outside it.
  struct Neighbours {
    PrimExpr first, step;
    bool is_partial = false;
  };
  using StepBody = std::function<Stmt(const Neighbours&)>;

  Stmt each_neighbour(const Neighbours& all, bool at_once, const NestBody& body) const {
    if (!all.is_partial) return at_once ? each_lane(plan_->lanes, body) : unrolled_loop("lane", plan_->lanes, body);
    return unrolled_loop("lane", plan_->lanes, [&](const PrimExpr& lane) {
      const PrimExpr at = all.first + lane;
      return guarded(logical_and(at >= number(0), at < length_), body(lane));
    });
  }

  /// Steps of a row that begins between two vectors: of the first and the last one some neighbours may be outside.
  Stmt each_shifted_step(const StepBody& body) const {
    const int64_t of_step = int64_t{plan_->threads} * plan_->lanes, inside = program_.length / of_step;
    auto first_of = [&](const PrimExpr& step) {
      return (step * number(plan_->threads) + thread_) * number(plan_->lanes) - shift_;
    };
    auto edge = [&](int64_t step) {
      const PrimExpr first = first_of(number(step));
      const PrimExpr is_whole = logical_and(first >= number(0), first + number(plan_->lanes) <= length_);
      return Stmt(make(IfThenElse{.condition = is_whole,
                                  .then_case = body({first, number(step), false}),
                                  .else_case = body({first, number(step), true})}));
    };
    std::vector<Stmt> out{edge(0)};
    if (inside > 1)
      out.push_back(
          unrolled_loop("step", inside - 1, [&](const PrimExpr& i) { return body({first_of(i + 1), i + 1, false}); }));
    for (int64_t step = std::max<int64_t>(1, inside); step < plan_->steps; ++step) out.push_back(edge(step));
    return sequence(out);
  }

  /// body(neighbours): for all that the thread takes of its row.
  Stmt each_step(const StepBody& made_by) const {
    if (plan_->shifts) return each_shifted_step(made_by);
    auto body = [&](const PrimExpr& first, const PrimExpr& step) { return made_by({first, step}); };
    const int64_t steps = plan_->steps, lanes = plan_->lanes, at_once = steps * plan_->threads * lanes;
    auto batch = [&](const PrimExpr& start, bool is_whole) {
      return unrolled_loop("step", steps, [&](const PrimExpr& step) {
        const PrimExpr first = start + (step * number(plan_->threads) + thread_) * number(lanes);
        return guarded(is_whole ? PrimExpr(bool_imm(true)) : first < length_, body(first, step));
      });
    };
    if (from_)
      return loop_over("batch", number(batches_),
                       [&](const PrimExpr& i) { return batch(from_ + i * number(at_once), false); });
    if (program_.length > 0 && program_.length <= at_once) {  // only the last step may be partly outside
      const int64_t inside = program_.length / (plan_->threads * lanes);
      auto steps_from = [&](int64_t from, int64_t count, bool is_whole) {
        return unrolled_loop("step", count, [&](const PrimExpr& i) {
          const PrimExpr step = i + number(from);
          const PrimExpr first = (step * number(plan_->threads) + thread_) * number(lanes);
          return guarded(is_whole ? PrimExpr(bool_imm(true)) : first < length_, body(first, step));
        });
      };
      if (inside == 0 || inside == steps) return steps_from(0, steps, inside == steps);
      return sequence({steps_from(0, inside, true), steps_from(inside, steps - inside, false)});
    }
    return loop_over("batch", floordiv(length_ + number(at_once - 1), number(at_once)), [&](const PrimExpr& i) {
      return batch(i * number(at_once), program_.length > 0 && program_.length % at_once == 0);
    });
  }

  bool is_written(const Buffer& buffer) const {
    return std::any_of(program_.stages.begin(), program_.stages.end(),
                       [&](const RowStage& stage) { return stage.target.same_as(buffer); });
  }

  /// Reads what varies along the row, all before it is first used.
  void hold(std::vector<Stmt>* parts) {
    for (const RowStage& stage : program_.stages)
      walk(stage.value, [&](const BufferLoad* load) {
        std::optional<RowAccess> access = row_access(program_, load->buffer, load->indices);
        if (!access || access->step == 0 || is_written(load->buffer) || held_as(load)) return;
        held_.push_back({load, memory_of("held", load->dtype, int64_t{plan_->steps} * plan_->lanes, "local")});
        memory_.push_back(held_.back().memory);
      });
    for (const Held& each : held_)
      parts->push_back(each_step([&](const Neighbours& all) {
        return each_neighbour(all, true, [&](const PrimExpr& lane) {
          return store_to(each.memory, all.step * number(plan_->lanes) + lane, element(each.load, all.first + lane));
        });
      }));
  }

  const Held* held_as(const BufferLoad* load) const {
    for (const Held& each : held_) {
      bool is_same = each.load->buffer.same_as(load->buffer);
      auto a = row_access(program_, load->buffer, load->indices),
           b = is_same ? row_access(program_, each.load->buffer, each.load->indices) : std::nullopt;
      if (a && b && a->row_step == b->row_step && a->step == b->step && as_int(a->base) && as_int(b->base) &&
          *as_int(a->base) == *as_int(b->base))
        return &each;
    }
    return nullptr;
  }

  /// An element of memory: by its number where that says where it is.
  PrimExpr element(const BufferLoad* load, const PrimExpr& at) const {
    if (auto access = row_access(program_, load->buffer, load->indices))
      return make_load(access->flat, {index(*access, at)});
    Array<PrimExpr> indices;
    for (const PrimExpr& each : load->indices) indices.push_back(substitute(each, axes(at)));
    return make_load(load->buffer, indices);
  }

  PrimExpr index(const RowAccess& access, const PrimExpr& at) const {
    PrimExpr out = access.base;
    if (access.row_step) out = out + row_ * number(access.row_step);
    if (plan_->shifts && access.step == 1) {  // in a form that shows where vectors begin
      const PrimExpr lanes = number(plan_->lanes);
      return floordiv(cast(DataType::Int(32), out), lanes) * lanes + arith::Analyzer().simplify(at + shift_);
    }
    if (access.step) out = out + at * number(access.step);
    return cast(DataType::Int(32), out);
  }

  Map<Var, PrimExpr> axes(const PrimExpr& at) const {
    Map<Var, PrimExpr> out;
    std::vector<PrimExpr> rows = digits_of(row_, program_.row_extents),
                          elements = digits_of(at, program_.element_extents);
    for (size_t i = 0; i < rows.size(); ++i) out.set(program_.rows[i], rows[i]);
    for (size_t i = 0; i < elements.size(); ++i) out.set(program_.elements[i], elements[i]);
    return out;
  }

  /// The value of a stage at an element: results of rows and what is held come from registers.
  PrimExpr value_at(const RowStage& stage, const PrimExpr& first, const PrimExpr& step, const PrimExpr& lane) const {
    const PrimExpr at = first + lane;
    const Map<Var, PrimExpr> values = axes(at);
    Rewriter fill;
    fill.on([&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
      for (size_t i = 0; i < results_.size(); ++i)
        if (results_[i].first.same_as(load->buffer)) return cast(load->dtype, make_load(results_[i].second, {0}));
      if (const Held* held = held_as(load)) return make_load(held->memory, {step * number(plan_->lanes) + lane});
      if (row_access(program_, load->buffer, load->indices)) return element(load, at);
      return PrimExpr(self.children(load));
    });
    fill.on([&](Rewriter& self, const Div* op) -> PrimExpr {
      if (auto* divisor = op->b.as<BufferLoad>(); divisor && op->dtype == DataType::Float(32))
        for (const auto& [result, reciprocal] : reciprocals_)
          if (result.same_as(divisor->buffer)) return self(op->a) * make_load(reciprocal, {0});
      return PrimExpr(self.children(op));
    });
    fill.on([&](Rewriter&, const VarNode* var) -> PrimExpr {
      return values.count(Var(var)) ? values[Var(var)] : PrimExpr(Var(var));
    });
    return fill(stage.value);
  }

  /// Float32 elements are divided by the result.
  bool divides_elements(const Buffer& result) const {
    bool found = false;
    for (const RowStage& stage : program_.stages)
      walk(stage.value, [&](const Div* op) {
        auto* divisor = op->b.as<BufferLoad>();
        found = found || (stage.is_of_elements && op->dtype == DataType::Float(32) && divisor &&
                          divisor->buffer.same_as(result));
      });
    return found;
  }

  void reduce(const RowStage& stage, std::vector<Stmt>* parts) {
    Buffer result = parts_ > 0 ? reduce_partials(stage, parts) : reduce_elements(stage, parts);
    results_.emplace_back(stage.target, result);
    if (divides_elements(stage.target)) {  // a division for a row, not one for each of its elements
      Buffer reciprocal = memory_of("reciprocal", result->dtype, 1, "local");
      memory_.push_back(reciprocal);
      parts->push_back(store_to(reciprocal, 0, div(make_const(result->dtype, 1), make_load(result, {0}))));
      reciprocals_.emplace_back(stage.target, reciprocal);
    }
    if (stage.is_result) parts->push_back(store_once(stage, cast(stage.target->dtype, make_load(result, {0}))));
  }

  Buffer reduce_elements(const RowStage& stage, std::vector<Stmt>* parts) {
    const DataType dtype = accumulator_of(stage.target->dtype);
    return reduce_by(stage, parts, [&](const Buffer& sum) {
      return each_step([&](const Neighbours& all) {
        return each_neighbour(all, false, [&](const PrimExpr& lane) {
          PrimExpr taken = cast(dtype, value_at(stage, all.first, all.step, lane));
          return store_to(sum, 0, combine(stage.reduced->value, make_load(sum, {0}), taken));
        });
      });
    });
  }

  /// Of what the parts of the row gave.
  Buffer reduce_partials(const RowStage& stage, std::vector<Stmt>* parts) {
    return reduce_by(stage, parts, [&](const Buffer& sum) {
      return loop_over("batch", number(ceil_div(parts_, plan_->threads)), [&](const PrimExpr& i) {
        const PrimExpr part = i * number(plan_->threads) + thread_;
        PrimExpr taken = make_load(partials_, {row_ * number(parts_) + part});
        return guarded(part < number(parts_),
                       store_to(sum, 0, combine(stage.reduced->value, make_load(sum, {0}), taken)));
      });
    });
  }

  /// The partial result of the thread, which `taken_in` adds to, and those of all threads of the row combined.
  Buffer reduce_by(const RowStage& stage, std::vector<Stmt>* parts,
                   const std::function<Stmt(const Buffer&)>& taken_in) {
    const DataType dtype = accumulator_of(stage.target->dtype);
    const PrimExpr identity = cast(dtype, stage.reduced->init), operation = stage.reduced->value;
    Buffer sum = memory_of("partial", dtype, 1, "local"), result = memory_of("result", dtype, 1, "local");
    memory_.push_back(sum);
    memory_.push_back(result);
    parts->push_back(store_to(sum, 0, identity));
    parts->push_back(taken_in(sum));
    parts->push_back(combine_threads(operation, identity, sum, result, thread_));
    return result;
  }

  /// By one thread of the row. Nobody but this kernel sees what its registers hold.
  Stmt store_once(const RowStage& stage, const PrimExpr& value) const {
    Array<PrimExpr> indices;
    for (const PrimExpr& each : stage.indices) indices.push_back(substitute(each, axes(number(0))));
    Stmt store = make(BufferStore{.buffer = stage.target, .value = value, .indices = indices});
    return guarded(logical_and(equal(thread_, number(0)), has_row_), store);
  }

  Stmt store(const RowStage& stage) const {
    if (!stage.is_of_elements) return store_once(stage, value_at(stage, number(0), number(0), number(0)));
    auto access = row_access(program_, stage.target, stage.indices);
    return guarded(has_row_, each_step([&](const Neighbours& all) {
                     return each_neighbour(all, true, [&](const PrimExpr& lane) {
                       const PrimExpr value = value_at(stage, all.first, all.step, lane), at = all.first + lane;
                       if (access) return store_to(access->flat, index(*access, at), value);
                       Array<PrimExpr> indices;
                       for (const PrimExpr& each : stage.indices) indices.push_back(substitute(each, axes(at)));
                       return Stmt(make(BufferStore{.buffer = stage.target, .value = value, .indices = indices}));
                     });
                   }));
  }

  const RowProgram& program_;
  const RowPlan plan_;
  PrimExpr count_, length_, row_, thread_, has_row_;
  PrimExpr shift_;  // elements between the vector that a row begins in and the row
  int64_t row_step_ = 0;
  std::vector<Held> held_;
  std::vector<Buffer> memory_;
  Buffer partials_;
  int64_t parts_ = 0, batches_ = 0;  // of a row: of `partials_`; batches of steps of the part from `from_` on
  PrimExpr from_;
  std::vector<std::pair<Buffer, Buffer>> results_, reciprocals_;  // of reductions, and where a thread has them
};

}  // namespace

Stmt row_nest(const RowProgram& program, const RowPlan& plan) { return RowNest(program, plan)(); }

}  // namespace tessera::topi

#include "topi/gpu/windows.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "arith/linear.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "topi/cpu/machine.h"
#include "topi/cpu/reduction_block.h"
#include "topi/gpu/contraction.h"
#include "topi/gpu/float32.h"
#include "topi/gpu/nest.h"
#include "topi/transform.h"

namespace tessera::topi {
namespace {

register_types<WindowPlanNode> window_plan_types;

constexpr int64_t kMaxElements = 256, kMaxAlong = 16;  // of a window, and of its row: they are unrolled
constexpr int64_t kMaxSpan = 4;
constexpr int64_t kMaxHeldOfWindows = 128;  // sums and elements of a thread
constexpr int64_t kThreadsWanted = 512;     // of a multiprocessor
constexpr int64_t kMaxThreadsInAll = INT32_MAX / 2;

/// `condition ? load : constant`, or a load.
const BufferLoad* load_in(const PrimExpr& value) {
  auto of_choice = [](const PrimExpr& chosen, const PrimExpr& other) -> const BufferLoad* {
    const bool is_constant = other.as<FloatImm>() || other.as<IntImm>();
    return is_constant ? chosen.as<BufferLoad>() : nullptr;
  };
  if (auto* call = value.as<Call>(); builtin::is(call, builtin::if_then_else()))
    return of_choice(call->args[1], call->args[2]);
  if (auto* choice = value.as<Select>()) return of_choice(choice->true_value, choice->false_value);
  return value.as<BufferLoad>();
}

class WindowMatcher {
 public:
  WindowMatcher(const schedule::State& state, const schedule::BlockRef& ref) : state_(state) { out_.ref = ref; }

  std::optional<GpuWindows> operator()(const GpuMachine& machine) {
    if (!takes_reduction() || !takes_operands() || !finds_windows()) return std::nullopt;
    out_.lanes = machine->access_bytes / widest_bytes();
    for (WindowOperand& operand : out_.operands)
      if (!fits_channels(operand)) return std::nullopt;
    while (out_.lanes > 1 && out_.extents.back() % out_.lanes != 0) out_.lanes /= 2;
    return out_;
  }

 private:
  bool takes_reduction() {
    std::optional<Reduction> reduction = as_reduction(state_.find(out_.ref));
    if (!reduction || reduction->axes.size() < 2 || reduction->reduce_axes == 0) return false;
    out_.block = reduction->block;
    std::vector<loops::Accumulated> all = loops::match_accumulation(out_.block);
    if (all.size() != 1 || !loops::begins_with_identity(all[0])) return false;
    out_.reduced = all[0];
    const PrimExpr& value = all[0].value;
    if (!value.as<Add>() && !value.as<Max>() && !value.as<Min>()) return false;
    out_.dtype = all[0].buffer->dtype;
    out_.sum = sum_type(out_.dtype);
    if (!out_.dtype.is_floating() || out_.sum != DataType::Float(32)) return false;
    out_.axes = reduction->axes;
    out_.extents = reduction->extents;
    for (const IterVar& axis : out_.block->iter_vars)
      if (axis->iter_type != IterType::DataPar) out_.window.push_back(axis->var);
    out_.window_extents = reduction->reduce_extents;
    int64_t elements = 1;
    for (int64_t extent : out_.window_extents) elements *= extent;
    if (out_.window.size() != out_.window_extents.size() || elements < 2 || elements > kMaxElements) return false;
    out_.epilogue_ref = epilogue_of(state_, out_.ref, *reduction);
    if (out_.epilogue_ref.key) {
      out_.epilogue = state_.find(out_.epilogue_ref).block();
      if (!out_.epilogue->body.as<BufferStore>()) out_.epilogue = nullptr, out_.epilogue_ref = {};
    }
    return true;
  }

  /// What is read becomes variables of what is taken in.
  bool takes_operands() {
    std::optional<PrimExpr> element = in_float32(out_.reduced.element, [&](const PrimExpr& part) -> PrimExpr {
      if (!load_in(part)) return PrimExpr();
      for (const WindowOperand& known : out_.operands)
        if (structural_equal(known.value, part)) return known.element;
      out_.operands.push_back({.value = part, .element = make_var("element", DataType::Float(32))});
      return out_.operands.back().element;
    });
    if (!element || out_.operands.empty()) return false;
    out_.element = *element;
    return !uses_var(*element, [&](const VarNode* var) {
      return std::none_of(out_.operands.begin(), out_.operands.end(),
                          [&](const WindowOperand& operand) { return operand.element.get() == var; });
    });
  }

  /// The axis of positions and that of elements along it, from the index in which both are.
  bool finds_windows() {
    for (const WindowOperand& operand : out_.operands)
      for (const PrimExpr& index : load_in(operand.value)->indices)
        for (size_t axis = out_.axes.size() - 1; axis-- > 0;)
          for (size_t along = out_.window.size(); along-- > 0;)
            if (is_window_index(index, axis, along)) {
              std::swap(out_.window[along], out_.window.back());
              std::swap(out_.window_extents[along], out_.window_extents.back());
              return classifies(axis);
            }
    return false;
  }

  bool is_window_index(const PrimExpr& index, size_t axis, size_t along) {
    const Array<PrimExpr> parts =
        arith::detect_linear_equation(arith::Analyzer().simplify(index), {out_.axes[axis], out_.window[along]});
    if (parts.size() != 3) return false;
    const int64_t *step = as_int(parts[0]), *dilation = as_int(parts[1]);
    if (!step || !dilation || *step < 1 || *dilation < 1 || out_.window_extents[along] > kMaxAlong) return false;
    out_.position = axis, out_.step = *step, out_.dilation = *dilation;
    return true;
  }

  /// Each operand does not vary with the position, or only with the column of the window's element.
  bool classifies(size_t axis) {
    const Var &position = out_.axes[axis], &along = out_.window.back();
    const Map<Var, PrimExpr> same_column{{position, position + make_const(position->dtype, out_.dilation)},
                                         {along, along - make_const(along->dtype, out_.step)}};
    arith::Analyzer analyzer;
    for (WindowOperand& operand : out_.operands) {
      if (!uses_var(operand.value, position)) continue;
      operand.is_window = true;
      const BufferLoad* load = load_in(operand.value);
      for (const PrimExpr& index : load->indices)
        if (!analyzer.can_prove_equal(index, substitute(index, same_column))) return false;
      const PrimExpr condition = condition_of(operand.value);
      if (!structural_equal(analyzer.simplify(condition), analyzer.simplify(substitute(condition, same_column))))
        return false;
    }
    return true;
  }

  static PrimExpr condition_of(const PrimExpr& value) {
    if (auto* call = value.as<Call>()) return call->args[0];
    if (auto* choice = value.as<Select>()) return choice->condition;
    return bool_imm(true);
  }

  int64_t widest_bytes() const {
    int64_t out = out_.dtype.bytes();
    for (const WindowOperand& operand : out_.operands)
      out = std::max<int64_t>(out, load_in(operand.value)->dtype.bytes());
    return out;
  }

  /// Neighbouring channels are neighbours in memory, or the same element; lanes shrink to what can be one access.
  bool fits_channels(const WindowOperand& operand) {
    const BufferLoad* load = load_in(operand.value);
    const Var& channel = out_.axes.back();
    if (uses_var(condition_of(operand.value), channel)) return false;
    std::optional<int64_t> step = stride(load, channel);
    if (!step || (*step != 0 && *step != 1)) return false;
    if (*step == 0) return true;
    const Buffer flat = as_one_dimension(load->buffer);
    if (!flat) return false;
    Map<Var, PrimExpr> zeros;
    auto reduce_to = [&](const std::optional<int64_t>& distance) {
      while (out_.lanes > 1 && (!distance || *distance % out_.lanes != 0)) out_.lanes /= 2;
    };
    auto look_at = [&](const Var& var) {
      zeros.set(var, make_zero(var->dtype));
      if (!var.same_as(channel)) reduce_to(stride(load, var));
    };
    for (const Var& var : out_.axes) look_at(var);
    for (const Var& var : out_.window) look_at(var);
    const PrimExpr base = arith::Analyzer().simplify(substitute(flat_index(load->indices, load->buffer->shape), zeros));
    reduce_to(as_int(base) ? std::optional(*as_int(base)) : std::nullopt);
    return true;
  }

  const schedule::State& state_;
  GpuWindows out_;
};

int64_t columns_of(const GpuWindows& w, int64_t span) {
  return (span - 1) * w.step + (w.window_extents.back() - 1) * w.dilation + 1;
}

int64_t threads_in_all(const GpuWindows& w, int64_t span, int64_t lanes) {
  int64_t out = 1;
  for (size_t i = 0; i < w.extents.size(); ++i) {
    const int64_t part = i == w.position             ? ceil_div(w.extents[i], span)
                         : i + 1 == w.extents.size() ? w.extents[i] / lanes
                                                     : w.extents[i];
    if (out > kMaxThreadsInAll / std::max<int64_t>(part, 1)) return kMaxThreadsInAll + 1;
    out *= part;
  }
  return out;
}

bool window_plan_fits(const GpuWindows& w, const WindowPlan& plan, const GpuMachine& machine) {
  return plan->span >= 1 && plan->span <= w.extents[w.position] && plan->lanes >= 1 && w.lanes % plan->lanes == 0 &&
         plan->threads >= 1 && plan->threads <= machine->max_threads &&
         (plan->span + columns_of(w, plan->span)) * plan->lanes <= kMaxHeldOfWindows &&
         threads_in_all(w, plan->span, plan->lanes) <= kMaxThreadsInAll;
}

class WindowNest {
 public:
  WindowNest(const GpuWindows& windows, const WindowPlan& plan)
      : w_(windows), plan_(plan), columns_(columns_of(windows, plan->span)) {}

  Stmt operator()() {
    const int64_t all = threads_in_all(w_, plan_->span, plan_->lanes);
    return thread_loop("blockIdx.x", number(ceil_div(all, plan_->threads)), [&](const PrimExpr& block) {
      return thread_loop("threadIdx.x", number(plan_->threads), [&](const PrimExpr& thread) {
        const Var id = make_var("id", DataType::Int(32));
        set_first(id);
        Stmt body = guarded(all % plan_->threads == 0 ? PrimExpr(bool_imm(true)) : id < number(all), of_thread());
        return Stmt(make(
            LetStmt{.var = id, .value = block * number(plan_->threads) + thread, .body = keep_unrolled_loops(body)}));
      });
    });
  }

 private:
  /// Neighbouring threads take neighbouring channels. The last positions are computed by two threads where they do not come out even.
  void set_first(const Var& id) {
    std::vector<PrimExpr> extents;
    for (size_t i = 0; i < w_.extents.size(); ++i)
      extents.push_back(number(i == w_.position             ? ceil_div(w_.extents[i], plan_->span)
                               : i + 1 == w_.extents.size() ? w_.extents[i] / plan_->lanes
                                                            : w_.extents[i]));
    std::vector<PrimExpr> digits = digits_of(id, extents);
    const int64_t positions = w_.extents[w_.position];
    digits.back() = digits.back() * number(plan_->lanes);
    digits[w_.position] = digits[w_.position] * number(plan_->span);
    if (positions % plan_->span != 0) digits[w_.position] = min(digits[w_.position], number(positions - plan_->span));
    for (size_t i = 0; i < digits.size(); ++i) first_.set(w_.axes[i], digits[i]);
  }

  /// An operand at a position and an element along the row, from the first of them on.
  PrimExpr at(const WindowOperand& operand, const PrimExpr& position, const PrimExpr& along, const PrimExpr& lane,
              const std::vector<PrimExpr>& others) const {
    Map<Var, PrimExpr> values;
    for (const auto& [var, value] : first_) values.set(var, value);
    values.set(w_.axes[w_.position], first_[w_.axes[w_.position]] + position);
    values.set(w_.axes.back(), first_[w_.axes.back()] + lane);
    for (size_t i = 0; i < others.size(); ++i) values.set(w_.window[i], others[i]);
    values.set(w_.window.back(), along);
    Map<Var, PrimExpr> typed;
    for (const auto& [var, value] : values) typed.set(var, cast(var->dtype, value));
    return cast(w_.sum, substitute(operand.value, typed));
  }

  Stmt of_thread() {
    const int64_t lanes = plan_->lanes;
    sums_ = memory_of("sums", w_.sum, plan_->span * lanes, "local");
    std::vector<Buffer> memory{sums_};
    for (const WindowOperand& operand : w_.operands) {
      held_.push_back(memory_of(operand.is_window ? "row" : "weights", w_.sum,
                                operand.is_window ? columns_ * lanes : lanes, "local"));
      memory.push_back(held_.back());
    }
    Stmt clear = unrolled_loop("i", plan_->span * lanes,
                               [&](const PrimExpr& i) { return store_to(sums_, i, cast(w_.sum, w_.reduced.init)); });
    Stmt stores = unrolled_loop("position", plan_->span, [&](const PrimExpr& position) {
      return each_lane(lanes, [&](const PrimExpr& lane) {
        Map<Var, PrimExpr> values;
        for (const auto& [var, value] : first_) values.set(var, cast(var->dtype, value));
        const Var &moving = w_.axes[w_.position], &channel = w_.axes.back();
        values.set(moving, cast(moving->dtype, first_[moving] + position));
        values.set(channel, cast(channel->dtype, first_[channel] + lane));
        const PrimExpr sum = make_load(sums_, {position * number(lanes) + lane});
        return store_with_epilogue(w_.block, w_.epilogue, values, cast(w_.dtype, sum));
      });
    });
    return all_allocated(memory, sequence({clear, rows({}), stores}));
  }

  /// Loops over all axes of the window but the last one.
  Stmt rows(const std::vector<PrimExpr>& others) const {
    if (others.size() + 1 == w_.window.size()) return row(others);
    return loop_over("row", number(w_.window_extents[others.size()]), [&](const PrimExpr& i) {
      std::vector<PrimExpr> more = others;
      more.push_back(i);
      return rows(more);
    });
  }

  Stmt row(const std::vector<PrimExpr>& others) const {
    const int64_t lanes = plan_->lanes, elements = w_.window_extents.back();
    std::vector<Stmt> out;
    for (int64_t column = 0; column < columns_; ++column) {
      // any position and element that meet there
      int64_t position = 0, along = 0;
      auto meet = [&] {
        for (position = 0; position < plan_->span; ++position)
          for (along = 0; along < elements; ++along)
            if (position * w_.step + along * w_.dilation == column) return true;
        return false;
      };
      if (!meet()) continue;
      for (size_t i = 0; i < held_.size(); ++i)
        if (w_.operands[i].is_window)
          out.push_back(each_lane(lanes, [&](const PrimExpr& lane) {
            return store_to(held_[i], number(column * lanes) + lane,
                            at(w_.operands[i], number(position), number(along), lane, others));
          }));
    }
    out.push_back(unrolled_loop("along", elements, [&](const PrimExpr& along) {
      std::vector<Stmt> parts;
      for (size_t i = 0; i < held_.size(); ++i)
        if (!w_.operands[i].is_window)
          parts.push_back(each_lane(lanes, [&](const PrimExpr& lane) {
            return store_to(held_[i], lane, at(w_.operands[i], number(0), along, lane, others));
          }));
      parts.push_back(unrolled_loop("position", plan_->span, [&](const PrimExpr& position) {
        return unrolled_loop("channel", lanes, [&](const PrimExpr& lane) {
          const PrimExpr column = position * number(w_.step) + along * number(w_.dilation);
          Map<Var, PrimExpr> values;
          for (size_t i = 0; i < held_.size(); ++i)
            values.set(w_.operands[i].element,
                       make_load(held_[i], {w_.operands[i].is_window ? column * number(lanes) + lane : lane}));
          const PrimExpr to = position * number(lanes) + lane, sum = make_load(sums_, {to}),
                         taken = substitute(w_.element, values);
          const PrimExpr& how = w_.reduced.value;
          return store_to(sums_, to, how.as<Add>() ? sum + taken : how.as<Max>() ? max(sum, taken) : min(sum, taken));
        });
      }));
      return sequence(parts);
    }));
    return sequence(out);
  }

  const GpuWindows& w_;
  const WindowPlan plan_;
  int64_t columns_;
  Map<Var, PrimExpr> first_;  // of the thread: where its first result is
  Buffer sums_;
  std::vector<Buffer> held_;  // of operands
};

}  // namespace

std::optional<GpuWindows> as_gpu_windows(const schedule::State& state, const schedule::BlockRef& block,
                                         const GpuMachine& machine) {
  return WindowMatcher(state, block)(machine);
}

WindowPlan plan_windows(const GpuWindows& w, const GpuMachine& machine) {
  if (w.lanes < 2) return nullptr;
  WindowPlan best;
  double least = 0;
  for (int32_t span = 1; span <= kMaxSpan; span *= 2) {
    WindowPlanNode node;
    node.span = span;
    node.lanes = static_cast<int32_t>(w.lanes);
    node.threads = static_cast<int32_t>(std::min<int64_t>(node.threads, machine->max_threads));
    WindowPlan plan = make(std::move(node));
    if (!window_plan_fits(w, plan, machine)) continue;
    if (best && threads_in_all(w, span, w.lanes) < machine->multiprocessors * kThreadsWanted) break;
    // columns that are read for a result, of all that are computed
    const double cost = static_cast<double>(ceil_div(w.extents[w.position], span) * (columns_of(w, span) + span));
    if (!best || cost < least) best = plan, least = cost;
  }
  return best;
}

void check_window_plan(const GpuWindows& windows, const WindowPlan& plan, const GpuMachine& machine) {
  if (!window_plan_fits(windows, plan, machine))
    throw Error(ScheduleError) << "the plan of a reduction of windows does not fit it: lanes divide " << windows.lanes
                               << ", there are at least as many positions as a thread takes, and "
                               << "what it holds is at most " << kMaxHeldOfWindows << " numbers";
}

Stmt window_nest(const GpuWindows& windows, const WindowPlan& plan) { return WindowNest(windows, plan)(); }

}  // namespace tessera::topi

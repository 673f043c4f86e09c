#include "topi/gpu/rows.h"

#include <algorithm>
#include <functional>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "topi/cpu/machine.h"
#include "topi/cpu/reduction_block.h"
#include "topi/gpu/nest.h"
#include "topi/transform.h"

namespace tessera::topi {
namespace {

register_types<RowPlanNode> row_plan_types;

constexpr int64_t kMinLength = 16;      // of a row that threads share
constexpr int64_t kHeldElements = 32;   // of a row in the registers of a thread, of 32 bits
constexpr int64_t kHeldAtMost = 52;     // the same where a block has no more threads
constexpr int64_t kHeldByHalf = 104;    // the same where half as many threads do it: each waits for less of the others
constexpr int64_t kBlockThreads = 128;  // of a block, where rows need no more
constexpr int64_t kStreamSteps = 4;     // that are unrolled, of rows that are read more than once
constexpr int64_t kMinPartSteps = 2;    // batches of steps of a part of a row
constexpr int64_t kMinSplitElements = 1 << 18;
constexpr int64_t kMaxParts = 1024;
constexpr int64_t kColumnThreads = 8;     // of a row, where neighbouring threads take neighbouring rows
constexpr int64_t kThreadsAtOnce = 1024;  // of a multiprocessor, that hide the latency of memory

/// An axis and its extent; those of one iteration are left out.
struct AxisList {
  std::vector<Var> vars;
  std::vector<PrimExpr> extents;
};

bool is_unit(const IterVar& axis) { return is_one(axis->dom->extent); }

bool are_equal(const PrimExpr& a, const PrimExpr& b) {
  return arith::Analyzer().can_prove_equal(cast(DataType::Int(64), a), cast(DataType::Int(64), b));
}

/// The loops around a block are its axes, each from 0 on.
bool is_plain(const schedule::Cursor& cursor) {
  auto* realize = cursor.realize();
  std::vector<const For*> loops = cursor.loops();
  if (!is_one(realize->predicate)) return false;
  size_t next = 0;
  for (size_t i = 0; i < realize->iter_values.size(); ++i) {
    const PrimExpr& value = realize->iter_values[i];
    if (is_zero(value) && is_unit(cursor.block()->iter_vars[i])) continue;  // of a result of no dimensions
    if (next >= loops.size() || !value.same_as(loops[next]->loop_var) || loops[next]->kind != LoopKind::Serial ||
        !is_zero(loops[next]->min))
      return false;
    ++next;
  }
  if (next != loops.size()) return false;
  const BlockNode* block = cursor.block();
  return block->alloc_buffers.empty() && block->match_buffers.empty() && block->body.as<BufferStore>();
}

/// Gives the axes of a stage those of the program: the row's first, then those of elements.
class AxisMatcher {
 public:
  explicit AxisMatcher(const RowProgram& program) : program_(program) {}

  /// Empty where the axes are others.
  std::optional<Map<Var, PrimExpr>> operator()(const BlockNode* block, bool* is_of_elements) const {
    std::vector<const IterVarNode*> axes;
    Map<Var, PrimExpr> out;
    for (const IterVar& axis : block->iter_vars) {
      if (is_unit(axis)) out.set(axis->var, make_zero(axis->var->dtype));
      else axes.push_back(axis.get());
    }
    const size_t rows = program_.rows.size(), all = rows + program_.elements.size();
    if (axes.size() != rows && axes.size() != all) return std::nullopt;
    *is_of_elements = axes.size() == all;
    std::vector<size_t> order = order_of(block, axes);
    for (size_t i = 0; i < axes.size(); ++i) {
      const bool is_row = order[i] < rows;
      const PrimExpr& extent = is_row ? program_.row_extents[order[i]] : program_.element_extents[order[i] - rows];
      if (!are_equal(axes[i]->dom->extent, extent)) return std::nullopt;
      const Var& var = is_row ? program_.rows[order[i]] : program_.elements[order[i] - rows];
      out.set(axes[i]->var, cast(axes[i]->var->dtype, var));
    }
    return out;
  }

 private:
  /// Which axis of the program each one is: those by which results of rows are read are the row's, others follow in order.
  std::vector<size_t> order_of(const BlockNode* block, const std::vector<const IterVarNode*>& axes) const {
    constexpr size_t kOpen = SIZE_MAX;
    std::vector<size_t> out(axes.size(), kOpen);
    std::vector<bool> taken(program_.rows.size() + program_.elements.size());
    auto pin = [&](const PrimExpr& index, const PrimExpr& written) {
      for (size_t i = 0; i < axes.size(); ++i)
        for (size_t row = 0; row < program_.rows.size(); ++row)
          if (index.same_as(axes[i]->var) && out[i] == kOpen && !taken[row] && uses_var(written, program_.rows[row]))
            out[i] = row, taken[row] = true;
    };
    walk(block->body, [&](const BufferLoad* load) {
      for (const RowStage& other : program_.stages)
        for (size_t i = 0; other.target.same_as(load->buffer) && other.reduced && i < load->indices.size(); ++i)
          pin(load->indices[i], other.indices[i]);
    });
    size_t next = 0;
    for (size_t& axis : out) {
      if (axis != kOpen) continue;
      while (taken[next]) ++next;
      axis = next++;
    }
    return out;
  }

  const RowProgram& program_;
};

/// What earlier stages wrote is read where the same row, or element, was written.
bool reads_own_results(const RowProgram& program, const RowStage& stage) {
  bool fits = true;
  walk(stage.value, [&](const BufferLoad* load) {
    for (const RowStage& other : program.stages) {
      if (!other.target.same_as(load->buffer)) continue;
      for (size_t i = 0; i < load->indices.size(); ++i) fits = fits && are_equal(load->indices[i], other.indices[i]);
    }
  });
  return fits;
}

/// A reduction that streams something: a tensor with an element for each row and element. Of a contraction, all that is read is
/// shared by rows; of windows, elements are shared by neighbours.
bool streams(const RowProgram& program, const RowStage& stage) {
  bool found = false, reads = false;
  walk(stage.value, [&](const BufferLoad* load) {
    std::vector<const Var*> seen;
    bool is_window = false;
    for (const PrimExpr& index : load->indices) {
      auto count = [&](const std::vector<Var>& vars) {
        size_t out = 0;
        for (const Var& var : vars)
          if (uses_var(index, var)) ++out, seen.push_back(&var);
        return out;
      };
      const size_t rows = count(program.rows), elements = count(program.elements);
      is_window = is_window || (rows > 0 && elements > 0);
    }
    auto all = [&](const std::vector<Var>& vars) {
      return std::all_of(vars.begin(), vars.end(),
                         [&](const Var& var) { return std::find(seen.begin(), seen.end(), &var) != seen.end(); });
    };
    reads = true;
    found = found || (!is_window && all(program.rows) && all(program.elements));
  });
  return found || !reads;
}

int64_t known_product(const std::vector<PrimExpr>& extents) {
  int64_t out = 1;
  for (const PrimExpr& extent : extents) {
    if (!as_int(extent)) return -1;
    out *= *as_int(extent);
  }
  return out;
}

void set_axes(const BlockNode* reduction, RowProgram* out) {
  for (const IterVar& axis : reduction->iter_vars) {
    if (is_unit(axis)) continue;
    const bool is_row = axis->iter_type == IterType::DataPar;
    (is_row ? out->rows : out->elements).push_back(make_var(is_row ? "row" : "element", DataType::Int(32)));
    (is_row ? out->row_extents : out->element_extents).push_back(axis->dom->extent);
  }
  out->count = known_product(out->row_extents);
  out->length = known_product(out->element_extents);
}

int64_t power_of_two_from(int64_t least) {
  int64_t out = 1;
  while (out < least) out *= 2;
  return out;
}

/// All that programs read, but for what their own stages wrote, and all that they write for elements.
void each_access(const RowProgram& program, const std::function<void(const Buffer&, const Array<PrimExpr>&)>& act) {
  for (const RowStage& stage : program.stages) {
    walk(stage.value, [&](const BufferLoad* load) {
      const bool is_intermediate =
          std::any_of(program.stages.begin(), program.stages.end(),
                      [&](const RowStage& other) { return other.target.same_as(load->buffer); });
      if (!is_intermediate) act(load->buffer, load->indices);
    });
    if (stage.is_of_elements && !stage.reduced) act(stage.target, stage.indices);
  }
}

/// Neighbours of a row that one access takes in every tensor, and whether neighbouring rows are neighbours in memory instead.
struct Neighbours {
  int64_t lanes = 1;
  bool by_columns = false;
};
Neighbours neighbours_of(const RowProgram& program, const GpuMachine& machine) {
  int64_t lanes = machine->access_bytes, along = 0, across = 0;
  bool is_known = program.length > 0;
  auto look_at = [&](const Buffer& buffer, const Array<PrimExpr>& indices) {
    std::optional<RowAccess> access = row_access(program, buffer, indices);
    const auto step = stride(buffer, indices, program.elements.back());
    const auto row_step = program.rows.empty() ? std::nullopt : stride(buffer, indices, program.rows.back());
    if (step == 1) ++along;
    else if (step != 0 && row_step == 1) ++across;
    if (!access) {  // rows in another order
      is_known = is_known && program.elements.size() == 1 && step == 1;
      lanes = std::min<int64_t>(lanes, machine->access_bytes / buffer->dtype.bytes());
      for (const Var& row : program.rows) {
        const auto along_row = stride(buffer, indices, row);
        while (lanes > 1 && (!along_row || *along_row % lanes != 0)) lanes /= 2;
      }
      const PrimExpr first = arith::Analyzer().simplify(substitute(
          flat_index(indices, buffer->shape), [](const Var& var) { return PrimExpr(make_zero(var->dtype)); }));
      if (const int64_t* base = as_int(first); !base || *base % lanes != 0) lanes = 1;
      return;
    }
    if (access->step != 1) return;
    lanes = std::min<int64_t>(lanes, machine->access_bytes / buffer->dtype.bytes());
    const int64_t* base = as_int(access->base);
    while (lanes > 1 && (access->row_step % lanes != 0 || !base || *base % lanes != 0)) lanes /= 2;
  };
  each_access(program, look_at);
  if (!is_known || along == 0) return {1, across > along};
  while (lanes > 1 && program.length % lanes != 0) lanes /= 2;
  return {lanes, across > along};
}

/// One reduction of everything, and what is computed of its results.
bool may_have_parts(const RowProgram& program) {
  for (size_t i = 0; i < program.stages.size(); ++i)
    if (program.stages[i].reduced.has_value() != (i == 0) || (i > 0 && program.stages[i].is_of_elements)) return false;
  return program.count > 0 && program.length > 0;
}

/// Of rows that are too few for the device.
int32_t parts_of(const RowProgram& program, const RowPlanNode& plan, const GpuMachine& machine) {
  if (!may_have_parts(program) || program.count * program.length < kMinSplitElements) return 1;
  const int64_t blocks = ceil_div(program.count, plan.rows), at_once = int64_t{plan.threads} * plan.lanes * plan.steps;
  const int64_t wanted = 2 * machine->multiprocessors * kThreadsAtOnce / (int64_t{plan.threads} * plan.rows);
  if (blocks * 2 > wanted) return 1;
  return static_cast<int32_t>(
      std::clamp<int64_t>(std::min(wanted / blocks, program.length / (at_once * kMinPartSteps)), 1, kMaxParts));
}

/// Bytes of a row's elements that would be held, by tensors read.
int64_t held_bytes(const RowProgram& program) {
  std::vector<const Object*> seen;
  int64_t out = 0;
  for (const RowStage& stage : program.stages)
    walk(stage.value, [&](const BufferLoad* load) {
      bool varies = false;
      for (const PrimExpr& index : load->indices)
        for (const Var& element : program.elements) varies = varies || uses_var(index, element);
      if (!varies || std::find(seen.begin(), seen.end(), load->buffer.get()) != seen.end()) return;
      seen.push_back(load->buffer.get());
      out += std::max(2, load->dtype.bytes());
    });
  return std::max<int64_t>(out, 2);
}

}  // namespace

std::optional<RowAccess> row_access(const RowProgram& program, const Buffer& buffer, const Array<PrimExpr>& indices) {
  RowAccess out{.flat = as_one_dimension(buffer)};
  if (!out.flat) return std::nullopt;
  arith::Analyzer analyzer;
  const PrimExpr flat = flat_index(indices, buffer->shape);
  PrimExpr rebuilt;
  auto is_axis = [&](const Var& var) {
    auto is_in = [&](const std::vector<Var>& all) {
      return std::any_of(all.begin(), all.end(), [&](const Var& axis) { return axis.same_as(var); });
    };
    return is_in(program.rows) || is_in(program.elements);
  };
  out.base = analyzer.simplify(
      substitute(flat, [&](const Var& var) { return is_axis(var) ? make_zero(var->dtype) : PrimExpr(); }));
  rebuilt = out.base;
  auto steps_of = [&](const std::vector<Var>& vars, const std::vector<PrimExpr>& extents, int64_t* step) {
    int64_t inner = 0;
    for (size_t i = vars.size(); i-- > 0;) {
      auto along = stride(buffer, indices, vars[i]);
      if (!along) return false;
      if (i + 1 == vars.size()) *step = *along;
      else if (*along != inner) return false;
      if (!as_int(extents[i])) return false;
      inner = *along * *as_int(extents[i]);
      rebuilt = rebuilt + cast(flat.dtype(), vars[i]) * make_const(flat.dtype(), *along);
    }
    return true;
  };
  if (!steps_of(program.rows, program.row_extents, &out.row_step) ||
      !steps_of(program.elements, program.element_extents, &out.step) || !analyzer.can_prove_equal(flat, rebuilt))
    return std::nullopt;
  return out;
}

std::optional<RowProgram> as_row_program(const BlockProgram& program) {
  RowProgram out;
  const PrimFunc function = program.function();
  auto is_result = [&](const Buffer& buffer) {
    return std::any_of(function->params.begin(), function->params.end(),
                       [&](const Var& param) { return buffer.same_as(function->buffer_map.get_or_null(param)); });
  };
  for (const schedule::BlockRef& ref : program.stages()) {
    schedule::Cursor cursor = program.state.find(ref);
    if (!is_plain(cursor) || is_scheduled(cursor)) return std::nullopt;
    const BlockNode* block = cursor.block();
    const bool is_reduction = !is_spatial(cursor);
    if (out.stages.empty()) {
      if (!is_reduction) return std::nullopt;
      set_axes(block, &out);
    }
    RowStage stage{.ref = ref, .block = block};
    auto* store = block->body.as<BufferStore>();
    if (is_reduction) {
      std::vector<loops::Accumulated> all = loops::match_accumulation(block);
      if (all.size() != 1 || !loops::begins_with_identity(all[0]) || !all[0].value.as<BinaryNode>())
        return std::nullopt;
      stage.reduced = all[0];
    }
    auto axes = AxisMatcher(out)(block, &stage.is_of_elements);
    if (!axes || (is_reduction && !stage.is_of_elements)) return std::nullopt;
    stage.target = store->buffer;
    stage.is_result = is_result(stage.target);
    if (!is_reduction && !stage.is_result) return std::nullopt;  // others stand in their consumers
    for (const PrimExpr& index : store->indices) stage.indices.push_back(substitute(index, *axes));
    stage.value = substitute(stage.reduced ? stage.reduced->element : store->value, *axes);
    if (is_reduction) {
      // the axes that are reduced come last, in the order of the program's
      size_t element = 0;
      for (const IterVar& axis : block->iter_vars) {
        if (is_unit(axis) || axis->iter_type == IterType::DataPar) continue;
        if (axis->iter_type != IterType::CommReduce || element >= out.elements.size()) return std::nullopt;
        if (!uses_var((*axes)[axis->var], out.elements[element++])) return std::nullopt;
      }
    }
    if (!reads_own_results(out, stage) || (is_reduction && !streams(out, stage))) return std::nullopt;
    out.stages.push_back(std::move(stage));
  }
  if (out.stages.empty() || out.elements.empty()) return std::nullopt;
  return out;
}

int64_t shifted_row_step(const RowProgram& program) {
  int64_t out = -1, bytes = 0;
  each_access(program, [&](const Buffer& buffer, const Array<PrimExpr>& indices) {
    std::optional<RowAccess> access = row_access(program, buffer, indices);
    if (access && access->step == 0) return;  // one for the row
    const bool is_like_others = access && access->step == 1 && is_zero(access->base) &&
                                (out < 0 || (out == access->row_step && bytes == buffer->dtype.bytes()));
    out = is_like_others ? access->row_step : 0;
    bytes = is_like_others ? buffer->dtype.bytes() : -1;
  });
  return std::max<int64_t>(out, 0);
}

/// Lanes of vectors of long rows that begin between them; 1 where they need not, or may not.
int64_t shifted_lanes(const RowProgram& program, const GpuMachine& machine, const Neighbours& neighbours) {
  constexpr int64_t kLongRow = 1024;
  if (neighbours.by_columns || program.length < kLongRow || shifted_row_step(program) == 0) return 1;
  int64_t bytes = 1;
  each_access(program, [&](const Buffer& buffer, const Array<PrimExpr>&) {
    bytes = std::max<int64_t>(bytes, buffer->dtype.bytes());
  });
  const int64_t lanes = machine->access_bytes / bytes;
  return lanes > neighbours.lanes ? lanes : 1;
}

RowPlan plan_rows(const RowProgram& program, const GpuMachine& machine) {
  if (program.length >= 0 && program.length < kMinLength) return nullptr;
  const Neighbours neighbours = neighbours_of(program, machine);
  RowPlanNode out;
  out.by_columns = neighbours.by_columns;
  out.lanes = static_cast<int32_t>(neighbours.by_columns ? 1 : neighbours.lanes);
  const int64_t shifted = shifted_lanes(program, machine, neighbours);
  if (shifted > 1) out.shifts = true, out.lanes = static_cast<int32_t>(shifted);
  const int64_t warp = std::max<int32_t>(machine->warp, 32);
  if (out.by_columns) {
    out.rows = static_cast<int32_t>(std::min<int64_t>(warp, machine->max_threads));
    out.threads = static_cast<int32_t>(std::min<int64_t>(kColumnThreads, machine->max_threads / out.rows));
    out.steps = kStreamSteps;
    out.parts = parts_of(program, out, machine);
    return make(std::move(out));
  }
  int64_t threads = 128, max_threads = machine->max_threads;
  if (program.length > 0) {
    const int64_t vectors = ceil_div(program.length + (out.shifts ? out.lanes - 1 : 0), out.lanes);
    const int64_t held = std::max<int64_t>(1, kHeldElements * 4 / held_bytes(program) / out.lanes);  // steps
    threads = 1;
    while (threads < max_threads && threads < vectors && (threads < warp / 2 || threads * held < vectors)) threads *= 2;
    const int64_t whole = machine->multiprocessors * kThreadsAtOnce;
    while (program.count > 0 && program.count * threads < whole && threads * 4 <= vectors && threads < max_threads)
      threads *= 2;
    int64_t steps = ceil_div(vectors, threads);
    constexpr int64_t kMaxThreads = 1024;
    if (out.shifts && threads == kMaxThreads && steps > held &&
        ceil_div(vectors, threads / 2) * out.lanes * held_bytes(program) <= kHeldByHalf * 4) {
      threads /= 2;
      steps = ceil_div(vectors, threads);
      out.holds_row = true;
    }
    const int64_t most = threads == max_threads ? kHeldAtMost * 4 / held_bytes(program) / out.lanes : held;
    out.holds_row = out.holds_row || steps <= std::max<int64_t>(most, 2);
    out.steps = static_cast<int32_t>(out.holds_row ? steps : kStreamSteps);
  } else {
    out.steps = kStreamSteps;
  }
  if (out.shifts && !out.holds_row) out.shifts = false, out.lanes = 1;
  out.threads = static_cast<int32_t>(std::min(threads, max_threads));
  out.rows = static_cast<int32_t>(std::max<int64_t>(1, std::min(kBlockThreads, max_threads) / out.threads));
  if (program.count > 0) out.rows = static_cast<int32_t>(std::min<int64_t>(out.rows, power_of_two_from(program.count)));
  RowPlanNode in_parts = out;
  in_parts.threads = static_cast<int32_t>(std::min<int64_t>(256, max_threads));
  in_parts.rows = 1;
  in_parts.steps = kStreamSteps;
  in_parts.holds_row = in_parts.shifts = false;
  in_parts.lanes = static_cast<int32_t>(neighbours.lanes);
  in_parts.parts = parts_of(program, in_parts, machine);
  return make(std::move(in_parts.parts > 1 ? in_parts : out));
}

void check_row_plan(const RowProgram& program, const RowPlan& plan, const GpuMachine& machine) {
  auto is_power_of_two = [](int64_t n) { return n > 0 && (n & (n - 1)) == 0; };
  const bool has_sizes = is_power_of_two(plan->threads) && plan->rows > 0 && plan->lanes > 0 && plan->steps > 0 &&
                         plan->steps <= 256 && int64_t{plan->threads} * plan->rows <= machine->max_threads;
  const Neighbours neighbours = neighbours_of(program, machine);
  const bool has_lanes = plan->shifts ? plan->holds_row && plan->lanes == shifted_lanes(program, machine, neighbours)
                                      : plan->lanes == 1 || (is_power_of_two(plan->lanes) && program.length > 0 &&
                                                             neighbours.lanes % plan->lanes == 0);
  const bool is_held =
      !plan->holds_row || (program.length > 0 && int64_t{plan->threads} * plan->lanes * plan->steps >=
                                                     program.length + (plan->shifts ? plan->lanes - 1 : 0));
  const bool has_parts =
      plan->parts == 1 || (plan->parts > 1 && plan->parts <= 65535 && !plan->holds_row && may_have_parts(program));
  if (!has_sizes || !has_lanes || !is_held || !has_parts)
    throw Error(ScheduleError)
        << "the plan of a kernel of rows does not fit it: threads are a power of two, a block has at "
        << "most " << machine->max_threads << ", lanes divide what lies together, and the steps of a "
        << "row that is held are all of it; only rows of a single reduction have parts";
}

}  // namespace tessera::topi

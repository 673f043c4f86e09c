#include "topi/cpu/contraction/attention.h"

#include <algorithm>
#include <cmath>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "te/reduce.h"
#include "te/tensorize.h"
#include "topi/cpu/contraction/micro_kernel.h"
#include "topi/cpu/contraction/tile_plan.h"
#include "topi/cpu/number.h"
#include "topi/cpu/rows.h"
#include "topi/cpu/transpose_kernel.h"
#include "topi/te/schedule.h"

namespace tessera::topi {
namespace {

register_types<AttentionPlanNode> types;

/// Of L2, for a block of scores.
constexpr int64_t kScoresShare = 4;
constexpr int64_t kMaxVectors = 4;  // of a tile

/// The stages of one matmul are marked by its prefix: "scores" or "values".
std::string tag(const char* matmul, const char* stage) { return std::string("attention_") + matmul + "_" + stage; }

PrimExpr filled_up(const PrimExpr& value, const PrimExpr& index, int64_t limit, int64_t end) {
  return end > limit ? if_then_else(index < number(limit), value, make_zero(value.dtype())) : value;
}

te::Tensor tiled_matmul(const te::Tensor& a, const te::Tensor& b, const MatmulOptions& options, const char* name,
                        int64_t mr, int64_t nr, bool transposes) {
  const int64_t batch = *as_int(a->shape[0]), m = *as_int(a->shape[options.transpose_a ? 2 : 1]);
  const int64_t depth = *as_int(a->shape[options.transpose_a ? 1 : 2]);
  const int64_t n = *as_int(b->shape[options.transpose_b ? 1 : 2]);
  const int64_t rows = ceil_div(m, mr), columns = ceil_div(n, nr);
  te::Tensor left = te::compute(
      {number(batch), number(rows), number(mr), number(depth)},
      [&](const Array<PrimExpr>& at) {
        PrimExpr i = at[1] * number(mr) + at[2];
        Array<PrimExpr> index{at[0], options.transpose_a ? at[3] : i, options.transpose_a ? i : at[3]};
        return filled_up(te::load(a, index), i, m, rows * mr);
      },
      "rows", tag(name, "rows"));
  auto column = [&](const PrimExpr& lead, const PrimExpr& k, const PrimExpr& j) {
    Array<PrimExpr> index{lead, options.transpose_b ? j : k, options.transpose_b ? k : j};
    return filled_up(te::load(b, index), j, n, columns * nr);
  };
  te::Tensor copy;  // by columns, whose squares are transposed
  if (transposes)
    copy = te::compute(
        {number(batch), number(columns * nr), number(depth)},
        [&](const Array<PrimExpr>& at) { return column(at[0], at[2], at[1]); }, "copy", tag(name, "copy"));
  te::Tensor right = te::compute(
      {number(batch), number(columns), number(depth), number(nr)},
      [&](const Array<PrimExpr>& at) {
        PrimExpr j = at[1] * number(nr) + at[3];
        return transposes ? te::load(copy, {at[0], j, at[2]}) : column(at[0], at[2], j);
      },
      "columns", tag(name, "columns"));
  IterVar k = te::reduce_axis(make_range(0, number(depth)), "k");
  te::Tensor tile = te::compute(
      {number(batch), number(rows), number(columns), number(mr), number(nr)},
      [&](const Array<PrimExpr>& at) {
        return te::sum(te::load(left, {at[0], at[1], at[3], k->var}) * te::load(right, {at[0], at[2], k->var, at[4]}),
                       {k});
      },
      "tile", tag(name, "tile"));
  Array<IterVar> axes;
  Array<PrimExpr> at;
  for (int64_t extent : {batch, m, n}) {
    Var var = make_var("i" + std::to_string(axes.size()), DataType::Int(32));
    axes.push_back(make_iter_var(make_range(0, number(extent)), var, IterType::DataPar));
    at.push_back(var);
  }
  PrimExpr io = floordiv(at[1], number(mr)), ii = floormod(at[1], number(mr)), jo = floordiv(at[2], number(nr));
  PrimExpr value = te::load(tile, {at[0], io, jo, ii, floormod(at[2], number(nr))});
  if (nr > n)  // narrower than a tile: the branch that is never taken reads all of it
    value = if_then_else(at[2] < number(n), value, te::load(tile, {at[0], io, jo, ii, number(nr - 1)}));
  return te::output(te::compute_op("product", tag(name, "product"), {}, axes, {value}), 0);
}

// ---- schedule -------------------------------------------------------------------------------------------------------

/// Of one matmul.
struct MatmulStages {
  te::Stage rows, copy, columns, tile, result;  // `copy` may be missing
};

MatmulStages find_matmul(const te::Schedule& sch, const char* name) {
  MatmulStages out;
  for (const te::Stage& stage : sch->stages) {
    if (stage->op->tag == tag(name, "rows")) out.rows = stage;
    else if (stage->op->tag == tag(name, "copy")) out.copy = stage;
    else if (stage->op->tag == tag(name, "columns")) out.columns = stage;
    else if (stage->op->tag == tag(name, "tile")) out.tile = stage;
    else if (stage->op->tag == tag(name, "product")) out.result = stage;
  }
  ICHECK(out.rows && out.columns && out.tile && out.result) << "a schedule of attention needs both matmuls";
  return out;
}

const te::ComputeOp* compute_of(const te::Stage& stage) { return stage->op.as<te::ComputeOp>(); }

/// The element of `wanted` that element `at` of `op` is made of; empty where it is made of none.
Array<PrimExpr> element_read(const te::ComputeOp* op, const Array<PrimExpr>& at, const te::OperationNode* wanted) {
  if (op == wanted) return at;
  Array<PrimExpr> found;
  if (!op->reduce_axis.empty() || op->body.size() != 1) return found;
  Map<Var, PrimExpr> values;
  for (size_t i = 0; i < at.size(); ++i) values.set(op->axis[i]->var, at[i]);
  walk(substitute(op->body[0], values), [&](const ProducerLoad* load) {
    auto* producer = load->producer.as<te::TensorNode>();
    auto* below = producer ? producer->op.as<te::ComputeOp>() : nullptr;
    if (below && found.empty()) found = element_read(below, load->indices, wanted);
  });
  return found;
}

/// The axes of the last stage that are a row and a column of the second matmul; the others are its leading dimension.
struct Axes {
  IterVar row, column;
  Array<IterVar> lead;
};

Axes find_axes(const te::ComputeOp* last, const te::OperationNode* matmul) {
  Array<PrimExpr> at;
  arith::Analyzer analyzer;
  for (const IterVar& axis : last->axis) {
    at.push_back(axis->var);
    if (!is_one(axis->dom->extent)) analyzer.bind(axis->var, axis->dom);  // a single row keeps its name
  }
  Array<PrimExpr> read = element_read(last, at, matmul);
  Axes out;
  if (read.size() != 3) return out;
  PrimExpr row = analyzer.simplify(read[1]), column = analyzer.simplify(read[2]);
  for (const IterVar& axis : last->axis) {
    if (row.same_as(axis->var)) out.row = axis;
    else if (column.same_as(axis->var)) out.column = axis;
    else out.lead.push_back(axis);
  }
  return out;
}

void vectorize_last(const te::Stage& stage, int64_t lanes) {
  vectorize_row(stage, compute_of(stage)->axis.back(), lanes);
}

/// Panels of columns, for all of a task. Where they are transposed, one panel after the other is copied first.
void schedule_columns(const MatmulStages& matmul, int64_t lanes, bool interleaves, const te::Stage& last,
                      const IterVar& task) {
  te::compute_at(matmul.columns, last, task);
  if (!matmul.copy) return vectorize_last(matmul.columns, lanes);
  const Array<IterVar> axes = compute_of(matmul.columns)->axis;
  auto [outer_k, k] = te::split(matmul.columns, axes[2], number(lanes), PrimExpr());
  auto [outer_j, j] = te::split(matmul.columns, axes[3], number(lanes), PrimExpr());
  te::reorder(matmul.columns, {axes[0], axes[1], outer_j, outer_k, k, j});
  te::tensorize(matmul.columns, k,
                transpose_intrin(te::output(matmul.columns->op, 0)->dtype, static_cast<int>(lanes), interleaves));
  te::compute_at(matmul.copy, matmul.columns, axes[1]);
  vectorize_last(matmul.copy, lanes);
}

/// A tile after the other, columns outside, so that a panel of them serves all rows of the block.
void schedule_tiles(const te::Stage& tile, const Machine& machine, const te::Stage& last, const IterVar& block) {
  auto* op = compute_of(tile);
  const Array<IterVar>& axes = op->axis;
  te::compute_at(tile, last, block);
  te::reorder(tile, {axes[0], axes[2], axes[1], axes[3], axes[4], op->reduce_axis[0]});
  auto extent = [](const IterVar& axis) { return static_cast<int>(*as_int(axis->dom->extent)); };
  MicroKernel kernel = micro_kernel(machine->isa, te::output(tile->op, 0)->dtype, extent(axes[3]), extent(axes[4]),
                                    extent(op->reduce_axis[0]));
  te::tensorize(tile, axes[3], te_intrin(kernel));
}

}  // namespace

AttentionPlan plan_attention(const Machine& machine, const AttentionSize& size, DataType dtype) {
  const Isa& isa = find_isa(machine->isa.str());
  const int64_t lanes = isa.vector_bytes / dtype.bytes();
  AttentionPlanNode out;
  out.lanes = static_cast<int32_t>(lanes);
  auto matmul_of = [&](int64_t columns, int64_t depth) {
    TileSpace space{.rows = {{size.rows}, Cover::Filled}, .vectors = {{columns}, Cover::Filled, lanes}};
    space.tile_cost = [&machine, depth](const RegisterTile& tile) {
      return step_cost(machine, tile) * static_cast<double>(depth);
    };
    return space;
  };
  // Both matmuls have tiles of as many rows.
  const TileSpace scores = matmul_of(size.columns, size.depth), values = matmul_of(size.width, size.columns);
  Cheapest cheapest;
  for (int64_t wide = 1; wide <= kMaxVectors; ++wide)
    for (int64_t value_wide = 1; value_wide <= kMaxVectors; ++value_wide) {
      const int64_t most = std::min(max_tile_rows(std::max(wide, value_wide), isa.registers), size.rows);
      for (int64_t rows = 1; rows <= most; ++rows) {
        if (!cheapest.is_better(scores.cost({rows, wide}) + values.cost({rows, value_wide}))) continue;
        out.rows = static_cast<int32_t>(rows);
        out.vectors = static_cast<int32_t>(wide);
        out.value_vectors = static_cast<int32_t>(value_wide);
      }
    }
  const int64_t panel = out.vectors * lanes;
  const int64_t row_bytes = (ceil_div(size.columns, panel) * panel * 2 + size.depth) * dtype.bytes();
  const int64_t tiles = ceil_div(size.rows, out.rows);
  int64_t together = std::clamp<int64_t>(machine->l2_bytes / kScoresShare / (row_bytes * out.rows), 1, tiles);
  // Tasks: a few for each core. Each packs the columns that it needs, all of them.
  const int64_t wanted = size.batch >= machine->cores ? 1 : ceil_div(2 * machine->cores, size.batch);
  const int64_t parts = std::min(tiles, wanted), part_tiles = ceil_div(tiles, parts);
  together = std::min(together, part_tiles);
  together = ceil_div(part_tiles, ceil_div(part_tiles, together));
  out.block_rows = static_cast<int32_t>(together);
  out.task_blocks = static_cast<int32_t>(ceil_div(part_tiles, together));
  return make(std::move(out));
}

void check_attention(const AttentionPlan& plan, const Machine& machine, DataType dtype) {
  const Isa& isa = find_isa(machine->isa.str());
  auto require = [](bool holds, const char* what) {
    if (!holds) throw Error(ScheduleError) << "the plan of attention does not fit it: " << what;
  };
  require(plan->lanes == isa.vector_bytes / dtype.bytes(), "lanes are those of a vector");
  require(std::min({plan->rows, plan->vectors, plan->value_vectors, plan->block_rows, plan->task_blocks}) >= 1,
          "all sizes are at least 1");
  require(outer_registers({plan->rows, std::max(plan->vectors, plan->value_vectors)}) <= isa.registers,
          "its tile has more sums than there are registers");
}

te::Tensor attention_scores(const te::Tensor& a, const te::Tensor& b, const MatmulOptions& options,
                            const AttentionPlan& plan) {
  // The elements of a key lie together, those of a panel's row come from as many keys.
  const int64_t depth = *as_int(a->shape[options.transpose_a ? 1 : 2]);
  return tiled_matmul(a, b, options, "scores", plan->rows, int64_t{plan->vectors} * plan->lanes,
                      depth % plan->lanes == 0);
}

te::Tensor attention_values(const te::Tensor& a, const te::Tensor& b, const MatmulOptions& options,
                            const AttentionPlan& plan) {
  return tiled_matmul(a, b, options, "values", plan->rows, int64_t{plan->value_vectors} * plan->lanes, false);
}

te::Tensor view_by_dimensions(const te::Tensor& x, const Array<PrimExpr>& shape) {
  return te::compute(
      shape,
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> indices;
        size_t in = 0, out = 0;
        while (in < x->shape.size() || out < shape.size()) {
          std::vector<int64_t> from, to;
          int64_t have = 1, want = 1;
          PrimExpr flat = PrimExpr(0);
          auto take_in = [&] {
            from.push_back(*as_int(x->shape[in++]));
            have *= from.back();
          };
          auto take_out = [&] {
            to.push_back(*as_int(shape[out]));
            want *= to.back();
            flat = to.size() == 1 ? at[out] : flat * number(to.back()) + at[out];
            ++out;
          };
          // Dimensions of one element stay out of groups: what they are divided by could not be told from the rows of a block.
          if (in < x->shape.size() && is_one(x->shape[in])) {
            indices.push_back(PrimExpr(0));
            ++in;
            continue;
          }
          if (out < shape.size() && is_one(shape[out])) {
            ++out;
            continue;
          }
          if (in < x->shape.size()) take_in();
          if (out < shape.size()) take_out();
          while (have != want) have < want ? take_in() : take_out();
          if (from.size() == 1) {
            indices.push_back(flat);
            continue;
          }
          int64_t below = have;
          for (size_t i = 0; i < from.size(); ++i) {
            below /= from[i];
            PrimExpr digit = below > 1 ? floordiv(flat, number(below)) : flat;
            indices.push_back(i > 0 ? floormod(digit, number(from[i])) : digit);
          }
        }
        return te::load(x, indices);
      },
      "view", "injective");
}

te::Schedule schedule_attention(const Array<te::Tensor>& outs, const AttentionPlan& plan, const Target& target) {
  Machine machine = machine_of(target);
  te::Schedule sch = schedule_inlined(outs);
  MatmulStages scores = find_matmul(sch, "scores"), values = find_matmul(sch, "values");
  const int64_t lanes = plan->lanes, block_rows = int64_t{plan->block_rows} * plan->rows;

  // The stage that is written last: rows and columns have to be axes of it.
  te::Stage last = te::stage_of(sch, outs[0]->op);
  Axes axes = find_axes(compute_of(last), values.result->op.get());
  if (!axes.row || !axes.column) {
    schedule_stage_cpu(last);
    te::compute_root(values.result);
    last = values.result;
    axes = find_axes(compute_of(last), values.result->op.get());
  }
  auto [part, rest] = te::split(last, axes.row, number(plan->task_blocks * block_rows), PrimExpr());
  auto [block, row] = te::split(last, rest, number(block_rows), PrimExpr());
  auto [column, vector] = te::split(last, axes.column, number(lanes), PrimExpr());
  Array<IterVar> order = axes.lead;
  order.push_back(part);
  Array<IterVar> tasks = order;
  for (const IterVar& axis : {block, row, column, vector}) order.push_back(axis);
  te::reorder(last, order);
  te::set_loop_kind(last, vector, IterType::Vectorized);
  IterVar task = te::fuse(last, tasks);
  te::set_loop_kind(last, task, IterType::Parallelized);

  for (const MatmulStages& matmul : {scores, values}) {
    schedule_columns(matmul, lanes, interleaves_vectors(machine), last, task);
    te::compute_at(matmul.rows, last, block);
    vectorize_last(matmul.rows, lanes);
    schedule_tiles(matmul.tile, machine, last, block);
  }
  attach_rows(sch, values.rows, compute_of(values.rows)->axis[2], target);
  return sch;
}

}  // namespace tessera::topi

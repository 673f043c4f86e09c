// The TE schedule of matmuls in panels; gemm_tiles.h shows its loops.

#include <tuple>

#include "ir/prim/ops.h"
#include "ir/structural/equal.h"
#include "runtime/registry.h"
#include "te/tensor.h"
#include "te/tensorize.h"
#include "topi/cpu/contraction/gemm.h"
#include "topi/cpu/contraction/micro_kernel.h"
#include "topi/te_schedule.h"

namespace tessera::topi {
namespace {

PrimExpr number(int64_t value) { return PrimExpr(static_cast<int>(value)); }

/// The stages that `gemm` made.
struct Stages {
  te::Stage rows, tile, product;
};

Stages find_stages(const te::Schedule& sch) {
  Stages out;
  for (const te::Stage& stage : sch->stages) {
    auto* op = stage->op.as<te::ComputeOp>();
    if (!op) continue;
    if (op->tag == "gemm_rows") out.rows = stage;
    else if (op->tag == "gemm_tile") out.tile = stage;
    else if (op->tag == "gemm") out.product = stage;
  }
  ICHECK(out.rows && out.tile && out.product) << "the schedule of a matmul needs one that gemm() made";
  return out;
}

bool same_shape(const te::Stage& a, const te::Stage& b) {
  Array<IterVar> left = a->op.as<te::ComputeOp>()->axis, right = b->op.as<te::ComputeOp>()->axis;
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    const PrimExpr &x = left[i]->dom->extent, &y = right[i]->dom->extent;
    const bool are_numbers = as_int(x) && as_int(y);
    if (are_numbers ? *as_int(x) != *as_int(y) : !structural_equal(x, y)) return false;
  }
  return true;
}

/// The stage whose loops are cut into blocks: what follows the product, where it is one tensor of the same shape (of
/// operators that follow element by element); else the product itself.
te::Stage last_stage(const te::Schedule& sch, const Stages& stages, const Array<te::Tensor>& outs) {
  if (outs.size() == 1) {
    te::Stage out = te::stage_of(sch, outs[0]->op);
    if (out->op.as<te::ComputeOp>() && out->op.as<te::ComputeOp>()->reduce_axis.empty() &&
        same_shape(out, stages.product))
      return out;
  }
  te::compute_root(stages.product);
  return stages.product;
}

/// A part for each thread, then blocks of mc x nc, which are copied out of the tiles by vectors; the loop over blocks.
IterVar cut_result(const te::Stage& stage, const GemmTiles& t, size_t row, int lanes) {
  Array<IterVar> axes = stage->op.as<te::ComputeOp>()->axis, order;
  for (size_t i = 0; i + 1 < axes.size(); ++i)
    if (i != row) order.push_back(axes[i]);
  auto cut = [&](const IterVar& axis, int64_t size) { return te::split(stage, axis, number(size), PrimExpr()); };
  auto [part_i, rest_i] = cut(axes[row], t->part_m);
  const bool is_dynamic = !as_int(axes[row]->dom->extent);  // then all rows pass by a part of the columns
  const int64_t* columns = as_int(axes.back()->dom->extent);
  const bool is_one_part =
      is_dynamic && columns && *columns <= t->part_n;  // behind a dynamic extent it would not be seen
  IterVar part_j, rest_j = axes.back();
  if (!is_one_part) std::tie(part_j, rest_j) = cut(rest_j, t->part_n);
  auto [block_i, i] = cut(rest_i, t->mc);
  auto [block_j, inner_j] = cut(rest_j, t->nc);
  auto [j, vector] = cut(inner_j, lanes);
  for (const IterVar& axis : {is_dynamic ? part_j : part_i, is_dynamic ? part_i : part_j})
    if (axis) order.push_back(axis);
  Array<IterVar> parts = order;
  for (const IterVar& axis : {block_j, block_i, i, j, vector}) order.push_back(axis);
  te::reorder(stage, order);
  te::set_loop_kind(stage, vector, IterType::Vectorized);
  te::set_loop_kind(stage, te::fuse(stage, parts), IterType::Parallelized);
  return block_i;
}

void vectorize_last(const te::Stage& stage, int lanes) {
  auto [rest, vector] = te::split(stage, stage->op.as<te::ComputeOp>()->axis.back(), number(lanes), PrimExpr());
  te::set_loop_kind(stage, vector, IterType::Vectorized);
}

/// The panel of weights after the one that tiles of rows share; where too few tiles are there to fetch it, a line with each
/// step, what comes soon. None where weights stay in the second-level cache, or pass by once: that is foreseen.
NextPanel next_panel(const Stages& stages, const GemmTiles& t, const MicroKernel& kernel, const Machine& machine) {
  constexpr int64_t kLine = 64, kSoon = 4096;
  const te::Tensor b = te::input_tensors(stages.tile->op.get())[1];
  int64_t size = 1;
  for (const PrimExpr& extent : b->shape) size *= *as_int(extent);
  const int64_t tiles = t->mc / t->mr, lines = kernel->nr * kernel->group * b->dtype.bytes() / kLine;
  if (size * b->dtype.bytes() <= machine->l2_bytes || size > INT32_MAX / 2) return {};
  if (tiles == 1 && lines > 1) return {};
  if (tiles < lines) return {.distance = kSoon / b->dtype.bytes(), .size = size, .tiles = 1};
  return {.distance = size / *as_int(b->shape[0]), .size = size, .tiles = tiles};
}

}  // namespace

te::Schedule schedule_gemm(const Array<te::Tensor>& outs, const Target& target) {
  Machine machine = machine_of(target);
  te::Schedule sch = schedule_inlined(outs);
  Stages stages = find_stages(sch);
  auto t = downcast<GemmTiles>(stages.product->op->attrs["gemm_tiles"]);
  const DataType dtype = te::output(stages.rows->op, 0)->dtype;
  const DataType weight = te::input_tensors(stages.tile->op.get())[1]->dtype;
  MicroKernel kernel = micro_kernel(matmul_isa(machine, dtype).name, dtype, t->mr, t->nr, t->kc, weight);
  te::Stage last = last_stage(sch, stages, outs);
  const int64_t row = *as_int(downcast<PrimExpr>(stages.product->op->attrs["gemm_row_axis"]));
  IterVar block = cut_result(last, t, static_cast<size_t>(row), kernel->lanes);

  // k in steps of kc outside, so that a panel of b serves all rows of the block
  te::compute_at(stages.tile, last, block);
  auto* tile = stages.tile->op.as<te::ComputeOp>();
  Array<IterVar> axes = tile->axis, order(axes.begin(), axes.end() - 4);
  const size_t first = axes.size() - 4;
  auto [outer_k, inner_k] = te::split(stages.tile, tile->reduce_axis[0], number(t->kc), PrimExpr());
  const Array<IterVar> steps{outer_k, axes[first + 1], axes[first], axes[first + 2], axes[first + 3], inner_k};
  for (const IterVar& axis : steps) order.push_back(axis);
  te::reorder(stages.tile, order);
  te::tensorize(stages.tile, axes[first + 2], te_intrin(kernel, next_panel(stages, t, kernel, machine)));

  te::compute_at(stages.rows, stages.tile, outer_k);
  vectorize_last(stages.rows, kernel->lanes);
  for (const te::Stage& stage : sch->stages)  // what could not be part of the copy
    if (stage->is_output && !stage.same_as(last)) schedule_stage_cpu(stage);
  return sch;
}

static Globals globals{{"topi.cpu.schedule_gemm", schedule_gemm}};

}  // namespace tessera::topi

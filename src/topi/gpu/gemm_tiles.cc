#include "topi/gpu/gemm_tiles.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "topi/cpu/machine.h"
#include "topi/gpu/matrix_unit.h"
#include "topi/gpu/nest.h"

namespace tessera::topi {
namespace {

constexpr int64_t kBankGroup = 8;  // chunks of 16 bytes that all banks hold
constexpr int64_t kStaticBytes = 48 << 10;
constexpr int64_t kTurnedSteps = 8;  // along k, that neighbouring threads copy of a tile that is turned

Stmt intrinsic(const char* name, Array<PrimExpr> args) {
  return evaluate(make_call(DataType::Int(32), name, std::move(args)));
}

using Numbers = Map<Var, PrimExpr>;

void set_digits(const GemmAxes& axes, const PrimExpr& index, Numbers* at) {
  std::vector<PrimExpr> digits = digits_of(index, axes.extents);
  for (size_t i = 0; i < digits.size(); ++i) at->set(axes.vars[i], cast(axes.vars[i]->dtype, digits[i]));
}

/// The number as that of the last axis: right for what is linear in it.
void set_linear(const GemmAxes& axes, const PrimExpr& index, Numbers* at) {
  for (size_t i = 0; i < axes.vars.size(); ++i) {
    const DataType dtype = axes.vars[i]->dtype;
    at->set(axes.vars[i], i + 1 == axes.vars.size() ? cast(dtype, index) : make_zero(dtype));
  }
}

/// Which element a row is takes divisions.
bool has_row_digits(const GemmOperand& operand, const GemmAxes& axes) {
  return axes.vars.size() > 1 && !operand.is_linear_in_row;
}
/// Lines of a thread's copies differ in their row.
bool needs_row_digits(const SharedTile& tile) { return tile.along_k && has_row_digits(*tile.operand, *tile.axes); }

SharedTile shared_tile(const GemmOperand& operand, const GemmAxes& axes, int64_t rows, int64_t lanes,
                       const GemmPlan& plan) {
  SharedTile out{.operand = &operand, .axes = &axes, .dtype = operand.dtype, .rows = rows, .depth = plan->tile_k};
  out.lanes = lanes;
  out.is_turned = turns(operand, axes, plan);
  out.along_k = operand.lies_along_k() && !out.is_turned;
  out.has_chunks = plan->by_matrix_units;
  return out;
}

}  // namespace

bool turns(const GemmOperand& operand, const GemmAxes& rows, const GemmPlan& plan) {
  return plan->turns && operand.lies_along_k() && !has_row_digits(operand, rows);
}

int64_t SharedTile::pitch() const {
  if (has_chunks) return line();
  const int64_t in_chunk = std::max<int64_t>(1, kChunkBytes / dtype.bytes());
  return line() + (along_k || is_turned ? in_chunk : 0);
}

int64_t SharedTile::chunk_period() const { return std::min(kBankGroup, line() * dtype.bytes() / kChunkBytes); }

PrimExpr SharedTile::at(const PrimExpr& of_line, const PrimExpr& offset) const {
  const PrimExpr start = number(first) + of_line * number(pitch());
  if (!has_chunks) return start + offset;
  const int64_t period = chunk_period(), in_chunk = kChunkBytes / dtype.bytes();
  // lines that fill the banks together are exchanged alike
  const PrimExpr exchanged = floormod(floordiv(of_line, number(kBankGroup / period)), number(period));
  return start + (floordiv(offset, number(in_chunk)) ^ exchanged) * number(in_chunk) +
         floormod(offset, number(in_chunk));
}

SharedTile tile_of_a(const GpuContraction& contraction, const GemmPlan& plan) {
  return shared_tile(contraction.a, contraction.m, plan->tile_m, plan->a_lanes, plan);
}

SharedTile tile_of_b(const GpuContraction& contraction, const GemmPlan& plan) {
  SharedTile out = shared_tile(contraction.b, contraction.n, plan->tile_n, plan->b_lanes, plan);
  out.first = tile_of_a(contraction, plan).elements();
  return out;
}

SharedStages::SharedStages(const GpuContraction& contraction, const GemmPlan& plan)
    : a(tile_of_a(contraction, plan)), b(tile_of_b(contraction, plan)), contraction_(contraction), plan_(plan) {
  const int64_t elements = stage_elements() * plan->stages;
  const bool is_dynamic = gemm_shared_bytes(contraction, plan) > kStaticBytes;
  memory = memory_of("tiles", a.dtype, elements, is_dynamic ? "shared.dyn" : "shared");
  for (SharedTile* tile : {&a, &b})
    if (needs_row_digits(*tile))
      tile->row_digits = memory_of("digits", DataType::Int(32),
                                   copies_of(*tile) * static_cast<int64_t>(tile->axes->vars.size()), "local");
}

std::vector<Buffer> SharedStages::buffers() const {
  std::vector<Buffer> out{memory};
  for (const SharedTile* tile : {&a, &b})
    if (tile->row_digits) out.push_back(tile->row_digits);
  return out;
}

int64_t SharedStages::copies_of(const SharedTile& tile) const {
  return ceil_div(tile.lines() * (tile.line() / tile.lanes), plan_->threads());
}

Stmt SharedStages::prepare(const PrimExpr& thread, const PrimExpr& row, const PrimExpr& column) const {
  return sequence({prepare_tile(a, thread, row), prepare_tile(b, thread, column)});
}

Stmt SharedStages::prepare_tile(const SharedTile& tile, const PrimExpr& thread, const PrimExpr& row) const {
  if (!tile.row_digits) return make_nop();
  const int64_t in_line = tile.line() / tile.lanes, axes = static_cast<int64_t>(tile.axes->vars.size());
  return unrolled_loop("access", copies_of(tile), [&](const PrimExpr& i) {
    const PrimExpr line = floordiv(i * number(plan_->threads()) + thread, number(in_line));
    std::vector<PrimExpr> digits = digits_of(row + line, tile.axes->extents);
    std::vector<Stmt> stores;
    for (int64_t d = 0; d < axes; ++d)
      stores.push_back(store_to(tile.row_digits, i * number(axes) + number(d), digits[static_cast<size_t>(d)]));
    return sequence(stores);
  });
}

PrimExpr SharedStages::tiles_along_k() const {
  return floordiv(contraction_.k.extent() + number(plan_->tile_k - 1), number(plan_->tile_k * plan_->parts));
}

Stmt SharedStages::copy(const TilePosition& position, const PrimExpr& tile_k, const PrimExpr& start, Part part) const {
  const PrimExpr first_k = (first_tile + tile_k) * number(plan_->tile_k);
  const int64_t of_a = copies_of(a), from = part.part * copies() / part.parts,
                to = (part.part + 1) * copies() / part.parts;
  return sequence({copy_tile(a, position, position.row, first_k, start, std::min(from, of_a), std::min(to, of_a)),
                   copy_tile(b, position, position.column, first_k, start, std::max(from - of_a, int64_t{0}),
                             std::max(to - of_a, int64_t{0}))});
}

Stmt SharedStages::copy_tile(const SharedTile& tile, const TilePosition& position, const PrimExpr& row,
                             const PrimExpr& first_k, const PrimExpr& start, int64_t from, int64_t to) const {
  const int64_t threads = plan_->threads(), lanes = tile.lanes, in_line = tile.line() / lanes;
  const int64_t accesses = tile.lines() * in_line;
  const GemmOperand& operand = *tile.operand;
  auto access = [&](const PrimExpr& i, const PrimExpr& number_of) {
    PrimExpr line = floordiv(number_of, number(in_line)), offset = floormod(number_of, number(in_line)) * number(lanes);
    if (tile.is_turned) {  // neighbouring threads read neighbours along k, and write to different banks
      const int64_t steps = tile.depth % kTurnedSteps == 0 ? kTurnedSteps : 1;
      const PrimExpr part = floordiv(number_of, number(steps));
      line = floordiv(part, number(tile.rows)) * number(steps) + floormod(number_of, number(steps));
      offset = floormod(part, number(tile.rows));
    }
    const PrimExpr my_row = row + (tile.along_k ? line : offset), k = first_k + (tile.along_k ? offset : line);
    const PrimExpr rows = tile.axes->extent(), depth = contraction_.k.extent();
    PrimExpr is_inside = bool_imm(true);
    if (last_tile(contraction_, plan_, &tile == &b).is_guarded) is_inside = my_row < rows;
    if (contraction_.k.known < 0 || contraction_.k.known % tile.depth != 0)
      is_inside = logical_and(is_inside, k < depth);
    Numbers at;
    const bool is_flat = operand.flat && (lanes > 1 || plan_->copies_async);
    set_digits(contraction_.batch, position.batch, &at);
    if (is_flat && operand.is_linear_in_k) set_linear(contraction_.k, k, &at);
    else set_digits(contraction_.k, k, &at);
    if (is_flat && operand.is_linear_in_row) set_linear(*tile.axes, my_row, &at);
    else set_digits(*tile.axes, my_row, &at);
    const size_t axes = tile.axes->vars.size();
    for (size_t d = 0; tile.row_digits && d < axes; ++d) {
      const PrimExpr digit = i * number(static_cast<int64_t>(axes)) + number(static_cast<int64_t>(d));
      at.set(tile.axes->vars[d], cast(tile.axes->vars[d]->dtype, make_load(tile.row_digits, {digit})));
    }
    const PrimExpr to = start + tile.at(line, offset);
    if (plan_->copies_async && lanes * tile.dtype.bytes() >= 4) {
      const PrimExpr from = cast(DataType::Int(32), substitute(tile.operand->index, at));
      const PrimExpr holds = logical_and(is_inside, substitute(tile.operand->condition, at));
      Array<PrimExpr> args{memory->data, to, tile.operand->flat->data, from, number(lanes * tile.dtype.bytes())};
      if (!is_one(holds)) args.push_back(holds);
      return intrinsic("tir.ptx_cp_async", args);
    }
    return each_lane(lanes, [&](const PrimExpr& lane) {
      PrimExpr value;
      if (lanes > 1) {  // neighbours of a whole tensor
        PrimExpr from = cast(DataType::Int(32), substitute(tile.operand->index, at)) + lane;
        value = make_load(tile.operand->flat, {from});
        is_inside = logical_and(is_inside, substitute(tile.operand->condition, at));
      } else {
        value = substitute(tile.operand->value, at);
      }
      if (!is_one(is_inside)) value = if_then_else(is_inside, value, make_zero(tile.dtype));
      return store_to(memory, to + lane, value);
    });
  };
  if (from == to) return make_nop();
  return unrolled_loop("access", to - from, [&](const PrimExpr& of_part) {
    const PrimExpr i = of_part + number(from), number_of = i * number(threads) + position.thread;
    return guarded(accesses % threads == 0 ? PrimExpr(bool_imm(true)) : number_of < number(accesses),
                   access(i, number_of));
  });
}

Stmt at_gemm_tile(const PrimExpr& index, const PrimExpr& down, const PrimExpr& across, int64_t group, bool has_batch,
                  const std::function<Stmt(const PrimExpr&, const PrimExpr&, const PrimExpr&)>& body) {
  const PrimExpr batch = has_batch ? floordiv(index, down * across) : number(0);
  const PrimExpr tile = has_batch ? floormod(index, down * across) : index;
  // groups of tiles along m: what they read of B is in the cache
  const PrimExpr in_group = across * number(group), first = floordiv(tile, in_group) * number(group);
  const PrimExpr rows = min(down - first, number(group)), rest = floormod(tile, in_group);
  const Var row = make_var("tile_row", DataType::Int(32)), column = make_var("tile_column", DataType::Int(32)),
            matrix = make_var("matrix", DataType::Int(32));
  Stmt out = body(matrix, row, column);
  out = make(LetStmt{.var = column, .value = floordiv(rest, rows), .body = out});
  out = make(LetStmt{.var = row, .value = first + floormod(rest, rows), .body = out});
  return make(LetStmt{.var = matrix, .value = batch, .body = out});
}

LastTile last_tile(const GpuContraction& contraction, const GemmPlan& plan, bool of_columns) {
  constexpr int64_t kMaxLanes = 16;  // of an access
  const GemmAxes& axes = of_columns ? contraction.n : contraction.m;
  const int64_t size = of_columns ? plan->tile_n : plan->tile_m, beyond = axes.known - size;
  if (axes.known > 0 && axes.known % size == 0) return {};
  // kernels of matrix units wait for memory: what is stored twice would cost them more than conditions do
  if (plan->by_matrix_units) return {.is_guarded = true};
  const bool is_any_row = !of_columns && contraction.a.lies_along_k();
  const bool begins_earlier = axes.known > 0 && beyond > 0 && (is_any_row || beyond % kMaxLanes == 0);
  return {.is_guarded = !begins_earlier, .begins_earlier = begins_earlier};
}

Stmt each_gemm_tile(const GpuContraction& contraction, const GemmPlan& plan,
                    const std::function<Stmt(const PrimExpr&, const PrimExpr&, const PrimExpr&)>& body) {
  auto tiles = [](const PrimExpr& extent, int64_t size) { return floordiv(extent + number(size - 1), number(size)); };
  const PrimExpr down = tiles(contraction.m.extent(), plan->tile_m),
                 across = tiles(contraction.n.extent(), plan->tile_n);
  auto begin = [&](const PrimExpr& tile, bool of_columns) {
    const int64_t size = of_columns ? plan->tile_n : plan->tile_m;
    if (!last_tile(contraction, plan, of_columns).begins_earlier) return tile * number(size);
    return min(tile * number(size), number((of_columns ? contraction.n : contraction.m).known - size));
  };
  return thread_loop("blockIdx.x", contraction.batch.extent() * down * across, [&](const PrimExpr& block) {
    return at_gemm_tile(block, down, across, plan->group, !contraction.batch.vars.empty(),
                        [&](const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column) {
                          return body(batch, begin(row, false), begin(column, true));
                        });
  });
}

int64_t wide_store_lanes(const GpuContraction& c) {
  const BlockNode* last = c.epilogue ? c.epilogue : c.block;
  auto* store = last->body.as<BufferStore>();
  const int64_t lanes = kChunkBytes / store->buffer->dtype.bytes();
  if (c.n.vars.size() != 1 || c.n.known < 0 || c.n.known % lanes != 0) return 1;
  return c.stores_columns_together() ? lanes : 1;
}

bool reads_ahead(const GpuContraction& contraction, const GemmPlan& plan) {
  return !plan->by_matrix_units && plan->copies_async && plan->stages > 1 && plan->tile_k % 2 == 0 &&
         !tile_of_a(contraction, plan).along_k && !tile_of_b(contraction, plan).along_k;
}

int64_t gemm_shared_bytes(const GpuContraction& contraction, const GemmPlan& plan) {
  const SharedTile a = tile_of_a(contraction, plan), b = tile_of_b(contraction, plan);
  const int64_t warps = plan->threads() / 32;
  const int64_t results = plan->stores_wide ? warps * kMatrixRows * result_pitch(plan) * contraction.sum.bytes() : 0;
  return (a.elements() + b.elements()) * plan->stages * a.dtype.bytes() + results;
}

Stmt commit_copies() { return intrinsic("tir.ptx_commit_group", {}); }
Stmt wait_for_copies(int64_t left) { return intrinsic("tir.ptx_wait_group", {number(left)}); }

}  // namespace tessera::topi

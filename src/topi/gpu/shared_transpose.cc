#include "topi/gpu/shared_transpose.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "topi/cpu/reduction_block.h"
#include "topi/gpu/nest.h"
#include "topi/transform.h"

namespace tessera::topi {
namespace {

register_types<SharedTransposePlanNode> shared_transpose_types;

constexpr int64_t kMinExtent = 8;       // of both axes: of shorter ones most of a tile would be empty
constexpr int64_t kMaxAccessLanes = 8;  // more would make many threads of a row wait for one bank
constexpr int64_t kBankBytes = 4;

/// Elements between rows of a tile: rows begin at neighbouring banks.
int64_t row_pitch(DataType dtype, int64_t tile) { return tile + std::max<int64_t>(1, kBankBytes / dtype.bytes()); }

bool is_of(const AxisRun& run, size_t axis) {
  return std::find(run.axes.begin(), run.axes.end(), axis) != run.axes.end();
}

/// A tensor of the stage: element `first` of a tile's outer axes + i * written + j * read.
struct TileAccess {
  Buffer buffer;
  Array<PrimExpr> indices;
  int64_t written = 0, read = 0;
};

TileAccess tile_access(const TransposingStage& stage, const Buffer& buffer, const Array<PrimExpr>& indices) {
  auto along = [&](const AxisRun& run) {
    return *stride(buffer, indices, stage.block->iter_vars[run.axes.back()]->var);
  };
  return {buffer, indices, along(stage.written), along(stage.read)};
}

/// Neighbours that one access may take along `run`: all its offsets are a multiple of them.
int64_t lanes_along(const TransposingStage& stage, const TileAccess& access, const AxisRun& run, int64_t other_step,
                    const GpuMachine& machine) {
  int64_t lanes = std::min<int64_t>(kMaxAccessLanes, machine->access_bytes / access.buffer->dtype.bytes());
  auto reduce_to = [&](const std::optional<int64_t>& step) {
    while (lanes > 1 && (!step || *step % lanes != 0)) lanes /= 2;
  };
  reduce_to(run.extent);
  reduce_to(other_step);
  Map<Var, PrimExpr> zeros;
  for (size_t i = 0; i < stage.extents.size(); ++i) {
    const Var& axis = stage.block->iter_vars[i]->var;
    zeros.set(axis, make_zero(axis->dtype));
    if (!is_of(stage.written, i) && !is_of(stage.read, i) && stage.extents[i] > 1)
      reduce_to(stride(access.buffer, access.indices, axis));
  }
  const PrimExpr base = arith::Analyzer().simplify(substitute(flat_index(access.indices, access.buffer->shape), zeros));
  reduce_to(as_int(base) ? std::optional(*as_int(base)) : std::nullopt);
  return lanes;
}

const BufferStore* store_of(const TransposingStage& stage) { return stage.block->body.as<BufferStore>(); }

int64_t shared_bytes_of(const TransposingStage& stage, int64_t tile) {
  int64_t out = 0;
  for (const BufferLoad* load : stage.transposed) out += tile * row_pitch(load->dtype, tile) * load->dtype.bytes();
  return out;
}

class SharedTranspose {
 public:
  SharedTranspose(const TransposingStage& stage, const SharedTransposePlan& plan)
      : stage_(stage), plan_(plan), tile_(plan->side) {}

  Stmt operator()() {
    const int64_t down = ceil_div(stage_.written.extent, tile_), across = ceil_div(stage_.read.extent, tile_);
    std::vector<PrimExpr> extents;
    std::vector<size_t> outer;
    for (size_t i = 0; i < stage_.extents.size(); ++i)
      if (!is_of(stage_.written, i) && !is_of(stage_.read, i)) outer.push_back(i);
    for (size_t axis : outer) extents.push_back(number(stage_.extents[axis]));
    extents.push_back(number(across));
    extents.push_back(number(down));
    return thread_loop("blockIdx.x", product_of(extents), [&](const PrimExpr& block) {
      const std::vector<PrimExpr> digits = digits_of(block, extents);
      for (const IterVar& axis : stage_.block->iter_vars) at_.set(axis->var, make_zero(axis->var->dtype));
      for (size_t i = 0; i < outer.size(); ++i) {
        const Var& var = stage_.block->iter_vars[outer[i]]->var;
        at_.set(var, cast(var->dtype, digits[i]));
      }
      written_ = digits[outer.size() + 1] * number(tile_);
      read_ = digits[outer.size()] * number(tile_);
      return thread_loop("threadIdx.x", number(plan_->threads), [&](const PrimExpr& thread) {
        std::vector<Stmt> parts;
        std::vector<Buffer> memory;
        for (const BufferLoad* load : stage_.transposed) {
          memory.push_back(memory_of("tile_rows", load->dtype, tile_ * row_pitch(load->dtype, tile_), "shared"));
          parts.push_back(read(load, memory.back(), thread));
        }
        parts.push_back(write(memory, thread));
        return keep_unrolled_loops(all_allocated(memory, sequence(parts)));
      });
    });
  }

 private:
  PrimExpr first(const TileAccess& access) const {
    Array<PrimExpr> there;
    for (const PrimExpr& i : access.indices) there.push_back(substitute(i, at_));
    return cast(DataType::Int(32), arith::Analyzer().simplify(flat_index(there, access.buffer->shape)));
  }

  /// body(row, the first of `lanes` columns) for what a thread has to do of a tile; not where either is beyond the end.
  Stmt each_access(const PrimExpr& thread, int64_t lanes, const PrimExpr& row_start, int64_t rows,
                   const PrimExpr& column_start, int64_t columns,
                   const std::function<Stmt(const PrimExpr& row, const PrimExpr& column)>& body) const {
    const int64_t in_row = tile_ / lanes, at_once = plan_->threads / in_row;
    return unrolled_loop("part", ceil_div(tile_, at_once), [&](const PrimExpr& part) {
      const PrimExpr row = part * number(at_once) + floordiv(thread, number(in_row)),
                     column = floormod(thread, number(in_row)) * number(lanes);
      PrimExpr is_inside = bool_imm(true);
      if (rows % tile_ != 0) is_inside = row_start + row < number(rows);
      if (columns % tile_ != 0) is_inside = logical_and(is_inside, column_start + column < number(columns));
      return guarded(is_inside, body(row, column));
    });
  }

  Stmt read(const BufferLoad* load, const Buffer& memory, const PrimExpr& thread) const {
    const TileAccess access = tile_access(stage_, load->buffer, load->indices);
    const Buffer flat = as_one_dimension(load->buffer);
    return each_access(thread, plan_->read_lanes, written_, stage_.written.extent, read_, stage_.read.extent,
                       [&](const PrimExpr& row, const PrimExpr& column) {
                         return each_lane(plan_->read_lanes, [&](const PrimExpr& lane) {
                           const PrimExpr from =
                               first(access) + (written_ + row) * number(access.written) + read_ + column + lane;
                           return store_to(memory, row * number(row_pitch(load->dtype, tile_)) + column + lane,
                                           make_load(flat, {from}));
                         });
                       });
  }

  Stmt write(const std::vector<Buffer>& memory, const PrimExpr& thread) const {
    const BufferStore* store = store_of(stage_);
    const TileAccess to = tile_access(stage_, store->buffer, store->indices);
    auto body = [&](const PrimExpr& row, const PrimExpr& column) {
      return each_lane(plan_->write_lanes, [&](const PrimExpr& lane) {
        Rewriter fill;
        fill.on([&](Rewriter&, const BufferLoad* load) -> PrimExpr {
          auto tile = std::find(stage_.transposed.begin(), stage_.transposed.end(), load);
          if (tile != stage_.transposed.end())
            return make_load(memory[static_cast<size_t>(tile - stage_.transposed.begin())],
                             {(column + lane) * number(row_pitch(load->dtype, tile_)) + row});
          return element(tile_access(stage_, load->buffer, load->indices), row, column + lane);
        });
        fill.on([&](Rewriter&, const VarNode* var) -> PrimExpr {
          return at_.count(Var(var)) ? at_[Var(var)] : PrimExpr(Var(var));
        });
        return store_to(as_one_dimension(store->buffer), index(to, row, column + lane), fill(store->value));
      });
    };
    return each_access(thread, plan_->write_lanes, read_, stage_.read.extent, written_, stage_.written.extent, body);
  }

  PrimExpr index(const TileAccess& access, const PrimExpr& row, const PrimExpr& column) const {
    PrimExpr out = first(access);
    if (access.read) out = out + (read_ + row) * number(access.read);
    if (access.written) out = out + (written_ + column) * number(access.written);
    return out;
  }
  PrimExpr element(const TileAccess& access, const PrimExpr& row, const PrimExpr& column) const {
    return make_load(as_one_dimension(access.buffer), {index(access, row, column)});
  }

  const TransposingStage& stage_;
  const SharedTransposePlan& plan_;
  int64_t tile_;
  Map<Var, PrimExpr> at_;    // the first element of the tile's outer axes
  PrimExpr written_, read_;  // the first of the tile along both runs
};

}  // namespace

SharedTransposePlan plan_shared_transpose(const TransposingStage& stage, const GpuMachine& machine) {
  if (stage.written.extent < kMinExtent || stage.read.extent < kMinExtent) return nullptr;
  SharedTransposePlanNode out;
  while (shared_bytes_of(stage, out.side) > machine->shared_bytes / 2 ||
         (out.side > 32 && std::min(stage.written.extent, stage.read.extent) <= out.side / 2))
    if ((out.side /= 2) < kMinExtent) return nullptr;
  const BufferStore* store = store_of(stage);
  const TileAccess to = tile_access(stage, store->buffer, store->indices);
  out.write_lanes = static_cast<int32_t>(lanes_along(stage, to, stage.written, to.read, machine));
  int64_t read = kMaxAccessLanes;
  for (const BufferLoad* load : stage.transposed) {
    const TileAccess from = tile_access(stage, load->buffer, load->indices);
    read = std::min(read, lanes_along(stage, from, stage.read, from.written, machine));
  }
  out.read_lanes = static_cast<int32_t>(read);
  out.threads = static_cast<int32_t>(std::min<int64_t>({256, machine->max_threads, int64_t{out.side} * out.side / 8}));
  return make(std::move(out));
}

void check_shared_transpose(const TransposingStage& stage, const SharedTransposePlan& plan, const GpuMachine& machine) {
  SharedTransposePlan whole = plan_shared_transpose(stage, machine);
  auto has_lanes = [&](int32_t lanes, int32_t most) {
    return lanes > 0 && most % lanes == 0 && plan->side % lanes == 0 && plan->threads % (plan->side / lanes) == 0;
  };
  if (!whole || plan->side < 8 || plan->side > 128 || plan->threads < 1 || plan->threads > machine->max_threads ||
      shared_bytes_of(stage, plan->side) > machine->shared_bytes || !has_lanes(plan->read_lanes, whole->read_lanes) ||
      !has_lanes(plan->write_lanes, whole->write_lanes))
    throw Error(ScheduleError)
        << "the plan of a transpose does not fit it: tiles of 8 to 128 fit shared memory, lanes divide "
        << "what lies together, and threads are whole rows of a tile";
}

Stmt shared_transpose_nest(const TransposingStage& stage, const SharedTransposePlan& plan) {
  return SharedTranspose(stage, plan)();
}

}  // namespace tessera::topi

#include "topi/cpu/contraction/row_blocks.h"

#include <numeric>

#include "ir/prim/ops.h"

namespace tessera::topi {
namespace {

/// Of most CPUs.
constexpr int64_t kL2Ways = 16;

/// Where the data does not stay in L2 while vectors pass by: as many rows as do so, if less is read from beyond L2 then; else 0.
///   all rows for each tile of vectors:  data * tiles + weights;   blocks of rows:  data + weights * blocks
int64_t choose_rows(const ContractionPlan& plan, int64_t data, int64_t weights, const Machine& machine,
                    const ContractionKnobsNode& knobs) {
  const size_t axis = *plan.row_axis();
  const int64_t tiles = plan.vector_extent / knobs.vectors, room = machine->l2_bytes / 2;
  if (tiles < 2 || data <= room) return 0;
  const int64_t rows = plan.reduction.extents[axis] / knobs.rows;
  int64_t planes = 1;
  for (size_t i = 0; i < axis; ++i)
    if (i != *plan.vector_axis) planes *= plan.reduction.extents[i];
  int64_t count = rows;
  while (count > 1 && (rows % count != 0 || data / planes * count / rows > room)) --count;
  const int64_t blocks = planes * (rows / count);
  return data + weights * blocks < (data * tiles + weights) / 4 * 3 ? count : 0;  // a gain that is small is none
}

/// True where what a block of rows reads falls into the same few sets of L2: planes that are a power of two apart.
bool block_collides(const Reduction& reduction, const BufferLoad& data, const Machine& machine) {
  const Var& outermost = reduction.block->iter_vars[reduction.axes.size()]->var;
  const std::optional<int64_t> apart = stride(&data, outermost);
  if (!apart || *apart <= 0) return false;
  const int64_t way = machine->l2_bytes / kL2Ways, bytes = *apart * data.buffer->dtype.bytes();
  return reduction.reduce_extents[0] * std::gcd(bytes, way) / way > kL2Ways / 2;
}

/// Blocks of rows that threads share.
int64_t blocks_of(const ContractionPlan& plan, const ContractionKnobsNode& knobs) {
  int64_t out = 1;
  for (size_t i = 0; i <= *plan.row_axis(); ++i)
    if (i != *plan.vector_axis) out *= plan.reduction.extents[i];
  return out / (int64_t{knobs.rows} * knobs.block_rows);
}

}  // namespace

int64_t bytes_of(const Buffer& buffer) {
  int64_t out = buffer->dtype.bytes();
  for (const PrimExpr& extent : buffer->shape) out *= as_int(extent) ? *as_int(extent) : 1;
  return out;
}

void choose_row_blocks(const ContractionPlan& plan, const BufferLoad& data, int64_t weight_bytes, bool is_input,
                       const Machine& machine, ContractionKnobsNode* knobs) {
  if (!plan.row_axis() || is_dynamic(plan.reduction)) return;
  const int64_t rows = choose_rows(plan, bytes_of(data.buffer), weight_bytes, machine, *knobs);
  knobs->block_rows = static_cast<int32_t>(rows);
  if (rows == 0) return;
  knobs->copies_block = is_input && plan.data && blocks_of(plan, *knobs) >= machine->cores &&
                        block_collides(plan.reduction, data, machine);
}

}  // namespace tessera::topi

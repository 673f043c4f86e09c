#include "topi/cpu/reduction_block.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/parallel.h"

namespace tessera::topi {

using schedule::BlockRef;
using schedule::LoopRef;
using schedule::State;

std::optional<Reduction> as_reduction(const schedule::Cursor& cursor, bool may_be_dynamic) {
  Reduction out;
  out.block = cursor.block();
  std::vector<const For*> loops = cursor.loops();
  auto* realize = cursor.realize();
  if (!out.block->init || out.block->writes.size() != 1 || loops.size() != realize->iter_values.size()) return {};
  for (size_t i = 0; i < loops.size(); ++i) {
    const IterVar& axis = out.block->iter_vars[i];
    const int64_t* extent = as_int(loops[i]->extent);
    if (!realize->iter_values[i].same_as(loops[i]->loop_var) || (extent && *extent < 1) ||
        loops[i]->kind != LoopKind::Serial)
      return {};
    auto is_outer = [&](const VarNode* var) {
      return std::any_of(loops.begin(), loops.begin() + static_cast<long>(i),
                         [&](const For* outer) { return outer->loop_var.get() == var; });
    };
    if (!extent && (!may_be_dynamic || uses_var(loops[i]->extent, is_outer))) return {};
    if (extent) out.steps *= *extent;
    if (axis->iter_type == IterType::CommReduce) {
      ++out.reduce_axes;
      out.reduce_extents.push_back(extent ? *extent : kDynamic);
    } else if (axis->iter_type == IterType::DataPar && out.reduce_axes == 0) {
      out.axes.push_back(axis->var);
      out.extents.push_back(extent ? *extent : kDynamic);
    } else {
      return {};
    }
  }
  const Array<Range>& region = out.block->writes[0]->region;
  if (out.axes.empty() || out.reduce_axes == 0 || region.size() != out.axes.size()) return {};
  for (size_t i = 0; i < region.size(); ++i)
    if (!region[i]->min.same_as(out.axes[i])) return {};
  return out;
}

bool is_dynamic(const Reduction& reduction) {
  auto has_dynamic = [](const std::vector<int64_t>& all) {
    return std::find(all.begin(), all.end(), kDynamic) != all.end();
  };
  return has_dynamic(reduction.extents) || has_dynamic(reduction.reduce_extents);
}

std::vector<const BufferLoad*> loads_of(const Reduction& reduction) {
  const Buffer& result = reduction.block->writes[0]->buffer;
  std::vector<const BufferLoad*> loads;
  walk(reduction.block->body, [&](const BufferLoad* load) {
    if (!load->buffer.same_as(result)) loads.push_back(load);
  });
  return loads;
}

PrimExpr stride_of(const Buffer& buffer, const Array<PrimExpr>& indices, const Var& axis) {
  arith::Analyzer analyzer;
  PrimExpr flat = PrimExpr(0);
  for (size_t i = 0; i < indices.size(); ++i) flat = flat * buffer->shape[i] + indices[i];
  PrimExpr next = substitute(flat, [&](const Var& var) { return var.same_as(axis) ? axis + 1 : PrimExpr(); });
  return analyzer.simplify(next - flat);
}

std::optional<int64_t> stride(const Buffer& buffer, const Array<PrimExpr>& indices, const Var& axis) {
  PrimExpr step = stride_of(buffer, indices, axis);
  const int64_t* value = as_int(step);
  return value ? std::optional(*value) : std::nullopt;
}

BlockRef epilogue_of(const State& state, const BlockRef& block, const Reduction& reduction) {
  std::vector<BlockRef> consumers = schedule::get_consumers(state, block);
  if (consumers.size() != 1) return {};
  schedule::Cursor cursor = state.find(consumers[0]);
  const BlockNode* epilogue = cursor.block();
  if (!is_spatial(cursor) || is_scheduled(cursor) || cursor.loops().size() != reduction.axes.size() ||
      spatial_loops(state, consumers[0]).size() != reduction.axes.size() || epilogue->writes.size() != 1)
    return {};
  bool fits = true;
  const Buffer& results = reduction.block->writes[0]->buffer;
  // A concatenation has more elements than the results, and each depends on which tensor it comes from.
  for (size_t i = 0; i < epilogue->iter_vars.size() && i < results->shape.size(); ++i) {
    fits &= arith::Analyzer().can_prove_equal(epilogue->iter_vars[i]->dom->extent, results->shape[i]);
  }
  walk(epilogue->body, [&](const BufferLoad* load) {
    if (!load->buffer.same_as(results)) return;
    for (size_t i = 0; i < load->indices.size(); ++i)
      fits &= i < epilogue->iter_vars.size() && load->indices[i].same_as(epilogue->iter_vars[i]->var);
  });
  const Array<Range>& region = epilogue->writes[0]->region;
  for (size_t i = 0; i < region.size(); ++i)
    fits &= region.size() == reduction.axes.size() && region[i]->min.same_as(epilogue->iter_vars[i]->var);
  return fits ? consumers[0] : BlockRef();
}

void tile_with_store(State& state, const BlockRef& block, const Reduction& reduction,
                     const std::function<void(const BlockRef& store)>& tile) {
  State::Snapshot before = state.snapshot();
  if (BlockRef epilogue = epilogue_of(state, block, reduction); epilogue.key) {
    if (attempt([&] { tile(epilogue); })) return;
    state.restore(before);
  }
  try {
    tile(schedule::cache_write(state, block, 0, "local"));
  } catch (const Error&) {
    state.restore(before);
    throw;
  }
}

LoopRef share_between_threads(State& state, const std::vector<LoopRef>& loops, const Reduction& reduction,
                              int64_t least_steps) {
  const int64_t inside = std::max<int64_t>(1, reduction.steps / std::max<int64_t>(1, known_extent(state, loops)));
  LoopRef all = loops.size() == 1 ? loops[0] : schedule::fuse(state, loops, true);
  schedule::parallel(state, all);
  if (is_dynamic(reduction))
    schedule::annotate(state, state.find(all), attr::kMinParallelExtent,
                       int_imm(DataType::Int(32), std::max<int64_t>(2, least_steps / inside)));
  return all;
}

std::vector<LoopRef> last_loops(const State& state, const BlockRef& block, size_t count) {
  std::vector<const For*> loops = state.find(block).loops();
  ICHECK(loops.size() >= count) << "a block has a loop for each of its axes";
  std::vector<LoopRef> out;
  for (size_t i = loops.size() - count; i < loops.size(); ++i) out.push_back(State::ref(block.function, loops[i]));
  return out;
}

}  // namespace tessera::topi

#include "topi/te/schedule.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "topi/cpu/cost_model.h"
#include "topi/cpu/te_tiles.h"
#include "topi/gpu/te_tiles.h"

namespace tessera::topi {
namespace {

constexpr int64_t kLanes = 16;

int64_t constant_extent(const IterVar& axis) {
  const int64_t* extent = axis->dom ? as_int(axis->dom->extent) : nullptr;
  return extent ? *extent : -1;
}

/// Operations read by statements that keep their own loops: their inputs have to be whole.
std::unordered_set<const Object*> read_whole(const te::Schedule& sch) {
  std::unordered_set<const Object*> out;
  for (const te::Stage& stage : sch->stages)
    if (stage->op && !stage->op.as<te::ComputeOp>())
      for (const te::Tensor& input : te::input_tensors(stage->op.get())) out.insert(input->op.get());
  return out;
}

/// The largest power of two of at most `limit` that divides `extent`; 1 when the extent is not known.
int64_t lanes_of(int64_t extent, int64_t limit) {
  int64_t lanes = 1;
  while (extent > 0 && lanes * 2 <= limit && extent % (lanes * 2) == 0) lanes *= 2;
  return lanes;
}

/// True when how much is reduced differs from element to element along `axis`, as in rows of sparse matrices.
bool reduces_by(const te::ComputeOp* op, const IterVar& axis) {
  return std::any_of(op->reduce_axis.begin(), op->reduce_axis.end(),
                     [&](const IterVar& reduced) { return reduced->dom && uses_var(reduced->dom->extent, axis->var); });
}

}  // namespace

namespace {

te::Schedule inlined_but(const Array<te::Tensor>& outs,
                         const std::function<bool(const te::Schedule&, const te::Stage&)>& stays) {
  Array<te::Operation> ops;
  std::unordered_set<const Object*> seen;
  for (const te::Tensor& out : outs)
    if (seen.insert(out->op.get()).second) ops.push_back(out->op);
  te::Schedule sch = te::create_schedule(ops);
  std::unordered_set<const Object*> whole = read_whole(sch);
  for (const te::Stage& stage : sch->stages) {
    auto* op = stage->op.as<te::ComputeOp>();
    if (op && op->reduce_axis.empty() && op->body.size() == 1 && !stage->is_output && !whole.count(op) &&
        !stays(sch, stage))
      te::compute_inline(stage);
  }
  return sch;
}

}  // namespace

te::Schedule schedule_inlined(const Array<te::Tensor>& outs) {
  return inlined_but(outs, [](const te::Schedule&, const te::Stage&) { return false; });
}

void schedule_stage_cpu(const te::Stage& stage) {
  auto* op = stage->op.as<te::ComputeOp>();
  if (!op || op->axis.empty()) return;
  Array<IterVar> outer = op->axis;
  int64_t total = 1;
  for (const IterVar& axis : op->axis) {
    int64_t extent = constant_extent(axis);
    total = extent < 0 || total < 0 ? -1 : total * extent;
  }
  IterVar last = op->axis.back();
  if (int64_t lanes = lanes_of(constant_extent(last), kLanes); lanes > 1 && !reduces_by(op, last)) {
    auto [rest, inner] = te::split(stage, last, PrimExpr(static_cast<int>(lanes)), PrimExpr());
    outer.set(outer.size() - 1, rest);
    if (!op->reduce_axis.empty()) {  // the sums of a vector side by side
      Array<IterVar> order = op->reduce_axis;
      order.push_back(inner);
      te::reorder(stage, order);
    }
    te::set_loop_kind(stage, inner, IterType::Vectorized);
  }
  if (total >= 0 && total < ParallelThreshold::elements && op->reduce_axis.empty()) return;
  te::set_loop_kind(stage, outer.size() == 1 ? outer[0] : te::fuse(stage, outer), IterType::Parallelized);
}

void schedule_stage_gpu(const te::Stage& stage, int64_t threads) {
  auto* op = stage->op.as<te::ComputeOp>();
  if (!op) return;
  IterVar fused = te::fuse(stage, op->axis);  // of no axes: one of one iteration
  auto [block, thread] = te::split(stage, fused, PrimExpr(static_cast<int>(threads)), PrimExpr());
  te::bind(stage, block, te::thread_axis(Range(), "blockIdx.x"));
  te::bind(stage, thread, te::thread_axis(Range(), "threadIdx.x"));
}

te::Schedule schedule_for(const Array<te::Tensor>& outs, const Target& target) {
  if (!target || !target.has_key("gpu")) {
    te::Schedule sch = inlined_but(outs, keeps_memory);
    const bool is_known = target && target->kind->name == "llvm";  // what else runs on CPUs gets vectors that all have
    schedule_stages_cpu(sch, machine_of(is_known ? target : Target::parse("llvm -mcpu=generic")));
    return sch;
  }
  te::Schedule sch = schedule_inlined(outs);
  schedule_stages_gpu(sch, std::min<int64_t>(target.int_option("max_num_threads", 256), 256));
  return sch;
}

static Globals te_schedule_globals{
    {"topi.schedule_inlined", schedule_inlined},
    {"topi.schedule_for", schedule_for},
    {"topi.schedule_stage",
     [](te::Stage stage, Target target) {
       if (target && target.has_key("gpu")) schedule_stage_gpu(stage, 256);
       else schedule_stage_cpu(stage);
     }},
};

}  // namespace tessera::topi

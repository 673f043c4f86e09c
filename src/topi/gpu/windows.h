#pragma once
// Reductions of windows whose channels lie together: depthwise convolutions and pooling over channels last.

#include <optional>

#include "tir/loops/accumulation.h"
#include "topi/block_rule.h"
#include "topi/gpu/machine.h"

namespace tessera::topi {

/// What a reduction reads, and what stands for it in `element`.
struct WindowOperand {
  PrimExpr value;  // an element, or 0 where a condition does not hold
  Var element;
  bool is_window = false;  // depends on step * position + dilation * window element; else on neither position
};

/// A reduction out[..., position, ..., channel] of windows along the axis of positions.
struct GpuWindows {
  schedule::BlockRef ref, epilogue_ref;
  const BlockNode* block = nullptr;
  const BlockNode* epilogue = nullptr;
  loops::Accumulated reduced;
  DataType dtype, sum;    // of results, and of their sums
  std::vector<Var> axes;  // of results, channels last
  std::vector<int64_t> extents;
  size_t position = 0;      // which of them windows move along
  std::vector<Var> window;  // axes of the reduction, the elements along that axis last
  std::vector<int64_t> window_extents;
  int64_t step = 1, dilation = 1;
  std::vector<WindowOperand> operands;
  PrimExpr element;   // what is taken in, in float32 where operands are narrower
  int64_t lanes = 1;  // channels that one access may take
};
/// Nothing where the reduction is another, or channels do not lie together.
std::optional<GpuWindows> as_gpu_windows(const schedule::State& state, const schedule::BlockRef& block,
                                         const GpuMachine& machine);

/// Every number is a knob.
struct WindowPlanNode : Object {
  int32_t span = 1;       // positions of a thread, neighbours, which share what their windows have in common
  int32_t lanes = 1;      // channels of it
  int32_t threads = 128;  // of a block
  static constexpr NodeInfo info{"topi.gpu.WindowPlan", &Object::info};
  static void fields(auto f) {
    f("span", &WindowPlanNode::span);
    f("lanes", &WindowPlanNode::lanes);
    f("threads", &WindowPlanNode::threads);
  }
};
using WindowPlan = Ref<WindowPlanNode>;

/// Empty where threads would be too few, or take single channels.
WindowPlan plan_windows(const GpuWindows& windows, const GpuMachine& machine);
/// A ScheduleError where the numbers of a plan do not fit the reduction or the machine.
void check_window_plan(const GpuWindows& windows, const WindowPlan& plan, const GpuMachine& machine);

/// One kernel; each thread:
///   for other elements of windows: read all columns of `span` windows; for elements along the row: read weights, take in
///   epilogue, store
Stmt window_nest(const GpuWindows& windows, const WindowPlan& plan);

}  // namespace tessera::topi

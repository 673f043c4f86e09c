#pragma once
// Contractions by wgmma (sm_90a): warp groups multiply tiles that the copy engine brings.

#include <optional>

#include "topi/gpu/tensor_operand.h"

namespace tessera::topi {

/// A contraction whose factors the copy engine moves and wgmma multiplies.
struct WgmmaContraction {
  GpuContraction contraction;
  TensorOperand a, b;

  int64_t tile_k() const { return a.line(); }  // a line of shared memory
};
std::optional<WgmmaContraction> as_wgmma_contraction(const GpuContraction& contraction, const GpuMachine& machine);

/// Every number is a knob.
struct WgmmaPlanNode : Object {
  int32_t tile_m = 128, tile_n = 256;  // of a block of threads
  int32_t groups = 2;                  // warp groups that multiply, each its part of the rows; one more copies
  int32_t stages = 4;                  // tiles along k in shared memory
  int32_t cluster = 1;                 // blocks, neighbours along m, that share what they copy of B
  int32_t group = 8;                   // tiles along m that follow each other, for the cache
  static constexpr NodeInfo info{"topi.gpu.WgmmaPlan", &Object::info};
  static void fields(auto f) {
    f("tile_m", &WgmmaPlanNode::tile_m);
    f("tile_n", &WgmmaPlanNode::tile_n);
    f("groups", &WgmmaPlanNode::groups);
    f("stages", &WgmmaPlanNode::stages);
    f("cluster", &WgmmaPlanNode::cluster);
    f("group", &WgmmaPlanNode::group);
  }
  int64_t threads() const { return 128 * (int64_t{groups} + 1); }
};
using WgmmaPlan = Ref<WgmmaPlanNode>;

/// The cheapest plan by the model of the machine; empty where none fits.
WgmmaPlan plan_wgmma(const WgmmaContraction& wgmma, const GpuMachine& machine);
/// A ScheduleError where the numbers of a plan do not fit the contraction or each other.
void check_wgmma_plan(const WgmmaContraction& wgmma, const WgmmaPlan& plan, const GpuMachine& machine);
/// Cycles of the machine, as gemm_cost counts them.
double wgmma_cost(const WgmmaContraction& wgmma, const WgmmaPlan& plan, const GpuMachine& machine);
int64_t wgmma_shared_bytes(const WgmmaContraction& wgmma, const WgmmaPlan& plan);

/// One kernel: as many blocks as multiprocessors, each with one warp group that copies and others that multiply.
///   copies:      for tiles of C, for tiles along k: wait until a stage is empty, copy tiles of A and B
///   multiplies:  for tiles of C: for tiles along k: wait until a stage is full, wgmma, the stage before is empty
///                epilogue, store
Stmt wgmma_nest(const WgmmaContraction& wgmma, const WgmmaPlan& plan, const GpuMachine& machine);

}  // namespace tessera::topi

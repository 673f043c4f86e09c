// Kernels of libraries: with `-libs=cublas` or `-libs=cudnn` contractions of a target `cuda` may be theirs, and what they do not have of a
// kernel follows as kernels of our own. Where "cuda.measure_kernels" is set and there is a device, both are run once and the faster one stays;
// else a cost decides. What a partition gave to a library is its.

#include <algorithm>

#include "byoc/libraries.h"
#include "kernel/rules/vendor_piece.h"
#include "kernel/rules/whole_kernels.h"
#include "kernel/schedule_blocks.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "te/create_prim_func.h"
#include "tir/layout.h"
#include "topi/gpu/contraction.h"
#include "topi/gpu/wgmma.h"

namespace tessera::kernel {
namespace {

using schedule::BlockRef;

// ---- by cost ---------------------------------------------------------------------------------------------------------

/// Time of the library over that of our own contraction, as measured on an H200 (docs/gpu.md).
constexpr double kMatmulFloat32 = 0.94, kMatmul = 0.95, kBatchMatmul = 1.0;
constexpr double kWinograd = 0.45, kConvolutionFloat32 = 1.4, kConvolution = 1.0;
constexpr int64_t kMinWinogradChannels = 32;
/// Cycles that a kernel of its own takes to start and to end, and the transformations around Winograd's products.
constexpr double kKernelCycles = 4000, kTransformationCycles = 60000;

/// A convolution of each channel alone, which our own kernels do faster.
bool is_depthwise(const relay::Call* call) {
  auto* attrs = call->attrs.as<relay::ConvAttrs>();
  if (!attrs || attrs->groups == 1) return false;
  const int axis = make_layout(attrs->kernel_layout)->index_of('I');
  return is_one(relay::tensor_type(call->args[1])->shape[static_cast<size_t>(axis)]);
}

/// cuDNN has Winograd's algorithm for it.
bool has_winograd(const relay::Call* call) {
  auto* attrs = call->attrs.as<relay::ConvAttrs>();
  if (!attrs || attrs->groups != 1) return false;
  const auto weight = *relay::fixed_shape(relay::checked_type(call->args[1]));
  const Layout layout = make_layout(attrs->kernel_layout);
  auto extent = [&](char axis) { return weight[static_cast<size_t>(layout->index_of(axis))]; };
  auto are_ones = [](const Array<PrimExpr>& numbers) {
    return std::ranges::all_of(numbers, [](const PrimExpr& number) { return is_one(number); });
  };
  return weight.size() == 4 && extent('H') == 3 && extent('W') == 3 && extent('I') >= kMinWinogradChannels &&
         extent('O') >= kMinWinogradChannels && are_ones(attrs->strides) && are_ones(attrs->dilation);
}

double relative_time(const VendorPiece& piece, bool is_float32) {
  if (piece.library == VendorLibrary::Convolution)
    return !is_float32 ? kConvolution : has_winograd(piece.anchor) ? kWinograd : kConvolutionFloat32;
  if (piece.anchor->attrs.as<relay::BatchMatmulAttrs>()) return kBatchMatmul;
  return is_float32 ? kMatmulFloat32 : kMatmul;
}

/// Cycles of our own contraction; nothing where our kernel is none.
std::optional<double> own_cycles(Subject& subject) {
  const topi::GpuMachine& machine = subject.environment.gpu;
  const KernelTensors& tensors = tensors_of(subject);
  Array<te::Tensor> args = tensors.inputs;
  for (const te::Tensor& output : tensors.outputs) args.push_back(output);
  topi::BlockProgram program(te::create_prim_func(args));
  topi::inline_elementwise(program.state, program.stages());
  std::optional<double> out;
  for (const BlockRef& block : program.stages()) {
    const auto contraction = topi::as_gpu_contraction(program.state, block);
    if (!contraction) continue;
    const topi::GemmPlan gemm = topi::plan_gemm(*contraction, machine);
    if (gemm) out = topi::gemm_cost(*contraction, gemm, machine);
    const auto wgmma = machine->has_wgmma ? topi::as_wgmma_contraction(*contraction, machine) : std::nullopt;
    const topi::WgmmaPlan plan = wgmma ? topi::plan_wgmma(*wgmma, machine) : nullptr;
    if (plan)
      out = std::min(out.value_or(topi::wgmma_cost(*wgmma, plan, machine)), topi::wgmma_cost(*wgmma, plan, machine));
  }
  return out;
}

/// Cycles of a kernel behind the library's, which reads and writes its results.
double cycles_behind(const Subject& subject, const VendorPiece& piece) {
  if (subject.workload->primitive->body.get() == piece.last()) return 0;
  double bytes = 2 * static_cast<double>(piece.dtype.bytes());
  const std::vector<int64_t> shape = *relay::fixed_shape(relay::checked_type(relay::Expr(piece.last())));
  for (int64_t extent : shape) bytes *= static_cast<double>(extent);
  return kKernelCycles + bytes / subject.environment.gpu->bandwidth;
}

bool is_cheaper(Subject& subject, const VendorPiece& piece) {
  if (is_depthwise(piece.anchor)) return false;
  const auto own = own_cycles(subject);
  if (!own) return true;
  const bool is_float32 =
      relay::dtype_of(piece.anchor->args[0]) == DataType::Float(32) && !subject.environment.gpu->allows_tf32;
  const bool transforms = is_float32 && piece.library == VendorLibrary::Convolution && has_winograd(piece.anchor);
  return relative_time(piece, is_float32) * *own + (transforms ? kTransformationCycles : 0) +
             cycles_behind(subject, piece) <
         *own;
}

// ---- by measurement --------------------------------------------------------------------------------------------------

KernelTensors with_library(Subject& subject, const VendorPiece& piece) {
  const CompileEnvironment& environment = subject.environment;
  return vendor_tensors(*subject.workload, environment, piece,
                        {.allows_tf32 = environment.gpu->allows_tf32, .measures = environment.measures()});
}

/// Seconds on the device; nothing where the kernel does not run there.
std::optional<double> seconds_of(Subject& subject, const KernelTensors& tensors) {
  Subject tried{.environment = subject.environment, .kernel = subject.kernel, .workload = subject.workload};
  try {
    return subject.environment.seconds(by_blocks(tried, tensors));
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_faster(Subject& subject, const VendorPiece& piece) {
  const auto theirs = seconds_of(subject, with_library(subject, piece)),
             ours = seconds_of(subject, tensors_of(subject));
  return theirs && (!ours || *theirs < *ours);
}

std::optional<Plan> match_library(Subject& subject) {
  if (subject.environment.target->kind->name != "cuda") return std::nullopt;
  const auto piece = vendor_piece(*subject.workload);
  if (!piece) return std::nullopt;
  const bool is_given = subject.workload->primitive->attrs.has(byoc::kGivenToLibrary);
  const bool is_taken =
      is_given || (subject.environment.seconds ? is_faster(subject, *piece) : is_cheaper(subject, *piece));
  return is_taken ? std::optional<Plan>(*piece) : std::nullopt;
}

void apply_library(Subject& subject, const Plan& plan) {
  const auto& piece = plan.as<VendorPiece>();
  subject.chosen.rules.emplace_back(piece.library == VendorLibrary::Matmul ? "cublaslt" : "cudnn");
  subject.scheduled = by_blocks(subject, with_library(subject, piece));
}

}  // namespace

std::vector<ScheduleRule> vendor_rules() {
  return {{"vendor", "cuda", RuleScope::Kernel, 0.5, match_library, apply_library}};
}

}  // namespace tessera::kernel

#include "runtime/cuda/vendor/cublaslt.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cuda/vendor/cublaslt_library.h"
#include "runtime/cuda/vendor/session.h"

namespace tessera::cuda {

using namespace lt;

namespace {

Handle handle_of(DLDevice device) {
  static std::mutex mutex;
  static auto* handles = new std::map<int, Handle>;
  std::lock_guard lock(mutex);
  Handle& out = (*handles)[device.device_id];
  if (!out) succeed(library().cublasLtCreate(&out), "starting");
  return out;
}

// ---- shapes ----------------------------------------------------------------------------------------------------------

int code_of(DataType dtype) {
  const std::string name = to_text(dtype);
  if (name == "float32") return kR32f;
  if (name == "float64") return kR64f;
  if (name == "float16") return kR16f;
  if (name == "bfloat16") return kR16bf;
  if (name == "int8") return kR8i;
  if (name == "int32") return kR32i;
  throw Error(TypeError) << "cuBLASLt multiplies float64, float32, float16, bfloat16 and int8, not " << name;
}

/// A matrix, or a batch of them, as it lies in memory.
struct Matrices {
  int64_t count = 1, rows = 1, columns = 1;

  static Matrices of(const DLTensor* tensor, bool is_flat) {
    const int rank = tensor->ndim;
    if (rank < 2 || (rank > 3 && !is_flat))
      throw Error(ValueError) << "cuBLASLt: " << describe(tensor) << " is no matrix and no batch of matrices";
    Matrices out;
    out.columns = tensor->shape[rank - 1];
    out.rows = tensor->shape[rank - 2];
    for (int i = 0; i + 2 < rank; ++i) (is_flat ? out.rows : out.count) *= tensor->shape[i];
    return out;
  }
};

int64_t count_of(const DLTensor* tensor) {
  int64_t out = 1;
  for (int i = 0; i < tensor->ndim; ++i) out *= tensor->shape[i];
  return out;
}

struct Shapes {
  Matrices a, b, out;
  int64_t m, n, k;

  explicit Shapes(const VendorMatmul& call) {
    const bool is_flat = call.b->ndim == 2 && !call.trans_a;
    a = Matrices::of(call.a, is_flat);
    b = Matrices::of(call.b, false);
    out = Matrices::of(call.out, is_flat);
    m = out.rows;
    n = out.columns;
    k = call.trans_a ? a.rows : a.columns;
    const bool fits = (call.trans_a ? a.columns : a.rows) == m && (call.trans_b ? b.rows : b.columns) == n &&
                      (call.trans_b ? b.columns : b.rows) == k && (a.count == out.count || a.count == 1) &&
                      (b.count == out.count || b.count == 1) && m > 0 && n > 0 && k > 0;
    if (!fits)
      throw Error(ValueError) << "cuBLASLt: " << describe(call.a) << " and " << describe(call.b)
                              << " do not multiply to " << describe(call.out);
    if (call.bias && count_of(call.bias) != n)
      throw Error(ValueError) << "cuBLASLt: a bias of " << describe(call.bias) << " for " << n << " columns";
  }
};

// ---- plans -----------------------------------------------------------------------------------------------------------

/// A shape's descriptors and algorithm. Its matrices are ours transposed, since the library counts along columns:
/// out^T = b^T * a^T.
struct MatmulPlan {
  std::shared_ptr<MatmulDesc> matmul;
  std::shared_ptr<MatrixLayout> left, right, out;
  std::vector<HeuristicResult> algorithms;  // the first is used
  bool is_measured = false;
};

std::shared_ptr<MatrixLayout> layout_of(const Matrices& matrices, int64_t batch, DataType dtype) {
  MatrixLayout* made = nullptr;
  succeed(library().cublasLtMatrixLayoutCreate(&made, code_of(dtype), static_cast<uint64_t>(matrices.columns),
                                               static_cast<uint64_t>(matrices.rows), matrices.columns),
          "describing a matrix");
  auto out = vendor_object(made, library().cublasLtMatrixLayoutDestroy);
  if (batch == 1) return out;
  const auto count = static_cast<int32_t>(batch);
  const int64_t stride = matrices.count == 1 ? 0 : matrices.rows * matrices.columns;
  succeed(library().cublasLtMatrixLayoutSetAttribute(made, kLayoutBatchCount, &count, sizeof count),
          "describing a batch");
  succeed(library().cublasLtMatrixLayoutSetAttribute(made, kLayoutBatchStride, &stride, sizeof stride),
          "describing a batch");
  return out;
}

int compute_type(const VendorMatmul& call) {
  const DataType in(call.a->dtype);
  if (in == DataType::Float(64)) return kCompute64f;
  if (in == DataType::Int(8)) return kCompute32i;
  return in == DataType::Float(32) && call.allows_tf32 ? kCompute32fTf32 : kCompute32f;
}

int scale_type(int compute) { return compute == kCompute64f ? kR64f : compute == kCompute32i ? kR32i : kR32f; }

int epilogue_of(const VendorMatmul& call) {
  int out = call.bias ? kEpilogueBias : 0;
  if (call.activation == MatmulActivation::Relu) out |= kEpilogueRelu;
  if (call.activation == MatmulActivation::Gelu) out |= kEpilogueGelu;
  return out == 0 ? kEpilogueDefault : out;
}

constexpr size_t kMaxWorkspaceBytes = size_t{32} << 20;
constexpr int kMeasured = 8;

MatmulPlan make_plan(const VendorMatmul& call, const Shapes& shapes, Handle handle) {
  const Library& lt = library();
  MatmulPlan plan;
  const int compute = compute_type(call), epilogue = epilogue_of(call);
  MatmulDesc* matmul = nullptr;
  succeed(lt.cublasLtMatmulDescCreate(&matmul, compute, scale_type(compute)), "describing a matmul");
  plan.matmul = vendor_object(matmul, lt.cublasLtMatmulDescDestroy);
  auto set = [&](int attribute, const void* value, size_t bytes) {
    succeed(lt.cublasLtMatmulDescSetAttribute(matmul, attribute, value, bytes), "describing a matmul");
  };
  if (call.trans_b) set(kDescTransA, &kTransposed, sizeof kTransposed);
  if (call.trans_a) set(kDescTransB, &kTransposed, sizeof kTransposed);
  set(kDescEpilogue, &epilogue, sizeof epilogue);
  if (call.bias) {
    const void* bias = data_of(call.bias);
    set(kDescBiasPointer, static_cast<const void*>(&bias), sizeof bias);
  }
  plan.left = layout_of(shapes.b, shapes.out.count, DataType(call.b->dtype));
  plan.right = layout_of(shapes.a, shapes.out.count, DataType(call.a->dtype));
  plan.out = layout_of(shapes.out, shapes.out.count, DataType(call.out->dtype));

  Preference* made = nullptr;
  succeed(lt.cublasLtMatmulPreferenceCreate(&made), "describing what is preferred");
  auto preference = vendor_object(made, lt.cublasLtMatmulPreferenceDestroy);
  succeed(lt.cublasLtMatmulPreferenceSetAttribute(made, kPrefWorkspaceBytes, &kMaxWorkspaceBytes,
                                                  sizeof kMaxWorkspaceBytes),
          "describing what is preferred");
  int attribute = kPrefAlignmentA;
  for (const DLTensor* tensor :
       {call.b, call.a, static_cast<const DLTensor*>(call.out), static_cast<const DLTensor*>(call.out)}) {
    const uint32_t alignment = alignment_of(tensor);
    succeed(lt.cublasLtMatmulPreferenceSetAttribute(made, attribute++, &alignment, sizeof alignment),
            "describing what is preferred");
  }
  plan.algorithms.resize(kMeasured);
  int count = 0;
  const int status =
      lt.cublasLtMatmulAlgoGetHeuristic(handle, matmul, plan.left.get(), plan.right.get(), plan.out.get(),
                                        plan.out.get(), made, kMeasured, plan.algorithms.data(), &count);
  plan.algorithms.resize(status == 0 ? static_cast<size_t>(count) : 0);
  std::erase_if(plan.algorithms, [](const HeuristicResult& each) { return each.state != 0; });
  if (plan.algorithms.empty())
    throw Error(NotImplementedError) << "cuBLASLt has no algorithm for " << describe(call.a) << " by "
                                     << describe(call.b) << " to " << describe(call.out);
  return plan;
}

/// All that a plan depends on.
std::vector<int64_t> key_of(const VendorMatmul& call, const Shapes& shapes) {
  std::vector<int64_t> key{call.out->device.device_id,
                           shapes.a.count,
                           shapes.b.count,
                           shapes.out.count,
                           shapes.m,
                           shapes.n,
                           shapes.k,
                           call.trans_a,
                           call.trans_b,
                           epilogue_of(call),
                           call.allows_tf32};
  for (const DLTensor* tensor : {call.a, call.b, static_cast<const DLTensor*>(call.out)}) {
    key.push_back(code_of(DataType(tensor->dtype)));
    key.push_back(alignment_of(tensor));
  }
  return key;
}

void run(const MatmulPlan& plan, const HeuristicResult& chosen, const VendorMatmul& call, Handle handle,
         const VendorSession& session) {
  const double one_double = 1, zero_double = 0;
  const float one_float = 1, zero_float = 0;
  const int32_t one_int = 1, zero_int = 0;
  const int scale = scale_type(compute_type(call));
  auto number = [&](const void* of_double, const void* of_int, const void* of_float) {
    return scale == kR64f ? of_double : scale == kR32i ? of_int : of_float;
  };
  VendorWorkspace workspace(session.device(), chosen.workspace_bytes);
  succeed(library().cublasLtMatmul(handle, plan.matmul.get(), number(&one_double, &one_int, &one_float),
                                   data_of(call.b), plan.left.get(), data_of(call.a), plan.right.get(),
                                   number(&zero_double, &zero_int, &zero_float), data_of(call.out), plan.out.get(),
                                   data_of(call.out), plan.out.get(), &chosen.algorithm, workspace.data(),
                                   chosen.workspace_bytes, session.stream()),
          "a matmul");
}

/// Puts the fastest algorithm first.
void measure(MatmulPlan* plan, const VendorMatmul& call, Handle handle, const VendorSession& session) {
  std::vector<std::pair<float, size_t>> times;
  for (size_t i = 0; i < plan->algorithms.size(); ++i) {
    try {
      times.emplace_back(session.milliseconds([&] { run(*plan, plan->algorithms[i], call, handle, session); }), i);
    } catch (const Error&) {  // a guess that this device does not run
    }
  }
  if (!times.empty()) std::swap(plan->algorithms[0], plan->algorithms[std::ranges::min(times).second]);
  plan->is_measured = true;
}

}  // namespace

void vendor_matmul(const VendorMatmul& call) {
  const Shapes shapes(call);
  library();
  const VendorSession session("cuBLASLt", {call.a, call.b, call.bias, call.out});
  const Handle handle = handle_of(session.device());
  static std::mutex mutex;
  static auto* plans = new std::map<std::vector<int64_t>, MatmulPlan>;
  std::lock_guard lock(mutex);  // the pointer to the bias is part of the descriptor
  auto [at, is_new] = plans->try_emplace(key_of(call, shapes));
  MatmulPlan& plan = at->second;
  if (plan.algorithms.empty()) plan = make_plan(call, shapes, handle);
  if (call.bias) {
    const void* bias = data_of(call.bias);
    succeed(library().cublasLtMatmulDescSetAttribute(plan.matmul.get(), kDescBiasPointer,
                                                     static_cast<const void*>(&bias), sizeof bias),
            "describing a bias");
  }
  if (call.measures && !plan.is_measured && plan.algorithms.size() > 1 && !session.is_recording())
    measure(&plan, call, handle, session);
  run(plan, plan.algorithms[0], call, handle, session);
}

}  // namespace tessera::cuda

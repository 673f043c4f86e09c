// Matmuls by a BLAS library with C's interface (CBLAS), which is loaded when it is first needed: OpenBLAS, Debian's libblas, or what the
// environment variable TESSERA_BLAS names; for mkl, Intel's.
//
// tvm.contrib.cblas.matmul(a, b, out, transpose a, transpose b) and batch_matmul of the same form.

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "runtime/external/blas.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*,
                       int);
constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;

struct Blas {
  Sgemm sgemm = nullptr;
  Dgemm dgemm = nullptr;
};

Blas load_blas(std::vector<std::string> names) {
  if (const char* given = std::getenv("TESSERA_BLAS")) names.insert(names.begin(), given);
  for (const std::string& name : names) {
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) continue;
    Blas out{reinterpret_cast<Sgemm>(dlsym(handle, "cblas_sgemm")),
             reinterpret_cast<Dgemm>(dlsym(handle, "cblas_dgemm"))};
    if (out.sgemm && out.dgemm) return out;
    dlclose(handle);
  }
  return {};
}

const Blas& blas(bool is_mkl) {
  static const Blas intel = load_blas({"libmkl_rt.so.2", "libmkl_rt.so"});
  static const Blas other = load_blas({"libopenblas.so.0", "libcblas.so.3", "libblas.so.3", "libmkl_rt.so.2"});
  return is_mkl ? intel : other;
}

/// A matrix, or a batch of them, as it lies in memory.
struct Matrices {
  const DLTensor* tensor;
  int64_t count, rows, columns;
  Matrices(const DLTensor* given, const char* what) : tensor(given), count(1) {
    const int rank = given ? given->ndim : 0;
    bool is_taken = (rank == 2 || rank == 3) && given->device.device_type == kDLCPU && is_contiguous(given);
    if (!is_taken) throw Error(ValueError) << "BLAS: " << what << " is no matrix and no batch of matrices on the CPU";
    if (rank == 3) count = given->shape[0];
    rows = given->shape[rank - 2];
    columns = given->shape[rank - 1];
    for (int64_t extent : {rows, columns})
      if (extent > std::numeric_limits<int>::max()) throw Error(ValueError) << "BLAS: " << what << " is too large";
  }
  template <class T>
  T* at(int64_t i) const {
    return static_cast<T*>(data_of(tensor)) + (count == 1 ? 0 : i) * rows * columns;
  }
};

template <class T, class Gemm>
void multiply(Gemm gemm, const Matrices& a, const Matrices& b, const Matrices& out, bool trans_a, bool trans_b) {
  const int k = static_cast<int>(trans_a ? a.rows : a.columns);
  for (int64_t i = 0; i < out.count; ++i)
    gemm(kRowMajor, trans_a ? kTransposed : kPlain, trans_b ? kTransposed : kPlain, static_cast<int>(out.rows),
         static_cast<int>(out.columns), k, T(1), a.at<T>(i), static_cast<int>(std::max<int64_t>(a.columns, 1)),
         b.at<T>(i), static_cast<int>(std::max<int64_t>(b.columns, 1)), T(0), out.at<T>(i),
         static_cast<int>(std::max<int64_t>(out.columns, 1)));
}

}  // namespace

bool has_blas(bool is_mkl) { return blas(is_mkl).sgemm; }

void blas_matmul(bool is_mkl, const DLTensor* left, const DLTensor* right, const DLTensor* result, bool trans_a,
                 bool trans_b) {
  const Matrices a(left, "the first operand"), b(right, "the second operand"), out(result, "the result");
  const int64_t k = trans_a ? a.rows : a.columns;
  bool fits = (trans_a ? a.columns : a.rows) == out.rows && (trans_b ? b.rows : b.columns) == out.columns &&
              (trans_b ? b.columns : b.rows) == k && (a.count == out.count || a.count == 1) &&
              (b.count == out.count || b.count == 1);
  if (!fits)
    throw Error(ValueError) << "BLAS: " << describe(left) << " and " << describe(right) << " do not multiply to "
                            << describe(result);
  const Blas& library = blas(is_mkl);
  if (!library.sgemm)
    throw Error(RuntimeError) << (is_mkl ? "MKL is not there (libmkl_rt.so)"
                                         : "no BLAS library is there; on Debian: apt install libopenblas0. Python's "
                                           "tessera.contrib.cblas takes NumPy's")
                              << "; TESSERA_BLAS names others";
  const std::string dtype = to_text(DataType(result->dtype));
  const bool is_one =
      DataType(left->dtype) == DataType(result->dtype) && DataType(right->dtype) == DataType(result->dtype);
  if (is_one && dtype == "float32") multiply<float>(library.sgemm, a, b, out, trans_a, trans_b);
  else if (is_one && dtype == "float64") multiply<double>(library.dgemm, a, b, out, trans_a, trans_b);
  else throw Error(TypeError) << "BLAS multiplies float32 and float64, not to " << dtype;
}

namespace {

void matmul(DLTensor* a, DLTensor* b, DLTensor* out, bool trans_a, bool trans_b) {
  blas_matmul(false, a, b, out, trans_a, trans_b);
}

Globals blas_globals{
    {"tvm.contrib.cblas.matmul", matmul},
    {"tvm.contrib.cblas.batch_matmul", matmul},
    {"tvm.contrib.cblas.batch_matmul_iterative", matmul},
    {"tessera.blas.is_available", has_blas},
};

}  // namespace
}  // namespace tessera

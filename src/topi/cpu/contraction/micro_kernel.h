#pragma once
// The innermost step of every matmul and convolution, with all of its sums in registers.

#include "te/tensor_compute.h"
#include "tir/tensor_intrin.h"
#include "topi/cpu/machine.h"

namespace tessera::topi {

/// C[mr, nr] += A[mr, kc] . B[kc, nr], held in mr * nr / lanes vector registers while k runs.
///
/// A lies by rows, so a panel of it is a plain copy of mr rows. B lies by rows too where an instruction multiplies lane by
/// lane; where it takes `group` neighbours along k into one lane (bf16 pairs, int8 quadruples) B is
/// [kc / group, nr, group]. nr is a multiple of the lanes of a vector of C.
struct MicroKernelNode : Object {
  String isa;
  DataType a_dtype, b_dtype, c_dtype;
  int32_t mr = 0, nr = 0, kc = 0;
  int32_t lanes = 0, group = 1;
  String name;  // of the intrinsic: "gemm_avx512_float32_14x32x256"
  static constexpr NodeInfo info{"topi.cpu.MicroKernel", &Object::info};
  static void fields(auto f) {
    f("isa", &MicroKernelNode::isa);
    f("a_dtype", &MicroKernelNode::a_dtype);
    f("b_dtype", &MicroKernelNode::b_dtype);
    f("c_dtype", &MicroKernelNode::c_dtype);
    f("mr", &MicroKernelNode::mr);
    f("nr", &MicroKernelNode::nr);
    f("kc", &MicroKernelNode::kc);
    f("lanes", &MicroKernelNode::lanes);
    f("group", &MicroKernelNode::group);
    f("name", &MicroKernelNode::name);
  }
};
using MicroKernel = Ref<MicroKernelNode>;

/// How `isa` multiplies elements of these types.
struct Dot {
  std::string_view isa;  // empty: any
  DataType a, b, c;
  int group;
  const char* intrinsic;  // LLVM's name; null: a multiply and an add, which become one instruction
};
/// The first that takes elements of `a`, with what usually goes with them; an error lists the types there are.
const Dot& find_dot(std::string_view isa, DataType a);

/// The instructions with which a machine multiplies elements of this type: those of int8 may be narrower than others.
const Isa& matmul_isa(const Machine& machine, DataType dtype);

/// How a machine multiplies elements of these types; null where it has no instructions for that. A group of neighbours along k
/// is one lane then.
const Dot* dot_on(const Machine& machine, DataType a, DataType b);

/// sum + a * b of vectors: one of elements, or of groups of them seen as int32.
PrimExpr multiply_add(const Dot& dot, const Isa& isa, const PrimExpr& sum, const PrimExpr& a, const PrimExpr& b);

/// The kernel of these sizes; sizes that do not fit the registers or each other are errors.
MicroKernel micro_kernel(const String& isa, DataType a, int mr, int nr, int kc);

struct Panels {
  Buffer a, b, c;
};
enum class Sums { FromZero, FromMemory };
///   sums = C or 0;  for k: sums += A[:, k] x B[k, :];  C = sums
Stmt kernel_body(const MicroKernel& kernel, const Panels& panels, Sums start);
///   C = 0
Stmt kernel_clear(const MicroKernel& kernel, const Panels& panels);

/// The kernel for `Stage.tensorize`. Strides of the three tensors are free, their innermost dimension is dense.
te::TensorIntrin te_intrin(const MicroKernel& kernel);

/// The kernel for `Schedule.tensorize`: what it does, as loops over i, j and k, and how.
TensorIntrin tir_intrin(const MicroKernel& kernel);

}  // namespace tessera::topi

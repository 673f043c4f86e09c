// What sm_90a alone has: barriers that count bytes, the copy engine, and wgmma. Each operator is a function of inline PTX; an
// offset is in elements of the pointer before it.
//
//   ptx_mbarrier_init     shared memory and offset, number of arrivals
//   ptx_mbarrier_fence    barriers that were made are seen by the copy engine, and by other blocks after a barrier of the cluster
//   ptx_mbarrier_expect   shared memory and offset, bytes: one arrival, and bytes that the copy engine brings
//   ptx_mbarrier_wait     shared memory and offset, parity of the phase to wait for
//   ptx_mbarrier_arrive   shared memory and offset, block of the cluster; -1 for the own one
//   ptx_tensor_copy       text of the map (runtime/cuda/tensor_map.h), pointer, shared memory and offset, offset of the barrier, mask
//                         of blocks of the cluster (0: the own one), number of coordinates, coordinates, offsets of windows
//   ptx_cluster_barrier   all threads of all blocks of a cluster
//   ptx_set_registers     registers of each thread of the warp group, whether they are more than before
//   ptx_wgmma             "m64n256k16.f32.bf16.bf16", sums and offset, shared memory, offset of A, of B, bytes between 64 rows of A
//                         that lie along the rows (0: A lies along k), the same of B, whether sums are added to
//   ptx_wgmma_of_registers  the same with A in registers: form, sums and offset, words of A and offset, shared memory and offset of B, bytes
//                         between 64 rows of B, whether sums are added to
//   ptx_wgmma_wait        groups that may still run
//   ptx_hold_registers    float32 registers and offset, how many: they are written before, and read after
//   ptx_narrow_pairs      "bf16" or "f16", float32 registers and offset, words and offset, how many: two neighbours become a word
//   ptx_named_barrier     number of the barrier, threads, whether to wait for them
//   ptx_shuffle_xor       the value of the lane whose number differs in these bits
//   ptx_exp2              of a float32, to 22 bits; small results are 0
//   ptx_exchange_pairs    sums and offset, results and offset: of four groups of eight columns, of which each of four lanes has two
//                         columns, a lane gets one group

#include "codegen/cuda/printer.h"
#include "ir/rewrite.h"
#include "runtime/cuda/tensor_map.h"

namespace tessera::codegen {
namespace {

constexpr const char* kHopperFunctions = R"(static __device__ __forceinline__ unsigned tsr_shared(const void* p) {
  return (unsigned)__cvta_generic_to_shared(p);
}
static __device__ __forceinline__ void tsr_mbarrier_init(void* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(tsr_shared(barrier)), "r"(arrivals) : "memory");
}
static __device__ __forceinline__ void tsr_mbarrier_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
static __device__ __forceinline__ void tsr_mbarrier_expect(void* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(tsr_shared(barrier)), "r"(bytes)
               : "memory");
}
static __device__ __forceinline__ void tsr_mbarrier_wait(void* barrier, int parity) {
  unsigned done;
  do {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
        : "=r"(done) : "r"(tsr_shared(barrier)), "r"(parity) : "memory");
  } while (!done);
}
static __device__ __forceinline__ void tsr_mbarrier_arrive(void* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(tsr_shared(barrier)) : "memory");
}
static __device__ __forceinline__ void tsr_mbarrier_arrive(void* barrier, int block) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(tsr_shared(barrier)), "r"(block)
      : "memory");
}
static __device__ __forceinline__ void tsr_cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// A matrix of lines of 128 bytes whose chunks are exchanged; eight lines follow each other, `leading` is as wgmma has it.
static __device__ __forceinline__ unsigned long long tsr_matrix(const void* p, int leading) {
  return (unsigned long long)((tsr_shared(p) & 0x3ffff) >> 4) | (unsigned long long)(leading ? leading >> 4 : 1) << 16 |
         64ull << 32 | 1ull << 62;
}
template <int N>
static __device__ __forceinline__ void tsr_hold_registers(float* registers) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}
static __device__ __forceinline__ float tsr_exp2(float x) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}
template <class T>
static __device__ __forceinline__ void tsr_exchange_pairs(const T* pairs, T* out) {
  const bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
  T own[2][2][2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const T even_value = pairs[8 * half + i], odd_value = pairs[8 * half + 4 + i];
      const T got = __shfl_xor_sync(0xffffffff, odd ? even_value : odd_value, 1);
      own[half][0][i] = odd ? got : even_value;
      own[half][1][i] = odd ? odd_value : got;
    }
  }
#pragma unroll
  for (int part = 0; part < 2; ++part) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const T got = __shfl_xor_sync(0xffffffff, high ? own[0][part][i] : own[1][part][i], 2);
      out[2 * part + i] = high ? got : own[0][part][i];
      out[4 + 2 * part + i] = high ? own[1][part][i] : got;
    }
  }
}
)";

std::string number_list(int first, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i ? ", %" : "%") + std::to_string(first + i);
  return out;
}

/// tsr_wgmma_m64n256k16_f32_bf16_bf16_00(sums, a, b, adds): of matrices that lie along their rows, the last digits are 1. A that is in
/// registers is four words.
std::string wgmma_function(const std::string& name, const std::string& form, bool a_in_registers, bool a_along_rows,
                           bool b_along_rows, const char* inline_function) {
  int n = 0, k = 0, used = 0;
  if (std::sscanf(form.c_str(), "m64n%dk%d%n", &n, &k, &used) != 2 || n < 8 || n > 256 || n % 8 != 0)
    throw Error(ValueError) << "ptx_wgmma: \"" << form << "\" is no form such as m64n256k16.f32.bf16.bf16";
  const std::string types = form.substr(static_cast<size_t>(used));
  const bool is_float = types.starts_with(".f32"), has_16_bits = k == 16;
  if (!has_16_bits && (a_along_rows || b_along_rows))
    throw Error(ValueError) << "ptx_wgmma: matrices of " << types << " lie along k";
  const int sums = n / 2, of_a = a_in_registers ? 4 : 1;
  std::string out = std::string(inline_function) + " void " + name + "(" + (is_float ? "float" : "int") + "* d, " +
                    (a_in_registers ? "const unsigned* a" : "unsigned long long a") +
                    ", unsigned long long b, int adds) {\n  asm volatile(\n" +
                    "      \"{\\n.reg .pred p;\\nsetp.ne.b32 p, %" + std::to_string(sums + of_a + 1) +
                    ", 0;\\nwgmma.mma_async.sync.aligned." + form + " {" + number_list(0, sums) + "}, " +
                    (a_in_registers ? "{" + number_list(sums, of_a) + "}" : number_list(sums, of_a)) + ", %" +
                    std::to_string(sums + of_a) + ", p" + (is_float ? ", 1, 1" : "");
  if (has_16_bits && !a_in_registers) out += a_along_rows ? ", 1" : ", 0";
  if (has_16_bits) out += b_along_rows ? ", 1" : ", 0";
  out += ";\\n}\"\n      : ";
  for (int i = 0; i < sums; ++i)
    out += std::string(i ? ", " : "") + (is_float ? "\"+f\"(d[" : "\"+r\"(d[") + std::to_string(i) + "])";
  const char* a = a_in_registers ? R"("r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]))" : R"("l"(a))";
  return out + "\n      : " + a + ", \"l\"(b), \"r\"(adds));\n}\n";
}

std::string as_name(std::string form) {
  for (char& c : form)
    if (c == '.') c = '_';
  return form;
}

}  // namespace

/// The map as a text, with the number of the argument.
std::string CudaPrinter::more_parameters(const PrimFunc& function, KernelInfo* info) {
  std::string out;
  tensor_maps_.clear();
  walk(function->body, [&](const Call* op) {
    if (!is_call(op, "tir.ptx_tensor_copy")) return;
    auto* pointer = op->args[1].as<VarNode>();
    const auto key = std::make_pair(pointer, string_argument(op, 0));
    if (tensor_maps_.count(key)) return;
    cuda::TensorMap map = cuda::read_tensor_map(key.second);
    size_t argument = 0;
    while (argument < function->params.size() && function->params[argument].get() != pointer) ++argument;
    if (argument == function->params.size())
      throw Error(ValueError) << "ptx_tensor_copy: its pointer is no argument of the kernel";
    map.argument = static_cast<int64_t>(argument);
    info->tensor_maps.push_back(map.text());
    const std::string name = fresh_name("tensor_map");
    tensor_maps_[key] = name;
    need("tsr_tensor_map", "struct alignas(64) tsr_tensor_map {\n  unsigned long long words[16];\n};\n");
    out += ", const __grid_constant__ tsr_tensor_map " + name;
  });
  return out;
}

void CudaPrinter::tensor_copy(const Call* op) {
  const auto key = std::make_pair(op->args[1].as<VarNode>(), string_argument(op, 0));
  const int64_t count = constant_argument(op, 6);
  const bool has_windows = static_cast<int64_t>(op->args.size()) > 7 + count, is_shared = !is_zero(op->args[5]);
  std::string coordinates, offsets, values;
  int operand = 3;
  for (size_t i = 7; i < op->args.size(); ++i, ++operand) {
    const bool is_offset = static_cast<int64_t>(i) >= 7 + count;
    std::string& list = is_offset ? offsets : coordinates;
    list += (list.empty() ? "%" : ", %") + std::to_string(operand);
    values += is_offset ? ", \"h\"((unsigned short)(" + text(op->args[i]) + "))" : ", \"r\"(" + text(op->args[i]) + ")";
  }
  std::string code = "cp.async.bulk.tensor." + std::to_string(count) + "d.shared::cluster.global." +
                     (has_windows ? "im2col" : "tile") + ".mbarrier::complete_tx::bytes" +
                     (is_shared ? ".multicast::cluster" : "") + " [%0], [%1, {" + coordinates + "}], [%2]";
  if (has_windows) code += ", {" + offsets + "}";
  if (is_shared) {
    code += ", %" + std::to_string(operand);
    values += ", \"h\"((unsigned short)(" + text(op->args[5]) + "))";
  }
  const std::string memory = text(op->args[2]), target = index(op->args[3]), barrier = index(op->args[4]);
  line("asm volatile(\"" + code + ";\"");
  line("             :: \"r\"(tsr_shared(" + memory + " + " + target + ")), \"l\"(&" + tensor_maps_[key] +
       "), \"r\"(tsr_shared(" + memory + " + " + barrier + "))" + values + " : \"memory\");");
}

/// What describes a matrix in shared memory to wgmma.
std::string CudaPrinter::matrix_argument(const Call* op, const std::string& memory, size_t offset, size_t leading) {
  return "tsr_matrix(" + memory + " + " + index(op->args[offset]) + ", " +
         std::to_string(constant_argument(op, leading)) + ")";
}

void CudaPrinter::wgmma(const Call* op) {
  const std::string form = string_argument(op, 0), memory = text(op->args[3]);
  const bool a_along_rows = constant_argument(op, 6) != 0, b_along_rows = constant_argument(op, 7) != 0;
  const std::string name = "tsr_wgmma_" + as_name(form) + (a_along_rows ? "_1" : "_0") + (b_along_rows ? "1" : "0");
  need(name, wgmma_function(name, form, false, a_along_rows, b_along_rows, inline_function()));
  const std::string a = matrix_argument(op, memory, 4, 6), b = matrix_argument(op, memory, 5, 7);
  line(name + "(" + text(op->args[1]) + " + " + index(op->args[2]) + ", " + a + ", " + b + ", " + text(op->args[8]) +
       ");");
}

void CudaPrinter::wgmma_of_registers(const Call* op) {
  const std::string form = string_argument(op, 0);
  const bool b_along_rows = constant_argument(op, 7) != 0;
  const std::string name = "tsr_wgmma_" + as_name(form) + (b_along_rows ? "_r1" : "_r0");
  need(name, wgmma_function(name, form, true, false, b_along_rows, inline_function()));
  auto registers = [&](size_t i) { return text(op->args[i]) + " + " + index(op->args[i + 1]); };
  line(name + "(" + registers(1) + ", " + registers(3) + ", " + matrix_argument(op, text(op->args[5]), 6, 7) + ", " +
       text(op->args[8]) + ");");
}

bool CudaPrinter::hopper_call(const Call* op) {
  std::string_view name = op->op.as<OpNode>()->name;
  if (!name.starts_with("tir.ptx_")) return false;
  name.remove_prefix(8);
  auto at = [&](size_t i) { return text(op->args[i]) + " + " + index(op->args[i + 1]); };
  if (name == "mbarrier_init" || name == "mbarrier_expect" || name == "mbarrier_wait") {
    line("tsr_" + std::string(name) + "(" + at(0) + ", " + text(op->args[2]) + ");");
  } else if (name == "mbarrier_arrive") {
    const int64_t* block = as_int(op->args[2]);
    line("tsr_mbarrier_arrive(" + at(0) + (block && *block < 0 ? "" : ", " + text(op->args[2])) + ");");
  } else if (name == "mbarrier_fence" || name == "cluster_barrier") {
    line("tsr_" + std::string(name) + "();");
  } else if (name == "tensor_copy") {
    tensor_copy(op);
  } else if (name == "set_registers") {
    line(std::string("asm volatile(\"setmaxnreg.") + (is_one(op->args[1]) ? "inc" : "dec") + ".sync.aligned.u32 " +
         std::to_string(constant_argument(op, 0)) + ";\");");
  } else if (name == "wgmma") {
    wgmma(op);
  } else if (name == "wgmma_fence") {
    line("asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");");
  } else if (name == "wgmma_commit") {
    line("asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");");
  } else if (name == "wgmma_wait") {
    line("asm volatile(\"wgmma.wait_group.sync.aligned " + std::to_string(constant_argument(op, 0)) +
         ";\" ::: \"memory\");");
  } else if (name == "wgmma_of_registers") {
    wgmma_of_registers(op);
  } else if (name == "hold_registers") {
    line("tsr_hold_registers<" + std::to_string(constant_argument(op, 2)) + ">(" + at(0) + ");");
  } else if (name == "narrow_pairs") {
    const std::string i = fresh_name("i"), from = text(op->args[1]) + " + " + index(op->args[2]);
    line("#pragma unroll");
    block("for (int " + i + " = 0; " + i + " < " + std::to_string(constant_argument(op, 5)) + "; ++" + i + ")", [&] {
      line("asm(\"cvt.rn." + string_argument(op, 0) + "x2.f32 %0, %1, %2;\" : \"=r\"((" + at(3) + ")[" + i +
           "]) : \"f\"((" + from + ")[2 * " + i + " + 1]), \"f\"((" + from + ")[2 * " + i + "]));");
    });
  } else if (name == "named_barrier") {
    line(std::string("asm volatile(\"bar.") + (is_one(op->args[2]) ? "sync" : "arrive") + " %0, " +
         std::to_string(constant_argument(op, 1)) + ";\" ::\"r\"(" + text(op->args[0]) + ") : \"memory\");");
  } else if (name == "exchange_pairs") {
    line("tsr_exchange_pairs(" + at(0) + ", " + at(2) + ");");
  } else {
    return false;
  }
  need_hopper_functions();
  return true;
}

void CudaPrinter::need_hopper_functions() { need("tsr_shared", kHopperFunctions); }

}  // namespace tessera::codegen

// Tensor cores and asynchronous copies: WMMA fragments through nvcuda::wmma, mma, ldmatrix and cp.async as PTX.

#include <algorithm>

#include "codegen/cuda/printer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"

namespace tessera::codegen {
namespace {

struct MatrixType {
  const char* name;
  const char* ptx;
  int bits;
};

/// Element types as ptx_mma's arguments spell them.
constexpr MatrixType kMatrixTypes[] = {
    {"int1", "b1", 1},      {"bit1", "b1", 1},    {"int4", "s4", 4},        {"uint4", "u4", 4},
    {"int8", "s8", 8},      {"uint8", "u8", 8},   {"int32", "s32", 32},     {"fp16", "f16", 16},
    {"float16", "f16", 16}, {"bf16", "bf16", 16}, {"bfloat16", "bf16", 16}, {"fp32", "f32", 32},
    {"float32", "f32", 32}, {"tf32", "tf32", 32}, {"fp64", "f64", 64},      {"float64", "f64", 64},
};

const MatrixType& matrix_type(const std::string& name) {
  for (const MatrixType& row : kMatrixTypes)
    if (row.name == name) return row;
  throw Error(ValueError) << "ptx_mma: matrix units have no element type \"" << name << "\"";
}

struct Shape {
  int m = 0, n = 0, k = 0;
};

Shape read_shape(const std::string& text) {
  Shape out;
  if (std::sscanf(text.c_str(), "m%dn%dk%d", &out.m, &out.n, &out.k) != 3)
    throw Error(ValueError) << "ptx_mma: \"" << text << "\" is no shape such as m16n8k16";
  return out;
}

/// A matrix operand: registers of a thread, as the constraint and type that inline assembly wants.
struct Registers {
  int count;
  const char *constraint, *type;
};

Registers registers_of(int elements, const MatrixType& type) {
  if (type.bits == 64) return {elements / 32, "d", "double"};
  int count = std::max(1, elements * type.bits / 32 / 32);
  if (std::string_view(type.ptx) == "f32") return {count, "f", "float"};
  return {count, "r", "unsigned"};
}

std::string braces(int first, int count) {
  std::string out = "{";
  for (int i = 0; i < count; ++i) out += (i ? ", %" : "%") + std::to_string(first + i);
  return out + "}";
}

std::string operands(const Registers& regs, const std::string& pointer, const char* mark) {
  std::string out;
  for (int i = 0; i < regs.count; ++i)
    out += std::string(i ? ", " : "") + "\"" + mark + regs.constraint + "\"(((" + regs.type + "*)(" + pointer + "))[" +
           std::to_string(i) + "])";
  return out;
}

}  // namespace

std::string CudaPrinter::string_argument(const Call* op, size_t i) {
  auto* text = i < op->args.size() ? op->args[i].as<StringImm>() : nullptr;
  if (!text) throw Error(TypeError) << "argument " << i << " of " << PrimExpr(op) << " is not a string";
  return text->value.str();
}

void CudaPrinter::allocate_fragment(const Allocate* op, int64_t count, const std::string& scope) {
  const VarNode* var = op->buffer_var.get();
  auto shape = fragment_shapes_.find(var);
  if (shape == fragment_shapes_.end())
    throw Error(ValueError) << "the shape of fragment " << var->name << " is not known; run InferFragment first";
  Shape size;
  std::sscanf(shape->second.c_str(), "%d, %d, %d", &size.m, &size.n, &size.k);
  std::string kind = scope.substr(5);  // matrix_a, matrix_b, accumulator
  int elements = kind == "matrix_a" ? size.m * size.k : kind == "matrix_b" ? size.k * size.n : size.m * size.n;
  std::string layout = kind == "accumulator" ? "" : fragment_layouts_[var];
  if (kind != "accumulator" && layout.empty())
    throw Error(ValueError) << "the layout of fragment " << var->name << " is not known: it is never loaded";
  uses_wmma_ = true;
  std::string element = value_type(op->dtype.element());
  memory_[var] = {element, scope};
  line("nvcuda::wmma::fragment<nvcuda::wmma::" + kind + ", " + shape->second + ", " + element +
       (layout.empty() ? "" : ", nvcuda::wmma::" + layout) + "> " + define(var) + "[" +
       std::to_string(std::max<int64_t>(count / std::max(elements, 1), 1)) + "];");
}

bool CudaPrinter::matrix_call(const Call* op) {
  std::string_view name = op->op.as<OpNode>()->name;
  auto fragment = [&](size_t i) { return text(op->args[i]) + "[" + index(op->args[i + 1]) + "]"; };
  if (name == "tir.tvm_fill_fragment") {
    line("nvcuda::wmma::fill_fragment(" + text(op->args[0]) + "[" + index(op->args[4]) + "], " + text(op->args[5]) +
         ");");
  } else if (name == "tir.tvm_load_matrix_sync") {
    line("nvcuda::wmma::load_matrix_sync(" + text(op->args[0]) + "[" + index(op->args[4]) + "], " + text(op->args[5]) +
         ", " + index(op->args[6]) + ");");
  } else if (name == "tir.tvm_store_matrix_sync") {
    line("nvcuda::wmma::store_matrix_sync(" + text(op->args[5]) + ", " + text(op->args[0]) + "[" + index(op->args[4]) +
         "], " + index(op->args[6]) + ", nvcuda::wmma::mem_" + string_argument(op, 7) + ");");
  } else if (name == "tir.tvm_mma_sync" || name == "tir.tvm_bmma_sync") {
    line("nvcuda::wmma::" + std::string(name.substr(8)) + "(" + fragment(0) + ", " + fragment(2) + ", " + fragment(4) +
         ", " + fragment(6) + ");");
  } else if (name == "tir.ptx_mma") {
    ptx_mma(op, false);
  } else if (name == "tir.ptx_mma_sp") {
    ptx_mma(op, true);
  } else if (name == "tir.ptx_ldmatrix") {
    ptx_ldmatrix(op);
  } else if (name == "tir.ptx_cp_async") {
    ptx_cp_async(op);
  } else if (name == "tir.ptx_commit_group") {
    line("asm volatile(\"cp.async.commit_group;\" ::: \"memory\");");
  } else if (name == "tir.ptx_wait_group") {
    line("asm volatile(\"cp.async.wait_group " + std::to_string(constant_argument(op, 0)) + ";\" ::: \"memory\");");
  } else if (name == "tir.mma_store") {
    mma_store(op);
  } else if (name == "tir.mma_fill") {
    mma_fill(op);
  } else {
    return false;
  }
  return true;
}

/// Arguments: shape, layouts and types of A, B and C, then pointer and offset of each, then saturation (or, where A is
/// sparse, metadata, its selector and saturation), and the operator of single bits.
void CudaPrinter::ptx_mma(const Call* op, bool is_sparse) {
  std::string shape_text = string_argument(op, 0);
  Shape shape = read_shape(shape_text);
  const MatrixType &a = matrix_type(string_argument(op, 3)), &b = matrix_type(string_argument(op, 4)),
                   &c = matrix_type(string_argument(op, 5));
  auto pointer = [&](size_t i) { return text(op->args[i]) + " + " + index(op->args[i + 1]); };
  Registers of_a = registers_of(shape.m * shape.k / (is_sparse ? 2 : 1), a), of_b = registers_of(shape.k * shape.n, b),
            of_c = registers_of(shape.m * shape.n, c);
  size_t saturate_at = is_sparse ? 14 : 12;
  bool saturates = saturate_at < op->args.size() && is_one(op->args[saturate_at]);
  std::string bit_op;
  if (!is_sparse && op->args.size() > 13 && std::string_view(a.ptx) == "b1")
    bit_op = "." + string_argument(op, 13) + ".popc";
  std::string code = std::string(is_sparse ? "mma.sp" : "mma") + ".sync.aligned." + shape_text + "." +
                     string_argument(op, 1) + "." + string_argument(op, 2) + (saturates ? ".satfinite" : "") + "." +
                     c.ptx + "." + a.ptx + "." + b.ptx + "." + c.ptx + bit_op;
  int first_a = of_c.count, first_b = first_a + of_a.count, after = first_b + of_b.count;
  std::string sum = braces(0, of_c.count);
  std::string list = sum + ", " + braces(first_a, of_a.count) + ", " + braces(first_b, of_b.count) + ", " + sum;
  std::string extra;
  if (is_sparse) {
    list += ", %" + std::to_string(after) + ", " + std::to_string(constant_argument(op, 13));
    extra = ", \"r\"((unsigned)(" + text(op->args[12]) + "))";
  }
  line("asm volatile(\"" + code + " " + list + ";\"");
  line("             : " + operands(of_c, pointer(10), "+"));
  line("             : " + operands(of_a, pointer(6), "") + ", " + operands(of_b, pointer(8), "") + extra + ");");
}

/// The address inside shared memory, as PTX counts it.
std::string CudaPrinter::shared_address(const std::string& pointer) {
  return "\"r\"((unsigned)__cvta_generic_to_shared(" + pointer + "))";
}

/// Arguments: transposed, number of matrices, type, registers and offset, shared memory and offset.
void CudaPrinter::ptx_ldmatrix(const Call* op) {
  bool transposed = is_one(op->args[0]);
  int64_t count = constant_argument(op, 1);
  std::string target = text(op->args[3]) + " + " + index(op->args[4]);
  std::string source = text(op->args[5]) + " + " + index(op->args[6]);
  Registers registers{static_cast<int>(count), "r", "unsigned"};
  std::string type = string_argument(op, 2);
  if (type.starts_with(".")) type = type.substr(1);
  line("asm volatile(\"ldmatrix.sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "") +
       ".shared." + type + " " + braces(0, registers.count) + ", [%" + std::to_string(count) + "];\"");
  line("             : " + operands(registers, target, "=") + " : " + shared_address(source) + " : \"memory\");");
}

/// `pointer + offset`, what differs between iterations of unrolled loops last: it becomes part of the instruction, and the rest is
/// computed once for all of them.
std::string CudaPrinter::address(const PrimExpr& pointer, const PrimExpr& offset) {
  PrimExpr common, own;
  std::vector<PrimExpr> open{offset};
  while (!open.empty()) {
    const PrimExpr part = open.back();
    open.pop_back();
    if (auto* sum = part.as<Add>()) {
      open.push_back(sum->b);
      open.push_back(sum->a);
      continue;
    }
    bool is_own = true;
    walk(part, [&](const BufferLoad*) { is_own = false; });
    walk(part, [&](const VarNode* var) {
      is_own = is_own && std::any_of(unrolled_.begin(), unrolled_.end(),
                                     [&](const Var& unrolled) { return unrolled.get() == var; });
    });
    PrimExpr& sum = is_own ? own : common;
    sum = sum ? sum + part : part;
  }
  std::string out = text(pointer);
  for (const PrimExpr& part : {common, own})
    if (part) out += " + (" + index(part) + ")";
  return out;
}

/// Arguments: shared memory and offset, global memory and offset, bytes, and a condition where there is one: where it does not
/// hold, zeros are written and nothing is read.
void CudaPrinter::ptx_cp_async(const Call* op) {
  int64_t bytes = constant_argument(op, 4);
  if (bytes != 4 && bytes != 8 && bytes != 16)
    throw Error(ValueError) << "ptx_cp_async copies 4, 8 or 16 bytes, not " << bytes;
  const std::string target = address(op->args[0], op->args[1]), source = address(op->args[2], op->args[3]);
  const std::string size = std::to_string(bytes);
  std::string of_condition, mark;
  if (op->args.size() > 5) {
    of_condition = ", \"r\"(" + condition(op->args[5]) + " ? " + size + " : 0)";
    mark = ", %2";
  }
  line(std::string("asm volatile(\"cp.async.") + (bytes == 16 ? "cg" : "ca") + ".shared.global [%0], [%1], " + size +
       mark + ";\" ::");
  line("             " + shared_address(target) + ", \"l\"(" + source + ")" + of_condition + " : \"memory\");");
}

/// Arguments: m, n, target, registers and offset, stride of the target. A 16x16 result lies in 8 registers a thread.
void CudaPrinter::mma_store(const Call* op) {
  if (constant_argument(op, 0) != 16 || constant_argument(op, 1) != 16)
    throw Error(NotImplementedError) << "mma_store is supported for tiles of 16x16 only";
  std::string source = text(op->args[3]) + " + " + index(op->args[4]), target = text(op->args[2]);
  std::string stride = index(op->args[5]), i = fresh_name("i");
  block("for (int " + i + " = 0; " + i + " < 8; ++" + i + ")", [&] {
    line("(" + target + ")[(" + i + " / 2 % 2 * 8 + (int)threadIdx.x / 4) * " + stride + " + " + i +
         " / 4 * 8 + (int)threadIdx.x % 4 * 2 + " + i + " % 2] = (" + source + ")[" + i + "];");
  });
}

/// Arguments: number of elements, registers and offset.
void CudaPrinter::mma_fill(const Call* op) {
  std::string i = fresh_name("i"), target = text(op->args[1]) + " + " + index(op->args[2]);
  block("for (int " + i + " = 0; " + i + " < " + index(op->args[0]) + "; ++" + i + ")",
        [&] { line("(" + target + ")[" + i + "] = 0.0f;"); });
}

}  // namespace tessera::codegen

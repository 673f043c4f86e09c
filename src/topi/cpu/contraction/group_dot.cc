#include "topi/cpu/contraction/group_dot.h"

#include <mutex>

#include "codegen/target_cpu.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "tir/buffer_access.h"
#include "tir/function.h"
#include "tir/tensor_intrin.h"
#include "topi/cpu/contraction/half_floats.h"

namespace tessera::topi {
namespace {

const DataType kUInt32 = DataType::UInt(32);
constexpr const char* kHalfVectors = "avx512-half";  // its instructions on vectors of 256 bits

PrimExpr llvm_call(DataType dtype, const char* intrinsic, const Array<PrimExpr>& args) {
  Array<PrimExpr> all{make_const(kUInt32, codegen::llvm_intrinsic_id(intrinsic)),
                      make_const(kUInt32, static_cast<int64_t>(args.size()))};
  for (const PrimExpr& arg : args) all.push_back(arg);
  return make_call(dtype, "tir.call_llvm_pure_intrin", all);
}

/// Elements 0 and 2 of each lane, and 1 and 3, widened to pairs of int16: one multiply and one add of each pair.
PrimExpr dot_of_int16(const PrimExpr& sums, const PrimExpr& a, const PrimExpr& b) {
  const int lanes = sums.dtype().lanes;
  const DataType int16 = DataType::Int(16).with_lanes(2 * lanes), uint32 = kUInt32.with_lanes(lanes);
  PrimExpr low_bytes = make_broadcast(make_const(kUInt32, 0x00ff00ff), lanes);
  PrimExpr eight = make_broadcast(make_const(DataType::Int(16), 8), 2 * lanes);
  PrimExpr whole = reinterpret(uint32, a), pairs = reinterpret(int16, b);
  PrimExpr shift = make_broadcast(make_const(kUInt32, 8), lanes);
  PrimExpr out = sums;
  for (bool is_odd : {false, true}) {
    PrimExpr left = reinterpret(int16, (is_odd ? whole >> shift : whole) & low_bytes);
    PrimExpr right = is_odd ? pairs >> eight : (pairs << eight) >> eight;
    out = out + llvm_call(sums.dtype(), "llvm.x86.avx2.pmadd.wd", {left, right});
  }
  return out;
}

/// usdot where there is one. sdot takes int8 on both sides: a - 128 is multiplied, and what that leaves out, 128 . b, does not
/// depend on `a`, so that rows of a tile share it.
PrimExpr dot_of_arm(std::string_view isa, const PrimExpr& sums, const PrimExpr& a, const PrimExpr& b) {
  const int lanes = sums.dtype().lanes, elements = lanes * kInt8Group;
  const bool has_sve = is_sve(isa), is_signed = isa.ends_with(kSignedDots);
  auto as_int8 = [&](const PrimExpr& groups) { return reinterpret(DataType::Int(8).with_lanes(elements), groups); };
  const char* dot = has_sve     ? (is_signed ? "llvm.aarch64.sve.sdot" : "llvm.aarch64.sve.usdot")
                    : is_signed ? "llvm.aarch64.neon.sdot"
                                : "llvm.aarch64.neon.usdot";
  if (!is_signed) return llvm_call(sums.dtype(), dot, {sums, as_int8(a), as_int8(b)});
  PrimExpr high_bits = make_broadcast(make_const(DataType::Int(32), static_cast<int32_t>(0x80808080)), lanes);
  PrimExpr none = make_broadcast(make_const(DataType::Int(32), 0), lanes);
  PrimExpr left_out = llvm_call(sums.dtype(), dot, {none, as_int8(high_bits), as_int8(b)});
  return llvm_call(sums.dtype(), dot, {sums - left_out, as_int8(a ^ high_bits), as_int8(b)});
}

}  // namespace

const Isa* group_isa(const Machine& machine, const GroupDot& dot) {
  if (dot.a.is_bfloat()) return multiplies_bf16(machine) ? &find_isa(machine->isa.str()) : nullptr;
  auto has = [&](std::string_view wanted) {
    for (const String& feature : machine->features)
      if (std::string_view(feature) == wanted) return true;
    return false;
  };
  if (machine->isa == "avx512" && has("avx512vnni")) return &find_isa("avx512");
  if (machine->isa == "avx512" || machine->isa == "avx2") return &find_isa("avx2");
  if (is_sve(machine->isa.str())) return &find_isa(machine->isa.str() + (has("i8mm") ? "" : kSignedDots));
  if (machine->isa == "neon" && has("i8mm")) return &find_isa("neon");
  if (machine->isa == "neon" && has("dotprod")) return &find_isa(std::string("neon") + kSignedDots);
  return nullptr;
}

const Isa* group_isa(const Machine& machine, const GroupDot& dot, int64_t lanes) {
  static constexpr Isa kHalf{kHalfVectors, 32, 32};
  const Isa* isa = group_isa(machine, dot);
  if (!isa || lanes == isa->vector_bytes / 4) return isa;
  return isa->name == std::string_view("avx512") && lanes == kHalf.vector_bytes / 4 ? &kHalf : nullptr;
}

PrimExpr group_dot(const GroupDot& dot, const Isa& isa, const PrimExpr& sums, const PrimExpr& a, const PrimExpr& b) {
  const std::string_view name = isa.name;
  const bool is_int8 = !dot.a.is_bfloat();
  const char* of_avx512 = is_int8 ? "llvm.x86.avx512.vpdpbusd.512" : "llvm.x86.avx512bf16.dpbf16ps.512";
  const char* of_half = is_int8 ? "llvm.x86.avx512.vpdpbusd.256" : "llvm.x86.avx512bf16.dpbf16ps.256";
  if (name == "avx512") return llvm_call(sums.dtype(), of_avx512, {sums, a, b});
  if (name == kHalfVectors) return llvm_call(sums.dtype(), of_half, {sums, a, b});
  if (name == "avx2" && is_int8) return dot_of_int16(sums, a, b);
  ICHECK(is_sve(name) || name.starts_with("neon")) << name << " has no dot products of groups of " << dot.a;
  if (is_int8) return dot_of_arm(name, sums, a, b);
  const int elements = sums.dtype().lanes * dot.group;
  PrimExpr left = reinterpret(dot.a.with_lanes(elements), a), right = reinterpret(dot.b.with_lanes(elements), b);
  return llvm_call(sums.dtype(), is_sve(name) ? "llvm.aarch64.sve.bfdot" : "llvm.aarch64.neon.bfdot",
                   {sums, left, right});
}

namespace {

const DataType kInt32 = DataType::Int(32);

struct Step {
  Buffer a, b, c;
};

Buffer view(const char* name, const Array<PrimExpr>& shape, DataType dtype, const char* scope = "global") {
  BufferNode node;
  node.data = make_var(name, pointer_type(dtype, scope));
  node.dtype = dtype;
  node.shape = shape;
  node.elem_offset = make_var(std::string(name) + "_offset", kInt32);
  node.name = name;
  node.offset_factor = 1;
  return make(std::move(node));
}

BufferRegion region(const Buffer& buffer, const Array<PrimExpr>& at) {
  Array<Range> ranges;
  for (size_t i = 0; i < buffer->shape.size(); ++i)
    ranges.push_back(at.empty() ? make_range(0, buffer->shape[i]) : make_range(at[i], 1));
  return make(BufferRegionNode{.buffer = buffer, .region = ranges});
}

Stmt realize(BlockNode block, const Array<PrimExpr>& bindings) {
  return make(BlockRealize{.iter_values = bindings, .predicate = bool_imm(true), .block = make(std::move(block))});
}

PrimFunc function_of(const Step& step, Stmt body) {
  BlockNode root;
  root.name_hint = "root";
  root.reads = {region(step.c, {}), region(step.a, {}), region(step.b, {})};
  root.writes = {region(step.c, {})};
  root.body = std::move(body);
  Array<Var> params;
  Map<Var, Buffer> buffers;
  for (const Buffer& buffer : {step.a, step.b, step.c}) {
    params.push_back(make_var(buffer->name.str() + "_handle", DataType::Handle()));
    buffers.set(params.back(), buffer);
  }
  return make_prim_func(params, realize(std::move(root), {}), buffers);
}

Step make_step(const GroupDot& dot, int lanes) {
  return {view("A", {dot.group}, dot.a), view("B", {lanes, dot.group}, dot.b), view("C", {lanes}, dot.sum, "local")};
}

PrimFunc description(const GroupDot& dot, int lanes) {
  Step step = make_step(dot, lanes);
  Var j = make_var("j", kInt32), k = make_var("k", kInt32), vj = make_var("vj", kInt32), vk = make_var("vk", kInt32);
  BlockNode update;
  update.name_hint = "update";
  update.iter_vars = {make_iter_var(make_range(0, lanes), vj, IterType::DataPar),
                      make_iter_var(make_range(0, dot.group), vk, IterType::CommReduce)};
  update.reads = {region(step.c, {vj}), region(step.a, {vk}), region(step.b, {vj, vk})};
  update.writes = {region(step.c, {vj})};
  PrimExpr term = cast(dot.sum, make_load(step.a, {vk})) * cast(dot.sum, make_load(step.b, {vj, vk}));
  update.body = make(BufferStore{.buffer = step.c, .value = make_load(step.c, {vj}) + term, .indices = {vj}});
  Stmt body = realize(std::move(update), {j, k});
  body = make(For{.loop_var = k, .min = 0, .extent = dot.group, .body = body});
  return function_of(step, make(For{.loop_var = j, .min = 0, .extent = lanes, .body = body}));
}

PrimFunc implementation(const GroupDot& dot, const Isa& isa, int lanes) {
  Step step = make_step(dot, lanes);
  PrimExpr group = make_broadcast(reinterpret(kInt32, vload(step.a, {0}, dot.a.with_lanes(dot.group))), lanes);
  PrimExpr weights = reinterpret(kInt32.with_lanes(lanes), vload(step.b, {0, 0}, dot.b.with_lanes(dot.group * lanes)));
  PrimExpr sums = vload(step.c, {0}, dot.sum.with_lanes(lanes));
  PrimExpr value = group_dot(dot, isa, sums, group, weights);
  return function_of(step, vstore(step.c, {0}, value));
}

}  // namespace

String group_dot_intrin(const GroupDot& dot, const Isa& isa) {
  const std::string name = "dot_" + dot.a.str() + "_" + isa.name;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (find_tensor_intrin(name)) return name;
  const int lanes = isa.vector_bytes / kInt32.bytes();
  PrimFunc desc = description(dot, lanes), impl = implementation(dot, isa, lanes);
  register_tensor_intrin(name, make(tessera::TensorIntrinNode{.desc = desc, .impl = impl}), false);
  return name;
}

}  // namespace tessera::topi

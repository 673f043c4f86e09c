#include "topi/cpu/contraction/micro_kernel.h"

#include "codegen/target_cpu.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "tir/buffer_access.h"
#include "topi/cpu/contraction/group_dot.h"
#include "topi/cpu/contraction/half_floats.h"
#include "topi/cpu/contraction/register_tile.h"
#include "topi/cpu/cost_model.h"

namespace tessera::topi {
namespace {

register_types<MicroKernelNode> types;

const DataType kInt32 = DataType::Int(32), kFloat32 = DataType::Float(32);

const Dot kDots[] = {
    {"", kFloat32, kFloat32, kFloat32, 1, nullptr},
    {"", DataType::Float(64), DataType::Float(64), DataType::Float(64), 1, nullptr},
    {"", kFloat32, DataType::Float(16), kFloat32, 1, nullptr},
    {"", kFloat32, DataType::BFloat(16), kFloat32, 1, nullptr},
    {"avx512", DataType::BFloat(16), DataType::BFloat(16), kFloat32, kBf16Dot.group,
     "llvm.x86.avx512bf16.dpbf16ps.512"},
    {"neon", DataType::BFloat(16), DataType::BFloat(16), kFloat32, kBf16Dot.group, "llvm.aarch64.neon.bfdot"},
    {"avx512", DataType::UInt(8), DataType::Int(8), kInt32, kInt8Group, "llvm.x86.avx512.vpdpbusd.512"},
    {"avx2", DataType::UInt(8), DataType::Int(8), kInt32, kInt8Group, "llvm.x86.avx2.pmadd.wd"},
    {"neon", DataType::UInt(8), DataType::Int(8), kInt32, kInt8Group, "llvm.aarch64.neon.usdot"},
    {"neon-sdot", DataType::UInt(8), DataType::Int(8), kInt32, kInt8Group, "llvm.aarch64.neon.sdot"},
    {"sve", DataType::UInt(8), DataType::Int(8), kInt32, kInt8Group, "llvm.aarch64.sve.usdot"},
    {"sve", DataType::BFloat(16), DataType::BFloat(16), kFloat32, 2, "llvm.aarch64.sve.bfdot"},
    {"neon", DataType::Int(8), DataType::Int(8), kInt32, 4, "llvm.aarch64.neon.sdot"},
};

/// True for rows of all families, of this one, and of SVE of any length.
bool is_of(const Dot& dot, std::string_view isa) {
  return dot.isa.empty() || dot.isa == isa || (dot.isa == "sve" && is_sve(isa));
}

/// A kernel on its panels, as a tile of sums.
class KernelBuilder {
 public:
  KernelBuilder(const MicroKernel& kernel, Panels panels)
      : kernel_(kernel), dot_(find_dot(kernel->isa.str(), kernel->a_dtype)), panels_(std::move(panels)) {
    size_ = {kernel->mr, kernel->nr / kernel->lanes, kernel->lanes, kernel->lanes};
    vector_ = kernel->c_dtype.with_lanes(kernel->lanes);
  }

  Stmt run(Sums start) {
    OuterTile tile;
    tile.dtype = kernel_->c_dtype;
    tile.size = size_;
    tile.depth = kernel_->kc / kernel_->group;
    tile.a = [&](int64_t i, const PrimExpr& k) { return row_element(i, k); };
    tile.b = [&](const PrimExpr& k, int64_t v) { return column_vector(v, k); };
    tile.multiply_add = [&](const PrimExpr& sum, const PrimExpr& a, const PrimExpr& b) {
      return multiply_add(dot_, find_isa(kernel_->isa.str()), sum, a, b);
    };
    if (start == Sums::FromMemory)
      tile.first = [&](int64_t i, int64_t v) { return vload(panels_.c, at(i, v), vector_); };
    tile.use = [&](const Buffer& sums) {
      return each_sum([&](int64_t i, int64_t v) {
        const PrimExpr first(static_cast<int>((i * size_.vectors + v) * size_.lanes));
        return vstore(panels_.c, at(i, v), load_vector(sums, first, size_.lanes, size_.lanes));
      });
    };
    return outer_tile(tile);
  }

  Stmt clear() {
    PrimExpr zero = make_broadcast(make_zero(kernel_->c_dtype), kernel_->lanes);
    return each_sum([&](int64_t i, int64_t v) { return vstore(panels_.c, at(i, v), zero); });
  }

 private:
  Stmt each_sum(const std::function<Stmt(int64_t i, int64_t v)>& statement) const {
    std::vector<Stmt> all;
    for (int64_t i = 0; i < size_.rows; ++i)
      for (int64_t v = 0; v < size_.vectors; ++v) all.push_back(statement(i, v));
    return sequence(all);
  }
  /// The first element of a sum in C.
  Array<PrimExpr> at(int64_t i, int64_t v) const { return {static_cast<int>(i), static_cast<int>(v * kernel_->lanes)}; }

  PrimExpr row_element(int64_t i, const PrimExpr& k) {
    const int group = kernel_->group, row = static_cast<int>(i);
    if (group == 1) return make_load(panels_.a, {row, k});
    return reinterpret(kInt32, vload(panels_.a, {row, k * group}, kernel_->a_dtype.with_lanes(group)));
  }

  PrimExpr column_vector(int64_t v, const PrimExpr& k) {
    const int group = kernel_->group, first = static_cast<int>(v * kernel_->lanes);
    if (group == 1) return vload(panels_.b, {k, first}, vector_);
    DataType groups = kernel_->b_dtype.with_lanes(kernel_->lanes * group);
    return reinterpret(kInt32.with_lanes(kernel_->lanes), vload(panels_.b, {k, first, 0}, groups));
  }

  MicroKernel kernel_;
  const Dot& dot_;
  Panels panels_;
  TileSize size_;
  DataType vector_;
};

}  // namespace

PrimExpr multiply_add(const Dot& dot, const Isa& isa, const PrimExpr& sum, const PrimExpr& a, const PrimExpr& b) {
  if (!dot.intrinsic) return sum + a * b;
  for (const GroupDot& known : {kInt8Dot, kBf16Dot})
    if (dot.a == known.a) return group_dot(known, isa, sum, a, b);
  PrimExpr left = a, right = b;
  if (isa.name == std::string_view("neon")) {  // takes vectors of elements
    const DataType elements = dot.a.with_lanes(sum.dtype().lanes * dot.group);
    left = reinterpret(elements, a), right = reinterpret(elements, b);
  }
  PrimExpr id = make_const(DataType::UInt(32), codegen::llvm_intrinsic_id(dot.intrinsic));
  return make_call(sum.dtype(), "tir.call_llvm_pure_intrin", {id, make_const(DataType::UInt(32), 3), sum, left, right});
}

const Dot& find_dot(std::string_view isa, DataType a) {
  std::string known;
  for (const Dot& dot : kDots) {
    if (!is_of(dot, isa)) continue;
    if (dot.a == a) return dot;
    if (known.find(dot.a.str()) == std::string::npos) known += (known.empty() ? "" : ", ") + dot.a.str();
  }
  throw Error(ValueError) << "no micro-kernel of " << isa << " multiplies " << a << "; there are those of " << known;
}

const Isa& matmul_isa(const Machine& machine, DataType dtype) {
  const Isa* isa = dtype == DataType::UInt(8) ? int8_isa(machine) : nullptr;
  return isa ? *isa : find_isa(machine->isa.str());
}

const Dot* dot_on(const Machine& machine, DataType a, DataType b) {
  if (machine->isa.empty()) return nullptr;
  if (a == DataType::UInt(8) && !int8_isa(machine)) return nullptr;
  if (a.is_bfloat() && !multiplies_bf16(machine)) return nullptr;
  if (a != b && is_half_float(b) && !widens_when_read(machine, b)) return nullptr;
  const std::string_view isa = matmul_isa(machine, a).name;
  for (const Dot& dot : kDots)
    if (is_of(dot, isa) && dot.a == a && dot.b == b) return &dot;
  return nullptr;
}

MicroKernel micro_kernel(const String& isa, DataType a, int mr, int nr, int kc) {
  const Isa& machine = find_isa(isa.str());
  const Dot& dot = find_dot(isa.str(), a);
  int lanes = machine.vector_bytes / dot.c.bytes();
  if (mr < 1 || nr < 1 || kc < 1 || nr % lanes || kc % dot.group)
    throw Error(ValueError) << "a micro-kernel of " << mr << "x" << nr << "x" << kc << " cannot be: nr has to be a "
                            << "multiple of the " << lanes << " lanes of " << isa << " and kc of " << dot.group;
  const int64_t needed = outer_registers({mr, nr / lanes});
  if (needed > machine.registers)
    throw Error(ValueError) << "a micro-kernel of " << mr << "x" << nr << " needs " << needed << " vector registers, "
                            << isa << " has " << machine.registers;
  MicroKernelNode out;
  out.isa = isa;
  out.a_dtype = dot.a;
  out.b_dtype = dot.b;
  out.c_dtype = dot.c;
  out.mr = mr;
  out.nr = nr;
  out.kc = kc;
  out.lanes = lanes;
  out.group = dot.group;
  out.name = "gemm_" + isa.str() + "_" + a.str() + "_" + std::to_string(mr) + "x" + std::to_string(nr) + "x" +
             std::to_string(kc);
  return make(std::move(out));
}

Stmt kernel_body(const MicroKernel& kernel, const Panels& panels, Sums start) {
  return KernelBuilder(kernel, panels).run(start);
}

Stmt kernel_clear(const MicroKernel& kernel, const Panels& panels) { return KernelBuilder(kernel, panels).clear(); }

namespace {

Globals globals{{"topi.cpu.micro_kernel", micro_kernel}};

}  // namespace
}  // namespace tessera::topi

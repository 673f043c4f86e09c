#include "topi/cpu/contraction/micro_kernel.h"

#include "codegen/target_cpu.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "tir/buffer_access.h"
#include "topi/cpu/contraction/group_dot.h"
#include "topi/cpu/contraction/matmul_tile.h"
#include "topi/cpu/contraction/narrow_floats.h"

namespace tessera::topi {
namespace {

register_types<MicroKernelNode> types;

const DataType kInt32 = DataType::Int(32), kFloat32 = DataType::Float(32);

const Dot kDots[] = {
    {"", kFloat32, kFloat32, kFloat32, 1, nullptr},
    {"", DataType::Float(64), DataType::Float(64), DataType::Float(64), 1, nullptr},
    {"", kFloat32, DataType::Float(16), kFloat32, 1, nullptr},
    {"", kFloat32, DataType::BFloat(16), kFloat32, 1, nullptr},
    {"avx512", DataType::BFloat(16), DataType::BFloat(16), kFloat32, kBfloatDot.group,
     "llvm.x86.avx512bf16.dpbf16ps.512"},
    {"neon", DataType::BFloat(16), DataType::BFloat(16), kFloat32, kBfloatDot.group, "llvm.aarch64.neon.bfdot"},
    {"avx512", DataType::UInt(8), DataType::Int(8), kInt32, kByteGroup, "llvm.x86.avx512.vpdpbusd.512"},
    {"avx2", DataType::UInt(8), DataType::Int(8), kInt32, kByteGroup, "llvm.x86.avx2.pmadd.wd"},
    {"neon", DataType::UInt(8), DataType::Int(8), kInt32, kByteGroup, "llvm.aarch64.neon.usdot"},
    {"neon-sdot", DataType::UInt(8), DataType::Int(8), kInt32, kByteGroup, "llvm.aarch64.neon.sdot"},
    {"sve", DataType::UInt(8), DataType::Int(8), kInt32, kByteGroup, "llvm.aarch64.sve.usdot"},
    {"sve", DataType::BFloat(16), DataType::BFloat(16), kFloat32, 2, "llvm.aarch64.sve.bfdot"},
    {"neon", DataType::Int(8), DataType::Int(8), kInt32, 4, "llvm.aarch64.neon.sdot"},
};

constexpr int64_t kLineBytes = 64;

/// Registers that hold no sum: the vectors of B, and two to broadcast elements of A in turns.
int working_registers(int vectors) { return vectors + 2; }

/// True for rows of all families, of this one, and of SVE of any length.
bool is_of(const Dot& dot, std::string_view isa) {
  return dot.isa.empty() || dot.isa == isa || (dot.isa == "sve" && is_sve(isa));
}

class KernelBuilder {
 public:
  KernelBuilder(const MicroKernel& kernel, Panels panels, const NextPanel& next = {})
      : kernel_(kernel),
        dot_(find_dot(kernel->isa.str(), kernel->a_dtype, kernel->b_dtype)),
        panels_(std::move(panels)),
        next_(next) {
    vectors_ = kernel->nr / kernel->lanes;
    vector_ = kernel->c_dtype.with_lanes(kernel->lanes);
    sums_.data = make_var("sums", pointer_type(vector_, "local"));
    sums_.dtype = vector_;
    sums_.shape = {kernel->mr * vectors_};
    sums_.elem_offset = 0;
    sums_.name = "sums";
  }

  ///   sums = C or 0;  for k: sums += A[:, k] x B[k, :];  C = sums
  Stmt run(Sums start) {
    Buffer sums = make(BufferNode(sums_));
    Array<PrimExpr> extents = sums->shape;
    std::vector<Stmt> parts;
    for_tile([&](int i, int j) {
      PrimExpr first = start == Sums::FromZero ? zero() : vload(panels_.c, {i, j * kernel_->lanes}, vector_);
      parts.push_back(store(sums, at(i, j), first));
    });
    Var k = make_var("k", kInt32);
    Stmt step = next_.distance == 0 ? multiply(sums, k) : sequence({fetch(k), multiply(sums, k)});
    parts.push_back(make(For{.loop_var = k, .min = 0, .extent = kernel_->kc / kernel_->group, .body = step}));
    for_tile([&](int i, int j) {
      parts.push_back(vstore(panels_.c, {i, j * kernel_->lanes}, make_load(sums, {at(i, j)})));
    });
    return make(Allocate{.buffer_var = sums->data,
                         .dtype = vector_,
                         .extents = extents,
                         .condition = bool_imm(true),
                         .body = sequence(parts)});
  }

  Stmt clear() {
    std::vector<Stmt> parts;
    for_tile([&](int i, int j) { parts.push_back(vstore(panels_.c, {i, j * kernel_->lanes}, zero())); });
    return sequence(parts);
  }

 private:
  template <class F>
  void for_tile(F visit) {
    for (int i = 0; i < kernel_->mr; ++i)
      for (int j = 0; j < vectors_; ++j) visit(i, j);
  }
  int at(int i, int j) const { return i * vectors_ + j; }
  PrimExpr zero() const { return make_broadcast(make_zero(kernel_->c_dtype), kernel_->lanes); }
  static Stmt store(const Buffer& buffer, int index, PrimExpr value) {
    return make(BufferStore{.buffer = buffer, .value = std::move(value), .indices = {index}});
  }

  /// One step of k: each vector of B and each element of A is read once.
  Stmt multiply(const Buffer& sums, const Var& k) {
    std::vector<Var> columns;
    for (int j = 0; j < vectors_; ++j) columns.push_back(make_var("b" + std::to_string(j), step_dtype()));
    std::vector<Stmt> rows;
    for (int i = 0; i < kernel_->mr; ++i) {
      Var element = make_var("a" + std::to_string(i), step_dtype());
      std::vector<Stmt> row;
      for (int j = 0; j < vectors_; ++j)
        row.push_back(store(sums, at(i, j), step(make_load(sums, {at(i, j)}), element, columns[size_t(j)])));
      rows.push_back(make(LetStmt{.var = element, .value = row_element(i, k), .body = sequence(row)}));
    }
    Stmt body = sequence(rows);
    for (int j = vectors_; j-- > 0;)
      body = make(LetStmt{.var = columns[size_t(j)], .value = column_vector(j, k), .body = body});
    return body;
  }

  /// Brings a few elements of the next panel near; that of the last is the panel itself.
  Stmt fetch(const Var& k) {
    const int steps = kernel_->kc / kernel_->group;
    const int64_t each = (int64_t{kernel_->kc} * kernel_->nr + steps * next_.tiles - 1) / (steps * next_.tiles);
    PrimExpr tile = floordiv(panels_.a->elem_offset, panels_.a->strides[0] * kernel_->mr);
    PrimExpr distance = make_const(kInt32, next_.distance);
    PrimExpr ahead = select(panels_.b->elem_offset + distance < make_const(kInt32, next_.size), distance, PrimExpr(0));
    const Array<PrimExpr> first(panels_.b->shape.size() - 1, PrimExpr(0));
    std::vector<Stmt> lines;
    for (int64_t line = 0; line < each; line += kLineBytes / kernel_->b_dtype.bytes()) {
      Array<PrimExpr> at = first;
      at.push_back(ahead + (tile * steps + k) * static_cast<int>(each) + static_cast<int>(line));
      lines.push_back(brought_near(panels_.b, at, /*to_write=*/false, Near::SecondLevel));
    }
    return sequence(lines);
  }

  /// What an instruction takes: a vector of elements, or of groups of them seen as whole lanes.
  DataType step_dtype() const { return dot_.group == 1 ? vector_ : kInt32.with_lanes(kernel_->lanes); }

  PrimExpr row_element(int i, const Var& k) {
    int group = kernel_->group;
    if (group == 1) return make_broadcast(make_load(panels_.a, {i, k}), kernel_->lanes);
    PrimExpr neighbours = vload(panels_.a, {i, k * group}, kernel_->a_dtype.with_lanes(group));
    return make_broadcast(reinterpret(kInt32, neighbours), kernel_->lanes);
  }

  PrimExpr column_vector(int j, const Var& k) {
    int group = kernel_->group, first = j * kernel_->lanes;
    if (group == 1) return cast(vector_, vload(panels_.b, {k, first}, kernel_->b_dtype.with_lanes(kernel_->lanes)));
    DataType groups = kernel_->b_dtype.with_lanes(kernel_->lanes * group);
    return reinterpret(step_dtype(), vload(panels_.b, {k, first, 0}, groups));
  }

  PrimExpr step(const PrimExpr& sum, const Var& a, const Var& b) {
    if (!dot_.intrinsic) return sum + a * b;
    for (const GroupDot& dot : {kByteDot, kBfloatDot})
      if (kernel_->a_dtype == dot.a) return group_dot(dot, find_isa(kernel_->isa.str()), sum, a, b);
    PrimExpr number = make_const(DataType::UInt(32), codegen::llvm_intrinsic_id(dot_.intrinsic));
    PrimExpr left = a, right = b;
    if (kernel_->isa == "neon") {  // takes vectors of elements
      DataType bytes = kernel_->a_dtype.with_lanes(kernel_->lanes * kernel_->group);
      left = reinterpret(bytes, a), right = reinterpret(bytes, b);
    }
    return make_call(vector_, "tir.call_llvm_pure_intrin",
                     {number, make_const(DataType::UInt(32), 3), sum, left, right});
  }

  MicroKernel kernel_;
  Dot dot_;
  Panels panels_;
  NextPanel next_;
  int vectors_;
  DataType vector_;
  BufferNode sums_;
};

}  // namespace

const Dot& find_dot(std::string_view isa, DataType a, DataType b) {
  std::string known;
  for (const Dot& dot : kDots) {
    if (!is_of(dot, isa)) continue;
    if (dot.a == a && (b.is_void() || dot.b == b)) return dot;
    if (known.find(dot.a.str()) == std::string::npos) known += (known.empty() ? "" : ", ") + dot.a.str();
  }
  throw Error(ValueError) << "no micro-kernel of " << isa << " multiplies " << a
                          << (b.is_void() ? "" : " and " + b.str()) << "; there are those of " << known;
}

const Isa& matmul_isa(const Machine& machine, DataType dtype) {
  const Isa* bytes = dtype == DataType::UInt(8) ? byte_isa(machine) : nullptr;
  return bytes ? *bytes : find_isa(machine->isa.str());
}

const Dot* dot_on(const Machine& machine, DataType a, DataType b) {
  if (machine->isa.empty()) return nullptr;
  if (a == DataType::UInt(8) && !byte_isa(machine)) return nullptr;
  if (a.is_bfloat() && !multiplies_bfloats(machine)) return nullptr;
  if (a != b && is_narrow_float(b) && !widens_when_read(machine, b)) return nullptr;
  const std::string_view isa = matmul_isa(machine, a).name;
  for (const Dot& dot : kDots)
    if (is_of(dot, isa) && dot.a == a && dot.b == b) return &dot;
  return nullptr;
}

MicroKernel micro_kernel(const String& isa, DataType a, int mr, int nr, int kc, DataType b) {
  const Isa& machine = find_isa(isa.str());
  const Dot& dot = find_dot(isa.str(), a, b);
  int lanes = machine.vector_bytes / dot.c.bytes();
  if (mr < 1 || nr < 1 || kc < 1 || nr % lanes || kc % dot.group)
    throw Error(ValueError) << "a micro-kernel of " << mr << "x" << nr << "x" << kc << " cannot be: nr has to be a "
                            << "multiple of the " << lanes << " lanes of " << isa << " and kc of " << dot.group;
  int vectors = nr / lanes, needed = mr * vectors + working_registers(vectors);
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
  const std::string types = dot.b == find_dot(isa.str(), a).b ? a.str() : a.str() + "_" + dot.b.str();
  out.name = "gemm_" + isa.str() + "_" + types + "_" + std::to_string(mr) + "x" + std::to_string(nr) + "x" +
             std::to_string(kc);
  return make(std::move(out));
}

Stmt kernel_body(const MicroKernel& kernel, const Panels& panels, Sums start, const NextPanel& next) {
  return KernelBuilder(kernel, panels, next).run(start);
}

Stmt kernel_clear(const MicroKernel& kernel, const Panels& panels) { return KernelBuilder(kernel, panels).clear(); }

namespace {

Globals globals{{"topi.cpu.micro_kernel", [](const String& isa, DataType dtype, int mr, int nr, int kc) {
                   return micro_kernel(isa, dtype, mr, nr, kc);
                 }}};

}  // namespace
}  // namespace tessera::topi

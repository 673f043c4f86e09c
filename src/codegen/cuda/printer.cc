#include "codegen/cuda/printer.h"

#include "codegen/cuda/cluster_symbol.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"

namespace tessera::codegen {
namespace {

constexpr int kVectorBytes = 16;  // the widest access

constexpr const char* kPrelude = R"(#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
)";

constexpr const char* kVector = R"(template <class T, int N>
struct alignas(sizeof(T) * N) tsr_vec {
  T lane[N];
};
)";

bool is_half(DataType dtype) { return dtype.is_float() && dtype.bits == 16; }
bool is_bfloat(DataType dtype) { return dtype.is_bfloat() && dtype.bits == 16; }

/// CUDA's own vector types ("float4") of a scalar type, or an empty string.
std::string builtin_vector(DataType dtype) {
  if (dtype.lanes != 2 && (dtype.lanes != 4 || dtype.bits > 32)) return "";
  std::string name;
  if (is_half(dtype)) return dtype.lanes == 2 ? "half2" : "";
  if (is_bfloat(dtype)) return dtype.lanes == 2 ? "__nv_bfloat162" : "";
  if (dtype.is_float()) name = dtype.bits == 32 ? "float" : "double";
  else
    name = std::string(dtype.is_uint() ? "u" : "") + (dtype.bits <= 8    ? "char"
                                                      : dtype.bits == 16 ? "short"
                                                      : dtype.bits == 32 ? "int"
                                                                         : "longlong");
  return name + std::to_string(dtype.lanes);
}

}  // namespace

CudaPrinter::CudaPrinter()
    : KernelPrinter({"class",   "new",       "delete",    "this",     "template", "namespace", "operator",
                     "private", "public",    "protected", "using",    "virtual",  "try",       "catch",
                     "throw",   "and",       "or",        "not",      "xor",      "asm",       "half",
                     "half2",   "threadIdx", "blockIdx",  "blockDim", "gridDim",  "warpSize",  "exp",
                     "log",     "sqrt",      "min",       "max",      "floor",    "ceil",      "round",
                     "pow",     "sin",       "cos",       "tan",      "nvcuda",   "alignas",   "decltype"}) {}

std::string CudaPrinter::value_type(DataType dtype) {
  if (dtype.is_void()) return "void";
  if (dtype.is_handle()) return "void*";
  if (dtype.is_bool()) return "bool";
  if (dtype.is_integral() && dtype.bits <= 64) {
    std::string sign = dtype.is_uint() ? "unsigned " : "";
    if (dtype.bits <= 8) return dtype.is_uint() ? "unsigned char" : "signed char";
    return sign + (dtype.bits <= 16 ? "short" : dtype.bits <= 32 ? "int" : "long long");
  }
  if (is_half(dtype)) return uses_half_ = true, "half";
  if (is_bfloat(dtype)) return uses_bfloat_ = true, "__nv_bfloat16";
  if (dtype.is_float() && dtype.bits == 32) return "float";
  if (dtype.is_float() && dtype.bits == 64) return "double";
  throw Error(TypeError) << "no CUDA type stands for " << dtype;
}

std::string CudaPrinter::memory_type(DataType dtype) { return dtype.is_bool() ? "unsigned char" : value_type(dtype); }

std::string CudaPrinter::vector_type(DataType dtype) {
  DataType element = dtype.is_bool() ? DataType::UInt(8, dtype.lanes) : dtype;
  value_type(element.element());  // notes what has to be included
  std::string name = builtin_vector(element);
  if (!name.empty()) return name;
  need("tsr_vec", kVector);
  return "tsr_vec<" + memory_type(element.element()) + ", " + std::to_string(dtype.lanes) + ">";
}

std::string CudaPrinter::lane_of(const std::string& vector, int lane, DataType dtype) {
  DataType element = dtype.is_bool() ? DataType::UInt(8, dtype.lanes) : dtype;
  if (builtin_vector(element).empty()) return vector + ".lane[" + std::to_string(lane) + "]";
  return vector + "." + "xyzw"[lane];
}

/// Lanes `first`, ... as one value of the vector type; a vector that is whole already stays as it is.
std::string CudaPrinter::make_vector(const Lanes& lanes, size_t first, DataType dtype) {
  size_t count = static_cast<size_t>(dtype.lanes);
  const std::string& head = lanes[first];
  if (size_t dot = head.find('.'); dot != head.npos && !dtype.is_bool()) {
    std::string name = head.substr(0, dot);
    bool is_whole = is_atom(name);
    for (size_t i = 0; i < count && is_whole; ++i)
      is_whole = lanes[first + i] == lane_of(name, static_cast<int>(i), dtype);
    auto it = vector_names_.find(name);
    if (is_whole && it != vector_names_.end() && it->second == vector_type(dtype)) return name;
  }
  std::string list, type = vector_type(dtype);
  for (size_t i = 0; i < count; ++i) list += (i ? ", " : "") + lanes[first + i];
  if (type.starts_with("tsr_vec")) return type + "{{" + list + "}}";
  if (type == "half2") return "__halves2half2(" + list + ")";
  if (type == "__nv_bfloat162") return "__halves2bfloat162(" + list + ")";
  return "make_" + type + "(" + list + ")";
}

std::string CudaPrinter::pack(const Lanes& lanes, DataType dtype) { return make_vector(lanes, 0, dtype); }

/// Tensors start at multiples of 16 bytes, so that an index that is a multiple of a whole access makes it aligned.
bool CudaPrinter::has_vector_access(DataType dtype, const Buffer&, const PrimExpr& first) {
  int bytes = dtype.bytes() * dtype.lanes;
  bool is_plain = dtype.bits == 1 || (dtype.bits >= 8 && (dtype.bits & (dtype.bits - 1)) == 0);
  if (!is_plain) return false;
  if (bytes > kVectorBytes) return bytes % kVectorBytes == 0 && is_multiple_of(first, kVectorBytes / dtype.bytes());
  return (bytes & (bytes - 1)) == 0 && is_multiple_of(first, dtype.lanes);
}

Lanes CudaPrinter::load_vector(const std::string& pointer, const std::string& index, DataType dtype) {
  int step = std::min<int>(dtype.lanes, kVectorBytes / dtype.bytes());
  DataType part = dtype.with_lanes(step);
  std::string type = vector_type(part), at = atom(index, DataType::Int(64));
  Lanes out;
  for (int first = 0; first < dtype.lanes; first += step) {
    std::string name = fresh_name("v");
    vector_names_[name] = type;
    line(type + " " + name + " = *(const " + type + "*)(" + pointer + " + " + at +
         (first ? " + " + std::to_string(first) : "") + ");");
    for (int lane = 0; lane < step; ++lane) out.push_back(from_memory(lane_of(name, lane, part), dtype.element()));
  }
  return out;
}

void CudaPrinter::store_vector(const std::string& pointer, const std::string& index, const Lanes& value,
                               DataType dtype) {
  int step = std::min<int>(dtype.lanes, kVectorBytes / dtype.bytes());
  DataType part = dtype.with_lanes(step);
  std::string type = vector_type(part), at = step == dtype.lanes ? index : atom(index, DataType::Int(64));
  Lanes held = value;
  if (step != dtype.lanes)  // all is read before the first part is written
    for (std::string& lane : held) lane = atom(lane, dtype.element());
  for (int first = 0; first < dtype.lanes; first += step)
    line("*(" + type + "*)(" + pointer + " + " + at + (first ? " + " + std::to_string(first) : "") +
         ") = " + make_vector(held, static_cast<size_t>(first), part) + ";");
}

std::string CudaPrinter::constant(const FloatImm* op) {
  std::string out = SourcePrinter::constant(op);
  if (is_half(op->dtype)) return uses_half_ = true, "__float2half_rn(" + out + ")";
  if (is_bfloat(op->dtype)) return uses_bfloat_ = true, "__float2bfloat16_rn(" + out + ")";
  return out;
}

std::string CudaPrinter::cast_scalar(const std::string& value, DataType from, DataType to) {
  if (from == to) return value;
  if (is_half(from) || is_bfloat(from)) {
    std::string wide = std::string(is_half(from) ? "__half2float(" : "__bfloat162float(") + value + ")";
    return cast_scalar(wide, DataType::Float(32), to);
  }
  if (is_half(to)) {
    uses_half_ = true;
    if (from.is_float()) return std::string(from.bits == 64 ? "__double2half(" : "__float2half_rn(") + value + ")";
    if (from.bits > 32) return std::string(from.is_int() ? "__ll2half_rn(" : "__ull2half_rn(") + value + ")";
    return std::string(from.is_int() || from.bits < 32 ? "__int2half_rn((int)" : "__uint2half_rn(") + value + ")";
  }
  if (is_bfloat(to)) {
    uses_bfloat_ = true;
    if (from.is_float() && from.bits == 64) return "__double2bfloat16(" + value + ")";
    return "__float2bfloat16_rn(" + cast_scalar(value, from, DataType::Float(32)) + ")";
  }
  return SourcePrinter::cast_scalar(value, from, to);
}

std::string CudaPrinter::bits_as(const std::string& value, DataType from, DataType to) {
  if (from.is_integral() && to.is_integral()) return "((" + value_type(to) + ")" + value + ")";
  auto name = [](DataType dtype) -> std::string {
    if (is_half(dtype)) return "half";
    if (is_bfloat(dtype)) return "bfloat16";
    if (dtype.is_float()) return dtype.bits == 32 ? "float" : "double";
    if (dtype.bits == 16) return dtype.is_int() ? "short" : "ushort";
    if (dtype.bits == 32) return dtype.is_int() ? "int" : "uint";
    return "longlong";
  };
  std::string operand = value;
  if (from.is_uint() && from.bits == 64) operand = "(long long)" + value;
  std::string out = "__" + name(from) + "_as_" + name(to) + "(" + operand + ")";
  return to.is_uint() && to.bits == 64 ? "((unsigned long long)" + out + ")" : out;
}

std::string CudaPrinter::math_call(const std::string& name, DataType dtype, const Lanes& args) {
  bool is_narrow = is_half(dtype) || is_bfloat(dtype);
  std::string list;
  for (const std::string& arg : args)
    list += (list.empty() ? "" : ", ") + (is_narrow ? cast_scalar(arg, dtype, DataType::Float(32)) : arg);
  std::string out = name + (dtype.bits == 64 ? "" : "f") + "(" + list + ")";
  return is_narrow ? cast_scalar(out, DataType::Float(32), dtype) : out;
}

/// One instruction from Ampere on.
std::string CudaPrinter::extremum_of_floats(bool is_min, DataType dtype, const std::string& a, const std::string& b) {
  if (dtype != DataType::Float(32)) return SourcePrinter::extremum_of_floats(is_min, dtype, a, b);
  const std::string function = is_min ? "min" : "max", name = "tsr_" + function + "_f32";
  need(name, std::string(inline_function()) + " float " + name + "(float a, float b) {\n#if __CUDA_ARCH__ >= 800\n" +
                 "  float out;\n  asm(\"" + function + ".NaN.f32 %0, %1, %2;\" : \"=f\"(out) : \"f\"(a), \"f\"(b));\n" +
                 "  return out;\n#else\n  return " + SourcePrinter::extremum_of_floats(is_min, dtype, "a", "b") +
                 ";\n#endif\n}\n");
  return name + "(" + a + ", " + b + ")";
}

std::string CudaPrinter::kernel_head(const std::string& name, const std::string& params, const BlockSize& size) {
  int64_t threads = size[0] * size[1] * size[2];
  std::string bounds;
  if (threads) {
    const std::string blocks = min_blocks_ > 0 ? ", " + std::to_string(min_blocks_) : "";
    bounds = "__launch_bounds__(" + std::to_string(threads) + blocks + ") ";
    if (cluster_ > 1) bounds += "__cluster_dims__(" + std::to_string(cluster_) + ", 1, 1) ";
  }
  return "extern \"C\" __global__ void " + bounds + name + "(" + params + ")";
}

std::string CudaPrinter::pointer_parameter(const std::string& element, const std::string& name, bool is_const,
                                           bool is_restricted) {
  return (is_const ? "const " : "") + element + "* " + (is_restricted ? "__restrict__ " : "") + name;
}

std::string CudaPrinter::thread_index(const std::string& tag, DataType dtype) {
  bool is_known = tag.size() > 2 && (tag.starts_with("blockIdx.") || tag.starts_with("threadIdx."));
  if (!is_known) throw Error(ValueError) << "CUDA has no thread \"" << tag << "\"";
  return "((" + value_type(dtype) + ")" + tag + ")";
}

std::string CudaPrinter::barrier(const std::string& scope) {
  if (scope == "shared" || scope == "shared.dyn") return "__syncthreads()";
  if (scope == "warp") return "__syncwarp()";
  throw Error(NotImplementedError) << "a barrier over " << scope << " memory is not supported in CUDA";
}

std::string CudaPrinter::declare_array(const std::string& element, const std::string& name, int64_t count,
                                       int alignment, const std::string& scope) {
  std::string align = "__align__(" + std::to_string(alignment) + ") ", size = "[" + std::to_string(count) + "];";
  if (scope == "shared") return "__shared__ " + align + element + " " + name + size;
  if (scope == "local" || scope.starts_with("m16n8k")) return align + element + " " + name + size;
  if (scope == "shared.dyn")  // all kernels of a source declare it alike: as the copy engine wants it
    return "extern __shared__ __align__(1024) unsigned char tsr_dynamic_shared[];\n  " + element + "* " + name +
           " = (" + element + "*)tsr_dynamic_shared;";
  throw Error(NotImplementedError) << "memory of scope " << scope << " in CUDA; it has shared, shared.dyn and local";
}

void CudaPrinter::allocate(const Allocate* op, int64_t count) {
  auto* type = op->buffer_var->type_annotation.as<PointerType>();
  std::string scope = type ? type->storage_scope.str() : "";
  if (scope.starts_with("wmma.")) return allocate_fragment(op, count, scope);
  KernelPrinter::allocate(op, count);
}

void CudaPrinter::visit_loop(const For* op) {
  const bool is_unrolled = op->kind == LoopKind::Unrolled;
  if (is_unrolled) line("#pragma unroll"), unrolled_.push_back(op->loop_var);
  KernelPrinter::visit_loop(op);
  if (is_unrolled) unrolled_.pop_back();
}

std::string CudaPrinter::prelude() {
  std::string out;
  if (uses_half_) out += "#include <cuda_fp16.h>\n";
  if (uses_bfloat_) out += "#include <cuda_bf16.h>\n";
  if (uses_wmma_) out += "#include <mma.h>\n";
  return out + kPrelude;
}

void CudaPrinter::look_at(const PrimFunc& function) {
  vector_names_.clear();
  min_blocks_ = 0;
  cluster_ = 1;
  walk(function->body, [&](const AttrStmt* op) {
    if (const int64_t* blocks = as_int(op->value); blocks && op->attr_key == attr::kMinBlocks) min_blocks_ = *blocks;
    if (const int64_t* blocks = as_int(op->value); blocks && op->attr_key == kClusterBlocks) cluster_ = *blocks;
    auto* var = op->node.as<VarNode>();
    auto* text = op->value.as<StringImm>();
    if (var && text && op->attr_key == "fragment_shape") fragment_shapes_[var] = text->value.str();
    if (var && text && op->attr_key == "fragment_layout") fragment_layouts_[var] = text->value.str();
  });
}

bool CudaPrinter::visit_device_call(const Call* op, Lanes* out) {
  auto* callee = op->op.as<OpNode>();
  if (!callee) return false;
  std::string_view name = callee->name;
  DataType dtype = op->dtype.element();
  if (name.starts_with("tir.tvm_warp_shuffle")) {
    // mask, value, lane or distance, width, size of a warp
    std::string function = name == "tir.tvm_warp_shuffle"      ? "__shfl_sync"
                           : name == "tir.tvm_warp_shuffle_up" ? "__shfl_up_sync"
                                                               : "__shfl_down_sync";
    std::string list;
    for (size_t i = 0; i < 4; ++i) list += (i ? ", " : "") + text(op->args[i]);
    *out = {declare_temporary(op->dtype, function + "(" + list + ")")};
    return true;
  }
  if (name == "tir.rounded_to_bfloat") {
    uses_bfloat_ = true;
    *out = each_lane(op, [](const Lanes& a) { return "__bfloat16_as_ushort(__float2bfloat16_rn(" + a[0] + "))"; });
    return true;
  }
  if (name == "tir.tvm_warp_activemask") return *out = {"__activemask()"}, true;
  if (name == "tir.popcount" || name == "tir.clz") {
    DataType from = op->args[0].dtype().element();
    std::string function = name == "tir.popcount" ? "__popc" : "__clz", type = value_type(DataType::UInt(from.bits));
    if (from.bits > 32) function += "ll";
    int excess = name == "tir.clz" && from.bits < 32 ? 32 - from.bits : 0;
    *out = each_lane(op, [&](const Lanes& a) {
      std::string bits = function + "((" + type + ")" + a[0] + ")";
      return "((" + value_type(dtype) + ")(" + bits + (excess ? " - " + std::to_string(excess) : "") + "))";
    });
    return true;
  }
  if (name == "tir.atomic_add") {
    DataType type = op->args[1].dtype();
    std::string cast = type.bits == 64 && type.is_integral() ? "(unsigned long long*)" : "";
    std::string value = cast.empty() ? text(op->args[1]) : "(unsigned long long)" + text(op->args[1]);
    std::string pointer = cast.empty() ? "(" + value_type(type) + "*)" + text(op->args[0]) : cast + text(op->args[0]);
    *out = {declare_temporary(type, "atomicAdd(" + pointer + ", " + value + ")")};
    return true;
  }
  if (name == "tir.ptx_shuffle_xor") {
    const std::string list = "0xffffffff, " + text(op->args[0]) + ", " + text(op->args[1]);
    return *out = {declare_temporary(op->dtype, "__shfl_xor_sync(" + list + ")")}, true;
  }
  if (name == "tir.ptx_exp2") {
    need_hopper_functions();
    *out = each_lane(op, [](const Lanes& a) { return "tsr_exp2(" + a[0] + ")"; });
    return true;
  }
  if (!matrix_call(op) && !hopper_call(op)) return false;
  *out = {""};
  return true;
}

}  // namespace tessera::codegen

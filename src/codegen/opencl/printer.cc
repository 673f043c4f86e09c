#include "codegen/opencl/printer.h"

namespace tessera::codegen {
namespace {

constexpr const char* kHalf = R"(#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half tsr_half;
#define TSR_HALF(x) ((half)(x))
#define TSR_LOAD_HALF(p, i) ((p)[i])
#define TSR_STORE_HALF(p, i, x) ((p)[i] = (x))
#define TSR_HALF_BITS(x) as_ushort(x)
#define TSR_HALF_OF_BITS(x) as_half((ushort)(x))
#else
typedef float tsr_half;
static inline ushort tsr_half_bits(float x) {
  ushort bits;
  vstore_half(x, 0, (__private half*)&bits);
  return bits;
}
static inline float tsr_half_of_bits(ushort bits) { return vload_half(0, (__private half*)&bits); }
#define TSR_HALF(x) tsr_half_of_bits(tsr_half_bits((float)(x)))
#define TSR_LOAD_HALF(p, i) vload_half(i, p)
#define TSR_STORE_HALF(p, i, x) vstore_half(x, i, p)
#define TSR_HALF_BITS(x) tsr_half_bits(x)
#define TSR_HALF_OF_BITS(x) tsr_half_of_bits(x)
#endif
)";

constexpr const char* kDouble = R"(#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
)";

bool is_half(DataType dtype) { return dtype.is_float() && dtype.bits == 16; }

bool is_vector_length(int lanes) { return lanes == 2 || lanes == 3 || lanes == 4 || lanes == 8 || lanes == 16; }

}  // namespace

OpenCLPrinter::OpenCLPrinter()
    : KernelPrinter({"kernel",    "global",  "local",   "constant", "private",   "half",       "uchar",
                     "ushort",    "uint",    "ulong",   "size_t",   "read_only", "write_only", "image2d_t",
                     "sampler_t", "event_t", "vector",  "exp",      "log",       "sqrt",       "min",
                     "max",       "select",  "barrier", "floor",    "ceil",      "round",      "pow",
                     "step",      "mix",     "dot",     "cross",    "length",    "normalize"}) {}

std::string OpenCLPrinter::value_type(DataType dtype) {
  if (dtype.is_void()) return "void";
  if (dtype.is_bool()) return "bool";
  if (dtype.is_integral() && dtype.bits <= 64) {
    const char* name = dtype.bits <= 8 ? "char" : dtype.bits <= 16 ? "short" : dtype.bits <= 32 ? "int" : "long";
    return (dtype.is_uint() ? "u" : "") + std::string(name);
  }
  if (is_half(dtype)) return uses_half_ = true, "tsr_half";
  if (dtype.is_float() && dtype.bits == 32) return "float";
  if (dtype.is_float() && dtype.bits == 64) return uses_double_ = true, "double";
  throw Error(TypeError) << "no OpenCL type stands for " << dtype;
}

std::string OpenCLPrinter::memory_type(DataType dtype) {
  if (dtype.is_bool()) return "uchar";
  if (is_half(dtype)) return uses_half_ = true, "half";
  return value_type(dtype);
}

/// Without half arithmetic only pointers to half may be declared, no arrays of it.
std::string OpenCLPrinter::array_type(DataType dtype) { return is_half(dtype) ? "ushort" : memory_type(dtype); }

std::string OpenCLPrinter::pointer_to(const std::string& element, const std::string& scope) {
  const char* space = scope.starts_with("shared") ? "__local " : scope == "local" ? "__private " : "__global ";
  return space + element + "*";
}

std::string OpenCLPrinter::load_element(const std::string& pointer, const std::string& index, DataType dtype) {
  if (!is_half(dtype)) return SourcePrinter::load_element(pointer, index, dtype);
  return "TSR_LOAD_HALF(" + pointer + ", " + index + ")";
}

void OpenCLPrinter::store_element(const std::string& pointer, const std::string& index, const std::string& value,
                                  DataType dtype) {
  if (!is_half(dtype)) return SourcePrinter::store_element(pointer, index, value, dtype);
  line("TSR_STORE_HALF(" + pointer + ", " + index + ", " + value + ");");
}

bool OpenCLPrinter::has_vector_access(DataType dtype, const Buffer&, const PrimExpr&) {
  bool is_plain = dtype.bits >= 8 && (dtype.bits & (dtype.bits - 1)) == 0;
  return is_vector_length(dtype.lanes) && is_plain;  // vload wants no more alignment than an element has
}

std::string OpenCLPrinter::vector_type(DataType dtype) {
  return (is_half(dtype) ? "float" : memory_type(dtype.element())) + std::to_string(dtype.lanes);
}

std::string OpenCLPrinter::lane_of(const std::string& vector, int lane, DataType) {
  return vector + ".s" + "0123456789abcdef"[lane];
}

std::string OpenCLPrinter::pack(const Lanes& lanes, DataType dtype) {
  std::string list;
  for (const std::string& lane : lanes) list += (list.empty() ? "" : ", ") + lane;
  return "((" + vector_type(dtype) + ")(" + list + "))";
}

Lanes OpenCLPrinter::load_vector(const std::string& pointer, const std::string& index, DataType dtype) {
  std::string name = fresh_name("v"), load = is_half(dtype) ? "vload_half" : "vload";
  line(vector_type(dtype) + " " + name + " = " + load + std::to_string(dtype.lanes) + "(0, " + pointer + " + " + index +
       ");");
  Lanes out;
  for (int lane = 0; lane < dtype.lanes; ++lane) {
    std::string text = lane_of(name, lane, dtype);
    out.push_back(is_half(dtype) ? "((tsr_half)" + text + ")" : text);
  }
  return out;
}

void OpenCLPrinter::store_vector(const std::string& pointer, const std::string& index, const Lanes& value,
                                 DataType dtype) {
  std::string store = is_half(dtype) ? "vstore_half" : "vstore";
  line(store + std::to_string(dtype.lanes) + "(" + pack(value, dtype) + ", 0, " + pointer + " + " + index + ");");
}

std::string OpenCLPrinter::constant(const FloatImm* op) {
  std::string out = SourcePrinter::constant(op);
  if (op->dtype.bits == 64) uses_double_ = true;
  return is_half(op->dtype) ? rounded(out, op->dtype) : out;
}

std::string OpenCLPrinter::rounded(const std::string& value, DataType dtype) {
  if (!is_half(dtype)) return value;
  uses_half_ = true;
  return "TSR_HALF(" + value + ")";
}

std::string OpenCLPrinter::bits_as(const std::string& value, DataType from, DataType to) {
  if (is_half(from)) return "((" + value_type(to) + ")TSR_HALF_BITS(" + value + "))";
  if (is_half(to)) return "TSR_HALF_OF_BITS(" + value + ")";
  return "as_" + value_type(to) + "(" + value + ")";
}

std::string OpenCLPrinter::math_call(const std::string& name, DataType dtype, const Lanes& args) {
  std::string function = name == "nearbyint" ? "rint" : name, list;
  for (const std::string& arg : args) list += (list.empty() ? "" : ", ") + (is_half(dtype) ? "(float)" + arg : arg);
  return rounded(function + "(" + list + ")", dtype);
}

std::string OpenCLPrinter::kernel_head(const std::string& name, const std::string& params, const BlockSize& size) {
  std::string group;
  if (size[0] && size[1] && size[2])
    group = "__attribute__((reqd_work_group_size(" + std::to_string(size[0]) + ", " + std::to_string(size[1]) + ", " +
            std::to_string(size[2]) + "))) ";
  return "__kernel " + group + "void " + name + "(" + params + ")";
}

std::string OpenCLPrinter::pointer_parameter(const std::string& element, const std::string& name, bool is_const,
                                             bool is_restricted) {
  return std::string("__global ") + (is_const ? "const " : "") + element + "* " + (is_restricted ? "restrict " : "") +
         name;
}

std::string OpenCLPrinter::thread_index(const std::string& tag, DataType dtype) {
  const char* function = tag.starts_with("blockIdx.")    ? "get_group_id"
                         : tag.starts_with("threadIdx.") ? "get_local_id"
                                                         : "";
  if (!*function) throw Error(ValueError) << "OpenCL has no thread \"" << tag << "\"";
  return "((" + value_type(dtype) + ")" + function + "(" + std::to_string(tag.back() - 'x') + "))";
}

std::string OpenCLPrinter::barrier(const std::string& scope) {
  if (scope == "shared" || scope == "shared.dyn" || scope == "warp") return "barrier(CLK_LOCAL_MEM_FENCE)";
  throw Error(NotImplementedError) << "a barrier over " << scope << " memory in OpenCL";
}

std::string OpenCLPrinter::declare_array(const std::string& element, const std::string& name, int64_t count,
                                         int alignment, const std::string& scope) {
  if (scope == "shared.dyn")
    throw Error(NotImplementedError) << "dynamic shared memory in OpenCL; give " << name << " the scope shared";
  if (scope != "shared" && scope != "local")
    throw Error(NotImplementedError) << "memory of scope " << scope << " in OpenCL; it has shared and local";
  return (scope == "shared" ? "__local " : "") + element + " " + name + "[" + std::to_string(count) +
         "] __attribute__((aligned(" + std::to_string(alignment) + ")));";
}

std::string OpenCLPrinter::prelude() { return std::string(uses_double_ ? kDouble : "") + (uses_half_ ? kHalf : ""); }

bool OpenCLPrinter::visit_device_call(const Call* op, Lanes* out) {
  auto* callee = op->op.as<OpNode>();
  if (!callee) return false;
  std::string_view name = callee->name;
  DataType dtype = op->dtype.element();
  if (name == "tir.popcount" || name == "tir.clz") {
    DataType from = op->args[0].dtype().element();
    std::string function(name.substr(4)), type = value_type(DataType::UInt(from.bits));
    *out = each_lane(op, [&](const Lanes& a) {
      return "((" + value_type(dtype) + ")" + function + "((" + type + ")" + a[0] + "))";
    });
    return true;
  }
  if (name == "tir.atomic_add") {
    DataType type = op->args[1].dtype();
    std::string pointer = text(op->args[0]), value = text(op->args[1]);
    bool is_int = type.is_integral() && type.bits == 32, is_float = type.is_float() && type.bits == 32;
    if (!is_int && !is_float)
      throw Error(NotImplementedError) << "atomic_add of " << type << " in OpenCL; it takes 32-bit integers and floats";
    if (is_int) {
      *out = {declare_temporary(
          type, "atomic_add((volatile __global " + value_type(type) + "*)" + pointer + ", " + value + ")")};
      return true;
    }
    need("tsr_atomic_add_float",
         "static inline float tsr_atomic_add_float(volatile __global float* p, float x) {\n"
         "  uint before = *(volatile __global uint*)p, seen;\n"
         "  while ((seen = atomic_cmpxchg((volatile __global uint*)p, before, as_uint(as_float(before) + x))) != "
         "before)\n"
         "    before = seen;\n"
         "  return as_float(before);\n}\n");
    *out = {declare_temporary(type, "tsr_atomic_add_float(" + pointer + ", " + value + ")")};
    return true;
  }
  return false;
}

}  // namespace tessera::codegen

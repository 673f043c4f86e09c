#include "codegen/c/printer.h"

#include <fmt/format.h>

#include "runtime/ndarray.h"
#include "tir/analysis/memory_size.h"
#include "tir/attrs.h"

namespace tessera::codegen {
namespace {

/// The runtime as generated code sees it. Layouts are those of include/tessera/c_api.h.
constexpr const char* kRuntime = R"(#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
#define TSR_C extern "C"
#define TSR_RESTRICT __restrict__
#else
#define TSR_C
#define TSR_RESTRICT restrict
#endif
#define TSR_EXPORT TSR_C __attribute__((visibility("default")))

typedef union {
  int64_t v_int64;
  double v_float64;
  void* v_handle;
  const char* v_str;
} tsr_value;
typedef struct {
  void* data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} tsr_tensor;
typedef struct {
  void* sync_handle;
  int32_t num_task;
} tsr_group;

#ifdef TVM_LINK_RUNTIME
#define TSR_RUNTIME(result, name, params) TSR_C result name params;
#define TSR_CALL(name) name
#else
#define TSR_RUNTIME(result, name, params) \
  TSR_C __attribute__((weak)) result(*__##name) params; \
  __attribute__((weak)) result(*__##name) params = 0;
#define TSR_CALL(name) __##name
#endif
#ifdef __cplusplus
extern "C" {
#endif
extern __attribute__((weak)) void* __tvm_module_ctx;
__attribute__((weak)) void* __tvm_module_ctx = 0;
#ifdef __cplusplus
}
#endif
)";

constexpr const char* kHalf = R"(#if defined(__F16C__)
#include <immintrin.h>
static inline float tsr_load_f16(uint16_t h) { return _cvtsh_ss(h); }
static inline uint16_t tsr_store_f16(float x) { return _cvtss_sh(x, 0); }
#else
static inline float tsr_load_f16(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
  union { uint32_t bits; float value; } out;
  if (rest >= 0x7c00) out.bits = 0x7f800000 | (rest << 13);
  else if (rest >= 0x400) out.bits = (rest << 13) + 0x38000000;
  else out.value = (float)rest * 5.9604644775390625e-8f;
  out.bits |= sign;
  return out.value;
}
static inline uint16_t tsr_store_f16(float x) {
  union { uint32_t bits; float value; } in, small;
  in.value = x;
  uint32_t sign = (in.bits >> 16) & 0x8000, rest = in.bits & 0x7fffffff;
  if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00 | ((rest >> 13) & 0x1ff));
  if (rest >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
  if (rest < 0x38800000) {  /* the sum's last bit is worth 2^-24, as in a subnormal half */
    small.bits = rest;
    small.value += 0.5f;
    return (uint16_t)(sign | (small.bits - 0x3f000000));
  }
  return (uint16_t)(sign | ((rest + 0xc8000fffu + ((rest >> 13) & 1)) >> 13));
}
#endif
static inline float tsr_round_f16(float x) { return tsr_load_f16(tsr_store_f16(x)); }
/* Rounding to odd on the way keeps the second rounding exact. */
static inline float tsr_round_f64_f16(double x) {
  union { uint32_t bits; float value; } near;
  near.value = (float)x;
  if ((double)near.value != x && x == x && !(near.bits & 1))
    near.bits += __builtin_fabs((double)near.value) < __builtin_fabs(x) ? 1u : ~0u;
  return tsr_round_f16(near.value);
}
)";

constexpr const char* kBFloat = R"(static inline float tsr_load_bf16(uint16_t h) {
  union { uint32_t bits; float value; } out;
  out.bits = (uint32_t)h << 16;
  return out.value;
}
static inline uint16_t tsr_store_bf16(float x) {
  union { uint32_t bits; float value; } in;
  in.value = x;
  if (x != x) return (uint16_t)((in.bits | 0x400000) >> 16);
  return (uint16_t)((in.bits + 0x7fff + ((in.bits >> 16) & 1)) >> 16);
}
static inline float tsr_round_bf16(float x) { return tsr_load_bf16(tsr_store_bf16(x)); }
)";

bool is_fp16_or_bf16(DataType dtype) { return dtype.is_floating() && dtype.bits == 16; }

}  // namespace

CPrinter::CPrinter(const Target& target)
    : SourcePrinter({"int8_t",    "int16_t",    "int32_t",   "int64_t",   "uint8_t", "uint16_t", "uint32_t",
                     "uint64_t",  "class",      "new",       "delete",    "this",    "template", "namespace",
                     "operator",  "private",    "public",    "protected", "using",   "virtual",  "try",
                     "catch",     "throw",      "and",       "or",        "not",     "xor",      "asm",
                     "tsr_value", "tsr_tensor", "tsr_group", "task_id",   "env",     "unix",     "linux"}),
      target_(target) {}

void CPrinter::need_half() { need("half", kHalf); }
void CPrinter::need_bfloat() { need("bfloat", kBFloat); }

std::string CPrinter::value_type(DataType dtype) {
  if (dtype.is_void()) return "void";
  if (dtype.is_handle()) return "void*";
  if (dtype.is_bool()) return "bool";
  if (dtype.is_integral() && dtype.bits <= 64) {
    int bits = dtype.bits <= 8 ? 8 : dtype.bits <= 16 ? 16 : dtype.bits <= 32 ? 32 : 64;
    return (dtype.is_int() ? "int" : "uint") + std::to_string(bits) + "_t";
  }
  if (dtype.is_floating() && dtype.bits == 64) return "double";
  if (dtype.is_floating() && (dtype.bits == 32 || dtype.bits == 16)) return "float";
  throw Error(TypeError) << "no C type stands for " << dtype;
}

std::string CPrinter::memory_type(DataType dtype) {
  if (is_fp16_or_bf16(dtype)) return "uint16_t";
  if (dtype.is_bool()) return "uint8_t";
  if (dtype.is_integral() && dtype.bits > 8 && (dtype.bits & (dtype.bits - 1)))
    throw Error(TypeError) << "a buffer of " << dtype << ": elements take 8, 16, 32 or 64 bits, or less than 8";
  return value_type(dtype);
}

std::string CPrinter::from_memory(const std::string& element, DataType dtype) {
  if (!is_fp16_or_bf16(dtype)) return SourcePrinter::from_memory(element, dtype);
  dtype.is_bfloat() ? need_bfloat() : need_half();
  return (dtype.is_bfloat() ? "tsr_load_bf16(" : "tsr_load_f16(") + element + ")";
}

std::string CPrinter::to_memory(const std::string& value, DataType dtype) {
  if (!is_fp16_or_bf16(dtype)) return value;
  dtype.is_bfloat() ? need_bfloat() : need_half();
  return (dtype.is_bfloat() ? "tsr_store_bf16(" : "tsr_store_f16(") + value + ")";
}

std::string CPrinter::rounded(const std::string& value, DataType dtype) {
  if (!is_fp16_or_bf16(dtype)) return value;
  dtype.is_bfloat() ? need_bfloat() : need_half();
  return (dtype.is_bfloat() ? "tsr_round_bf16(" : "tsr_round_f16(") + value + ")";
}

std::string CPrinter::constant(const FloatImm* op) {
  std::string out = SourcePrinter::constant(op);
  for (const char* name : {"INFINITY", "NAN"})  // what <math.h> means by them
    if (size_t at = out.find(name); at != out.npos)
      out.replace(at, std::string_view(name).size(), name[0] == 'I' ? "__builtin_inff()" : "__builtin_nanf(\"\")");
  return rounded(out, op->dtype);
}

std::string CPrinter::cast_scalar(const std::string& value, DataType from, DataType to) {
  bool to_half = to.is_float() && to.bits == 16;
  if (to_half && ((from.is_float() && from.bits == 64) || (from.is_integral() && from.bits >= 32))) {
    need_half();
    return "tsr_round_f64_f16((double)" + value + ")";
  }
  return SourcePrinter::cast_scalar(value, from, to);
}

std::string CPrinter::bits_as(const std::string& value, DataType from, DataType to) {
  std::string element = memory_type(from), wanted = memory_type(to);
  if (element == wanted) return from_memory(to_memory(value, from), to);
  std::string name = "tsr_bits_" + element + "_as_" + wanted;
  need(name, "static inline " + wanted + " " + name + "(" + element + " x) {\n  union { " + element + " from; " +
                 wanted + " to; } bits;\n  bits.from = x;\n  return bits.to;\n}\n");
  return from_memory(name + "(" + to_memory(value, from) + ")", to);
}

std::string CPrinter::math_call(const std::string& name, DataType dtype, const Lanes& args) {
  std::string suffix = dtype.bits == 64 ? "" : "f", list;
  for (const std::string& arg : args) list += (list.empty() ? "" : ", ") + arg;
  if (name == "rsqrt") {
    std::string one = dtype.bits == 64 ? "1.0" : "1.0f";
    return rounded("(" + one + " / __builtin_sqrt" + suffix + "(" + list + "))", dtype);
  }
  return rounded("__builtin_" + name + suffix + "(" + list + ")", dtype);
}

void CPrinter::allocate(const Allocate* op, int64_t count) {
  const VarNode* var = op->buffer_var.get();
  std::string element = memory_type(op->dtype.element());
  memory_[var] = {element, "global"};
  line(fmt::format("{} {}[{}] __attribute__((aligned(64)));", element, define(var), count));
}

void CPrinter::allocate_const(const AllocateConst* op) {
  NDArray data = downcast_or_null<NDArray>(op->data);
  if (!data)
    throw Error(ValueError) << "constant " << op->buffer_var->name
                            << " has no data in the function; constants kept by the module are filled in before";
  if (data.device().device_type != kDLCPU) data = data.copy_to(cpu());
  if (data.dtype().element() != op->dtype.element())
    throw Error(TypeError) << "constant " << op->buffer_var->name << " of " << op->dtype << " holds " << data.dtype();
  // The bytes, in words as wide as an element: no decimal number can be misread.
  size_t width = static_cast<size_t>(op->dtype.bytes()), count = data.bytes() / width;
  std::string word = value_type(DataType::UInt(static_cast<int>(width) * 8));
  std::string name = define(op->buffer_var.get()), element = memory_type(op->dtype.element());
  std::string words;
  for (size_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, data.data<char>() + i * width, width);
    words += fmt::format("{}0x{:x}{}", i ? (i % 12 ? ", " : ",\n    ") : "", value, width == 8 ? "ULL" : "u");
  }
  size_t size = std::max({count, static_cast<size_t>(constant_bytes(op)) / width, size_t{1}});  // zeros at the end
  line(
      fmt::format("static const union {{ {} words[{}]; {} elements[{}]; }} {}_data __attribute__((aligned(64))) = {{{{",
                  word, size, element, size, name));
  line("    " + words + "}};");
  line(fmt::format("const {}* {} = {}_data.elements;", element, name, name));
  memory_[op->buffer_var.get()] = {element, "global"};
}

void CPrinter::declare(const GlobalVar& var, const PrimFunc& function) {
  std::string name = symbol_of(var, function);
  for (const auto& [other, known] : functions_)
    if (known.first == name) throw Error(ValueError) << "two functions of the module are called " << name;
  functions_[var.get()] = {name, function};
}

void CPrinter::define_function(const GlobalVar& var) {
  const auto& [name, function] = functions_.at(var.get());
  for (const auto& [param, buffer] : function->buffer_map)
    if (!param.same_as(buffer->data))
      throw Error(ValueError) << "function " << var->name_hint << ": parameter " << param->name << " stands for buffer "
                              << buffer->name << "; MakePackedAPI or MakeUnpackedAPI says how it is passed";
  start_function();
  for (const auto& [name, definition] : functions_) used_names_[definition.first] = 1;
  state_ = FunctionState();
  function_name_ = name;
  restricted_ = function->attrs.is_true(attr::kNoAlias);
  DataType ret = function->ret_type ? runtime_dtype(function->ret_type) : DataType::Void();
  if (!ret.is_void()) state_.return_type = value_type(ret);
  std::string params;
  for (const Var& param : function->params)
    params += (params.empty() ? "" : ", ") + parameter(param.get(), define(param.get()), restricted_);
  bool is_public = function->attrs.get_attr(attr::kGlobalSymbol).defined();
  std::string head = (is_public ? "TSR_EXPORT " : "static ") + state_.return_type + " " + name + "(" +
                     (params.empty() ? "void" : params) + ")";
  try {
    std::string text = captured([&] { block(head, [&] { function_body([&] { emit(function->body); }); }); });
    done_ += text + "\n";
  } catch (Error& error) {
    throw Error(error.kind(), error.message() + "\n  in function " + name);
  }
}

std::string CPrinter::finish() {
  std::string out = "/* made by Tessera for target: " + target_.str() + " */\n";
  out += kRuntime;
  for (const auto& [name, definition] : helpers_) out += definition;
  if (!imported_.empty()) out += imported_ + "\n";
  out += "\n" + done_;
  if (!entry_.empty())
    out +=
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
        "extern __attribute__((weak, visibility(\"default\"))) const char __tvm_main__[];\n"
        "const char __tvm_main__[] = " +
        quoted(entry_) +
        ";\n"
        "#ifdef __cplusplus\n}\n#endif\n";
  return out;
}

}  // namespace tessera::codegen

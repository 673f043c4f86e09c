// The packed calling convention in C: fields of tensors and value slots, and calls of functions found by name.

#include <fmt/format.h>

#include "codegen/c/printer.h"
#include "tessera/c_api.h"
#include "tir/transform/function/arg_binder.h"

namespace tessera::codegen {
namespace {

struct FieldRow {
  StructField field;
  const char* member;
  DataType dtype;
};

constexpr FieldRow kFields[] = {
    {StructField::Data, "data", DataType::Handle()},
    {StructField::Shape, "shape", DataType::Handle()},
    {StructField::Strides, "strides", DataType::Handle()},
    {StructField::NDim, "ndim", DataType::Int(32)},
    {StructField::TypeCode, "code", DataType::UInt(8)},
    {StructField::TypeBits, "bits", DataType::UInt(8)},
    {StructField::TypeLanes, "lanes", DataType::UInt(16)},
    {StructField::ByteOffset, "byte_offset", DataType::UInt(64)},
    {StructField::DeviceId, "device_id", DataType::Int(32)},
    {StructField::DeviceType, "device_type", DataType::Int(32)},
};

const char* slot_member(DataType dtype) {
  return dtype.is_handle() ? "v_handle" : dtype.is_floating() ? "v_float64" : "v_int64";
}
DataType slot_dtype(DataType dtype) {
  return dtype.is_handle() ? dtype : dtype.is_floating() ? DataType::Float(64) : DataType::Int(64);
}

struct RuntimeFunction {
  const char *name, *result, *params;
};

constexpr RuntimeFunction kRuntimeFunctions[] = {
    {"TVMFuncCall", "int", "(void*, tsr_value*, int32_t*, int, tsr_value*, int32_t*)"},
    {"TVMAPISetLastError", "void", "(const char*)"},
    {"TVMBackendGetFuncFromEnv", "int", "(void*, const char*, void**)"},
    {"TVMBackendAllocWorkspace", "void*", "(int, int, uint64_t, int, int)"},
    {"TVMBackendFreeWorkspace", "int", "(int, int, void*)"},
    {"TVMBackendParallelLaunch", "int", "(int (*)(int, tsr_group*, void*), void*, int)"},
    {"TVMBackendParallelBarrier", "int", "(int, tsr_group*)"},
};

const RuntimeFunction* find_runtime_function(std::string_view name) {
  for (const RuntimeFunction& row : kRuntimeFunctions)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace

std::string CPrinter::runtime_call(const std::string& name, const std::string& args) {
  const RuntimeFunction* row = find_runtime_function(name);
  ICHECK(row) << name << " is a function of the runtime";
  need(name, "TSR_RUNTIME(" + std::string(row->result) + ", " + row->name + ", " + row->params + ")\n");
  return "TSR_CALL(" + name + ")(" + args + ")";
}

void CPrinter::check_status(const std::string& status) { line("if (" + status + " != 0) return -1;"); }

void CPrinter::fail_with(const std::string& message) {
  line(runtime_call("TVMAPISetLastError", quoted(message)) + ";");
  line("return -1;");
}

/// The field that the first three arguments name, as an lvalue; `type` becomes what lies there.
std::string CPrinter::struct_field(const Call* op, DataType* type) {
  std::string handle = text(op->args[0]), at = index(op->args[1]);
  auto field = static_cast<StructField>(constant_argument(op, 2));
  if (field == StructField::ValueContent) return "((tsr_value*)" + handle + ")[" + at + "]." + slot_member(*type);
  std::string tensor = "((tsr_tensor*)" + handle + ")[" + at + "]";
  if (field == StructField::ArrayAddress) return "&" + tensor;
  for (const FieldRow& row : kFields) {
    if (row.field != field) continue;
    *type = row.dtype;
    return tensor + "." + row.member;
  }
  throw Error(ValueError) << "tvm_struct_get: no field has number " << constant_argument(op, 2);
}

Lanes CPrinter::struct_get(const Call* op) {
  DataType type = slot_dtype(op->dtype);
  std::string lvalue = struct_field(op, &type);
  if (op->dtype.is_handle()) return {"((void*)" + lvalue + ")"};
  return {cast_scalar("(" + lvalue + ")", type, op->dtype)};
}

Lanes CPrinter::struct_set(const Call* op) {
  DataType given = op->args[3].dtype(), type = slot_dtype(given);
  std::string value = text(op->args[3]);
  std::string lvalue = struct_field(op, &type);
  if (lvalue[0] == '&') throw Error(ValueError) << "tvm_struct_set: the address of a tensor cannot be set";
  auto field = static_cast<StructField>(constant_argument(op, 2));
  if (field == StructField::Shape || field == StructField::Strides) value = "(int64_t*)" + value;
  else if (type.is_handle()) value = "(void*)" + value;
  else value = cast_scalar(value, given, type);
  line(lvalue + " = " + value + ";");
  return {""};
}

Lanes CPrinter::stack_alloca(const Call* op) {
  auto* kind = op->args[0].as<StringImm>();
  std::string_view what = kind ? std::string_view(kind->value) : "";
  const char* type = what == "shape"       ? "int64_t"
                     : what == "arg_value" ? "tsr_value"
                     : what == "arg_tcode" ? "int32_t"
                     : what == "array"     ? "tsr_tensor"
                                           : nullptr;
  if (!type)
    throw Error(ValueError) << "tvm_stack_alloca of " << op->args[0]
                            << "; it may be shape, arg_value, arg_tcode or array";
  std::string name = fresh_name("stack");
  line(std::string(type) + " " + name + "[" + std::to_string(std::max<int64_t>(constant_argument(op, 1), 1)) + "];");
  return {"((void*)" + name + ")"};
}

/// The function called `name`, looked up once and kept. Two threads may both find it missing; they store the same.
std::string CPrinter::packed_handle(const std::string& name) {
  std::string variable = "packed_";
  for (char c : name) variable += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  need(variable, "static void* " + variable + " = 0;\n");
  std::string handle = fresh_name("handle");
  line("void* " + handle + " = __atomic_load_n(&" + variable + ", __ATOMIC_RELAXED);");
  block("if (" + handle + " == 0)", [&] {
    check_status(runtime_call("TVMBackendGetFuncFromEnv", "__tvm_module_ctx, " + quoted(name) + ", &" + handle));
    line("__atomic_store_n(&" + variable + ", " + handle + ", __ATOMIC_RELAXED);");
  });
  return handle;
}

/// Arguments: name, stack of values, stack of type codes, first and last slot (and, by address, a resource handle).
/// The answer is left in the slot after the arguments.
Lanes CPrinter::call_packed(const Call* op) {
  auto* name = op->args[0].as<StringImm>();
  if (!name || op->args.size() < 5)
    throw Error(TypeError) << "a lowered packed call has a name and four more arguments: " << PrimExpr(op);
  bool is_trace = is_call(op, "tir.tvm_call_trace_packed_lowered");
  bool by_name = !is_call(op, "tir.tvm_call_cpacked_lowered");
  std::string traced = is_trace ? atom(text(op->args[5]), op->dtype) : "";
  std::string values = "((tsr_value*)" + text(op->args[1]) + ")", codes = "((int32_t*)" + text(op->args[2]) + ")";
  int64_t begin = constant_argument(op, 3), end = constant_argument(op, 4);
  auto at = [](const std::string& base, int64_t i) { return i ? base + " + " + std::to_string(i) : base; };
  std::string list = at(values, begin) + ", " + at(codes, begin) + ", " + std::to_string(end - begin) + ", " +
                     at(values, end) + ", " + at(codes, end);
  if (by_name) {
    std::string handle = packed_handle(name->value.str());
    check_status(runtime_call("TVMFuncCall", handle + ", " + list));
  } else {
    std::string symbol = name->value.str();
    need("declare " + symbol, "TSR_C int32_t " + symbol + "(void*, int32_t*, int32_t, void*, int32_t*, void*);\n");
    std::string resource = op->args.size() > 5 && op->args[5].dtype().is_handle() ? text(op->args[5]) : "0";
    check_status(symbol + "(" + list + ", " + resource + ")");
  }
  if (op->dtype.is_void()) return {""};
  std::string answer = "(" + values + "[" + std::to_string(end) + "]." + slot_member(op->dtype) + ")";
  answer = cast_scalar(answer, slot_dtype(op->dtype), op->dtype);
  if (!is_trace) return {answer};
  return {"(" + codes + "[" + std::to_string(end) + "] == " + std::to_string(kTesseraNull) + " ? " + traced + " : " +
          answer + ")"};
}

const std::unordered_map<std::string_view, CPrinter::CEmitter>& CPrinter::c_emitters() {
  static const std::unordered_map<std::string_view, CEmitter> table = {
      {"tir.tvm_struct_get", &CPrinter::struct_get},
      {"tir.tvm_struct_set", &CPrinter::struct_set},
      {"tir.tvm_stack_alloca", &CPrinter::stack_alloca},
      {"tir.tvm_static_handle", &CPrinter::static_handle},
      {"tir.tvm_call_packed_lowered", &CPrinter::call_packed},
      {"tir.tvm_call_cpacked_lowered", &CPrinter::call_packed},
      {"tir.tvm_call_trace_packed_lowered", &CPrinter::call_packed},
      {"tir.tvm_throw_last_error", &CPrinter::return_error},
      {"tir.ret", &CPrinter::return_value},
      {"tir.popcount", &CPrinter::count_bits},
      {"tir.clz", &CPrinter::count_bits},
      {"tir.atomic_add", &CPrinter::atomic_add},
      {"tir.prefetch", &CPrinter::prefetch_data},
      {"tir.checked_index", &CPrinter::checked_index},
  };
  return table;
}

bool CPrinter::visit_call(const Call* op, Lanes* out) {
  auto* callee = op->op.as<OpNode>();
  auto it = callee ? c_emitters().find(std::string_view(callee->name)) : c_emitters().end();
  if (it == c_emitters().end()) {
    if (!builtin::is(op, builtin::tvm_storage_sync())) return false;
    *out = {""};  // one thread runs a body of the host
    return true;
  }
  *out = (this->*it->second)(op);
  return true;
}

Lanes CPrinter::return_error(const Call*) {
  line("return -1;");
  return {""};
}

Lanes CPrinter::return_value(const Call* op) {
  line("return " + std::string(state_.checks_indices ? "tsr_failed ? tsr_failed : " : "") + text(op->args[0]) + ";");
  return {""};
}

void CPrinter::function_body(const std::function<void()>& body) {
  std::string text = captured(body);
  if (state_.checks_indices) line("int32_t tsr_failed = 0;");
  out_ += text;
  line(state_.checks_indices ? "return tsr_failed;" : "return 0;");
}

/// As in machine code: a bad index becomes 0, the first one is reported, and the function fails at its end.
Lanes CPrinter::checked_index(const Call* op) {
  auto* where = op->args[2].as<StringImm>();
  if (!where) throw Error(TypeError) << "checked_index takes a text as its third argument, not " << op->args[2];
  if (state_.return_type != "int32_t" && state_.return_type != "int")
    throw Error(ValueError) << "an index is checked in a function that cannot fail: it gives no status back";
  state_.checks_indices = true;
  std::string find = runtime_call("TVMBackendGetFuncFromEnv", "__tvm_module_ctx, \"runtime.IndexError\", &function");
  std::string call = runtime_call("TVMFuncCall", "function, values, codes, 3, values + 3, codes + 3");
  need("tsr_checked_index",
       fmt::format(
           R"(static __attribute__((noinline, cold)) int32_t tsr_index_error(const char* where, int64_t i, int64_t n) {{
  tsr_value values[4];
  int32_t codes[4] = {{{}, {}, {}, 0}};
  void* function = 0;
  if ({} != 0) return -1;
  values[0].v_str = where;
  values[1].v_int64 = i;
  values[2].v_int64 = n;
  return {};
}}
static inline int64_t tsr_checked_index(int64_t i, int64_t n, const char* where, int32_t* failed) {{
  int64_t at = i < 0 ? i + n : i;
  if (__builtin_expect((uint64_t)at < (uint64_t)n, 1)) return at;
  if (!*failed) *failed = tsr_index_error(where, i, n);
  return 0;
}}
)",
           int(kTesseraStr), int(kTesseraInt), int(kTesseraInt), find, call));
  Lanes index = emit(op->args[0]), extent = emit(op->args[1]), out;
  for (size_t lane = 0; lane < index.size(); ++lane)
    out.push_back("((" + value_type(op->dtype.element()) + ")tsr_checked_index(" + index[lane] + ", " +
                  extent[extent.size() == 1 ? 0 : lane] + ", " + quoted(where->value.str()) + ", &tsr_failed))");
  return out;
}

Lanes CPrinter::static_handle(const Call*) {
  std::string name = fresh_name("static_handle");
  line("static void* " + name + " = 0;");
  return {"((void*)&" + name + ")"};
}

Lanes CPrinter::count_bits(const Call* op) {
  DataType from = op->args[0].dtype().element();
  bool is_popcount = is_call(op, "tir.popcount"), is_long = from.bits > 32;
  std::string type = value_type(DataType::UInt(from.bits)), result = value_type(op->dtype.element());
  std::string call = std::string(is_popcount ? "__builtin_popcount" : "__builtin_clz") + (is_long ? "ll" : "");
  int excess = is_long ? 64 - from.bits : 32 - from.bits;
  return each_lane(op, [&](const Lanes& a) {
    std::string x = atom("((" + type + ")" + a[0] + ")", DataType::UInt(from.bits));
    if (is_popcount) return "((" + result + ")" + call + "(" + x + "))";
    std::string zeros = call + "(" + x + ")" + (excess ? " - " + std::to_string(excess) : "");
    return "((" + result + ")(" + x + " == 0 ? " + std::to_string(from.bits) + " : " + zeros + "))";
  });
}

Lanes CPrinter::atomic_add(const Call* op) {
  DataType type = op->args[1].dtype();
  if (!type.is_integral())
    throw Error(NotImplementedError) << "atomic_add of " << type << " is not supported in C; it takes integers";
  std::string pointer = "(" + value_type(type) + "*)" + text(op->args[0]);
  return {declare_temporary(type, "__atomic_fetch_add(" + pointer + ", " + text(op->args[1]) + ", __ATOMIC_RELAXED)")};
}

Lanes CPrinter::prefetch_data(const Call* op) {
  line("__builtin_prefetch(" + text(op->args[0]) + ");");
  return {""};
}

/// A C function whose signature is what the call shows.
std::string CPrinter::call_extern(const std::string& name, const Call* op, size_t first_argument) {
  if (const RuntimeFunction* row = find_runtime_function(name)) {
    std::string args;
    for (size_t i = first_argument; i < op->args.size(); ++i)
      args += (i > first_argument ? ", " : "") + text(op->args[i]);
    return runtime_call(row->name, args);
  }
  std::string types, args;
  for (size_t i = first_argument; i < op->args.size(); ++i) {
    bool is_string = op->args[i].as<StringImm>();
    std::string type = is_string ? "const char*" : value_type(op->args[i].dtype());
    types += (types.empty() ? "" : ", ") + type;
    args += (args.empty() ? "" : ", ") + text(op->args[i]);
  }
  const PrimFunc* ours = nullptr;
  for (const auto& [var, function] : functions_)
    if (function.first == name) ours = &function.second;
  if (ours) {
    bool gives_status = !(*ours)->ret_type || runtime_dtype((*ours)->ret_type).is_void();
    std::string result = gives_status ? "int32_t" : value_type(runtime_dtype((*ours)->ret_type)), params;
    for (const Var& param : (*ours)->params) params += (params.empty() ? "" : ", ") + parameter(param.get(), "", false);
    bool is_public = (*ours)->attrs.get_attr(attr::kGlobalSymbol).defined();
    need("declare " + name, (is_public ? "TSR_EXPORT " : "static ") + result + " " + name + "(" + params + ");\n");
    if (!gives_status) return name + "(" + args + ")";
    check_status(name + "(" + args + ")");
    return "";
  }
  std::string result = op->dtype.is_void() ? "void" : value_type(op->dtype);
  if (imported_.empty())
    need("declare " + name, "TSR_C " + result + " " + name + "(" + (types.empty() ? "void" : types) + ");\n");
  return name + "(" + args + ")";
}

}  // namespace tessera::codegen

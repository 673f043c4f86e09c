#include "runtime/module/compiled_code.h"

#include "runtime/device.h"
#include "tessera/c_api.h"
#include "tessera/c_backend_api.h"

namespace tessera {

std::span<const ContextSymbol> context_symbols() {
  static const ContextSymbol symbols[] = {
      {"__TVMFuncCall", "TVMFuncCall", reinterpret_cast<void*>(&TesseraFuncCall)},
      {"__TVMAPISetLastError", "TVMAPISetLastError", reinterpret_cast<void*>(&TesseraAPISetLastError)},
      {"__TVMBackendGetFuncFromEnv", "TVMBackendGetFuncFromEnv",
       reinterpret_cast<void*>(&TesseraBackendGetFuncFromEnv)},
      {"__TVMBackendAllocWorkspace", "TVMBackendAllocWorkspace",
       reinterpret_cast<void*>(&TesseraBackendAllocWorkspace)},
      {"__TVMBackendFreeWorkspace", "TVMBackendFreeWorkspace", reinterpret_cast<void*>(&TesseraBackendFreeWorkspace)},
      {"__TVMBackendParallelLaunch", "TVMBackendParallelLaunch",
       reinterpret_cast<void*>(&TesseraBackendParallelLaunch)},
      {"__TVMBackendParallelBarrier", "TVMBackendParallelBarrier",
       reinterpret_cast<void*>(&TesseraBackendParallelBarrier)},
  };
  return symbols;
}

void fill_context(const FindSymbol& find, const ModuleNode* module) {
  for (const ContextSymbol& symbol : context_symbols())
    if (void* variable = find(symbol.variable)) *static_cast<void**>(variable) = symbol.address;
  if (void* variable = find("__tvm_module_ctx")) *static_cast<const void**>(variable) = module;
}

namespace {

std::string describe(const AnyView& value) {
  if (value.code() != kTesseraDLTensor && value.code() != kTesseraNDArray) return value.type_name();
  auto* tensor = static_cast<const DLTensor*>(value.raw().v_handle);
  if (!tensor) return "None";
  std::string shape;
  for (int i = 0; i < tensor->ndim; ++i) shape += (i ? ", " : "") + std::to_string(tensor->shape[i]);
  std::string out = DataType(tensor->dtype).str() + "(" + shape + ")";
  if (tensor->strides && tensor->ndim > 0) {
    out += " strides(";
    for (int i = 0; i < tensor->ndim; ++i) out += (i ? ", " : "") + std::to_string(tensor->strides[i]);
    out += ")";
  }
  if (tensor->byte_offset) out += " offset " + std::to_string(tensor->byte_offset) + " bytes";
  return out + " on " + device_text(tensor->device);
}

/// The checks of compiled code know what they expected; here is what came.
[[noreturn]] void throw_with_arguments(Args args) {
  const Error* error = last_error();
  bool is_check = false;  // the words of MakePackedAPI's checks
  for (const char* words : {"num_args should be", "Expect arg[", "arg."})
    is_check = is_check || (error && error->message().find(words) != std::string::npos);
  if (!is_check) throw_last_error();
  Error out(error->kind(), error->message());
  out << "\n  called with " << args.count << (args.count == 1 ? " argument:" : " arguments:");
  for (int i = 0; i < args.count; ++i) out << (i ? ", " : " ") << describe(args[i]);
  throw out;
}

}  // namespace

PackedFunc wrap_compiled(TesseraCompiledFunc function, Module module) {
  return PackedFunc([function, module = std::move(module)](Args args, Any* result) {
    TesseraValue value{.v_int64 = 0};
    int code = kTesseraNull;
    int status = function(const_cast<TesseraValue*>(args.values), const_cast<int*>(args.codes), args.count, &value,
                          &code, nullptr);
    if (status != 0) throw_with_arguments(args);
    if (code != kTesseraNull) *result = Any::take(value, code);
  });
}

PackedFunc find_compiled(const FindSymbol& find, const std::string& name, const Module& module) {
  void* address = nullptr;
  if (name == kModuleMain) {
    auto* entry = static_cast<const char*>(find(kModuleMain));
    if (entry) address = find(entry);
  } else {
    address = find(name.c_str());
  }
  if (!address) return nullptr;
  return wrap_compiled(reinterpret_cast<TesseraCompiledFunc>(address), module);
}

}  // namespace tessera

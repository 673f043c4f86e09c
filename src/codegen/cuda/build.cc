// target.build.cuda.

#include "codegen/cuda/printer.h"
#include "ir/target/target.h"
#include "runtime/cuda/module.h"
#include "runtime/registry.h"

namespace tessera::codegen {
namespace {

Module build_cuda(IRModule mod, Target target) {
  CudaPrinter printer;
  for (const auto& [var, function] : prim_funcs(mod)) printer.add_kernel(var, function);
  std::string source = printer.finish();
  if (PackedFunc change = find_global("tvm_callback_cuda_postproc")) source = change(source).to<std::string>();
  ByteWriter table;
  write_kernels(printer.kernels(), table);
  std::string arch = target.option("arch").value_or("sm_75");
  Bytes kernels(table.take());
  if (PackedFunc compile = find_global("tvm_callback_cuda_compile")) {  // the user's own compiler
    std::string code = compile(source).to<std::string>();
    std::string form = code.starts_with(
                           "\x7f"
                           "ELF")
                           ? "cubin"
                       : code.find(".version") != code.npos ? "ptx"
                                                            : "fatbin";
    return cuda::create_module(code, form, kernels, source, arch);
  }
  return cuda::create_module("", "cu", kernels, source, arch);
}

Globals build_globals{{"target.build.cuda", build_cuda}};

}  // namespace
}  // namespace tessera::codegen

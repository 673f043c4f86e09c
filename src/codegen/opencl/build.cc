// target.build.opencl.

#include "codegen/opencl/printer.h"
#include "ir/target/target.h"
#include "runtime/opencl/module.h"
#include "runtime/registry.h"

namespace tessera::codegen {
namespace {

Module build_opencl(IRModule mod, Target) {
  OpenCLPrinter printer;
  for (const auto& [var, function] : prim_funcs(mod)) printer.add_kernel(var, function);
  std::string source = printer.finish();
  if (PackedFunc change = find_global("tvm_callback_opencl_postproc")) source = change(source).to<std::string>();
  ByteWriter table;
  write_kernels(printer.kernels(), table);
  return opencl::create_module(source, Bytes(table.take()));
}

Globals build_globals{{"target.build.opencl", build_opencl}};

}  // namespace
}  // namespace tessera::codegen

// Constant tensors inside the code.

#include "codegen/llvm/codegen.h"
#include "runtime/ndarray.h"
#include "tir/analysis/memory_size.h"

namespace tessera::codegen {

void CodeGen::visit(const AllocateConst* op) {
  NDArray data = downcast_or_null<NDArray>(op->data);
  if (!data)
    throw Error(ValueError) << "constant " << op->buffer_var->name
                            << " has no data in the function; constants kept by the module are filled in before";
  if (data.device().device_type != kDLCPU) data = data.copy_to(cpu());
  if (data.dtype().element() != op->dtype.element())
    throw Error(TypeError) << "constant " << op->buffer_var->name << " of " << op->dtype << " holds " << data.dtype();
  llvm::StringRef bytes(data.data<char>(), data.bytes());
  std::string with_zeros;
  if (size_t all = static_cast<size_t>(constant_bytes(op)); all > bytes.size()) {
    with_zeros = bytes.str();
    with_zeros.resize(all);
    bytes = with_zeros;
  }
  llvm::Type* type = memory_type(op->dtype);
  auto* value = llvm::ConstantDataArray::getRaw(bytes, bytes.size() / uint64_t(op->dtype.bytes()), type);
  auto* global = new llvm::GlobalVariable(*module_, value->getType(), true, llvm::GlobalValue::InternalLinkage, value,
                                          op->buffer_var->name.str());
  global->setAlignment(llvm::Align(64));
  alignments_[op->buffer_var.get()] = 64;
  define_variable(op->buffer_var.get(), global);
  emit(op->body);
}

}  // namespace tessera::codegen

#pragma once
// Kernels of a GPU through LLVM: NVPTX (NVIDIA's PTX) and AMDGPU.
//
// A kernel is a function of calling convention DeviceKernelLaunch: it gives nothing back, its threads know themselves by
// blockIdx and threadIdx, memory of scope "shared" belongs to the block and "local" to the thread. Pointers are generic
// inside; the back end finds out where they lead. Vectors in memory are taken to lie at multiples of 16 bytes at most.

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {

/// What the back ends have different names for.
struct DeviceTraits {
  llvm::CallingConv::ID kernel_convention;
  llvm::Intrinsic::ID thread_index[3], block_index[3];
  unsigned shared_space, global_space;
};

class KernelCodeGen : public CodeGen {
 public:
  KernelCodeGen(llvm::LLVMContext& context, const llvm::TargetMachine& target, const Machine& machine);

  void declare(const GlobalVar& var, const PrimFunc& function) override;
  void define(const GlobalVar& var) override;

 protected:
  void thread_extent(const AttrStmt* op) override;
  void visit(const Allocate* op) override;
  void visit(const AssertStmt* op) override;
  Value* storage_sync(const Call* op) override;
  Value* warp_call(const Call* op) override;
  Value* trigonometric(Value* x, DataType dtype, Angle function) override;
  Value* scalar_math_call(const std::string& name, DataType dtype, const Values& args,
                          const std::vector<DataType>& types) override;
  void parallel_loop(const For* op) override;
  void report_index(const std::string& where, Value* is_bad, Value* index, Value* extent) override;

 private:
  bool is_nvptx() const { return machine_.is_nvptx(); }
  void set_block_size(llvm::Function* kernel, const PrimFunc& function);
  Value* shuffle_nvptx(const std::string& name, const Values& args);
  Value* shuffle_amdgpu(const std::string& name, const Values& args);
  Value* on_words(Value* value, const std::function<Value*(Value*)>& change);

  const DeviceTraits& traits_;
  std::vector<std::string> checked_indices_;  // of the kernel at hand
  Value* index_errors_ = nullptr;             // where it notes indices that are none
};

}  // namespace tessera::codegen

#pragma once
// Kernels of a device in a language of the C family: what CUDA C and OpenCL C share beyond expressions and loops.

#include "codegen/source/printer.h"
#include "runtime/index_error.h"
#include "runtime/module/kernel.h"

namespace tessera::codegen {

class KernelPrinter : public SourcePrinter {
 public:
  using SourcePrinter::SourcePrinter;

  /// Writes one kernel, a function with calling convention DeviceKernelLaunch.
  void add_kernel(const GlobalVar& var, const PrimFunc& function);
  /// The whole source.
  std::string finish();
  const KernelTable& kernels() const { return kernels_; }

 protected:
  /// Threads of a block in each dimension; 0 where the number is not constant.
  using BlockSize = std::array<int64_t, 3>;

  virtual std::string kernel_head(const std::string& name, const std::string& params, const BlockSize& size) = 0;
  /// "float* __restrict__ A"; an element that is never written is const.
  virtual std::string pointer_parameter(const std::string& element, const std::string& name, bool is_const,
                                        bool is_restricted) = 0;
  virtual std::string thread_index(const std::string& tag, DataType dtype) = 0;
  /// A barrier of the block ("shared") or of a warp ("warp").
  virtual std::string barrier(const std::string& scope) = 0;
  virtual std::string declare_array(const std::string& element, const std::string& name, int64_t count, int alignment,
                                    const std::string& scope) = 0;
  /// What stands in front of everything.
  virtual std::string prelude() = 0;
  virtual bool visit_device_call(const Call*, Lanes*) { return false; }
  virtual bool visit_device_attr(const AttrStmt*) { return false; }
  /// What the kernel takes beside its parameters, as text that begins with a comma; said in `info`.
  virtual std::string more_parameters(const PrimFunc&, KernelInfo* /*info*/) { return ""; }
  /// Called with the whole kernel before it is written.
  virtual void look_at(const PrimFunc&) {}
  /// A vector as one value of the dialect's type, and back.
  virtual std::string pack(const Lanes& lanes, DataType dtype) = 0;
  virtual std::string vector_type(DataType dtype) = 0;
  virtual std::string lane_of(const std::string& vector, int lane, DataType dtype) = 0;

  bool visit_call(const Call* op, Lanes* out) override;
  bool visit_attr(const AttrStmt* op) override;
  void allocate(const Allocate* op, int64_t count) override;
  std::string call_extern(const std::string& name, const Call* op, size_t first_argument) override;
  /// The element type that arrays are declared with.
  virtual std::string array_type(DataType dtype) { return memory_type(dtype); }

  std::string shared_;  // declarations of shared memory, which stand at the top of the kernel

 private:
  Lanes checked_index(const Call* op);

  std::string index_errors_;                  // the parameter that bad indices are noted in
  std::vector<std::string> checked_indices_;  // of the kernel at hand
  std::string done_;
  KernelTable kernels_;
};

}  // namespace tessera::codegen

#pragma once
// CUDA C++ for nvcc and NVRTC. Half arithmetic is the hardware's; real functions are the accurate ones of the library.

#include "codegen/source/kernel_printer.h"

namespace tessera::codegen {

class CudaPrinter final : public KernelPrinter {
 public:
  CudaPrinter();

 private:
  std::string value_type(DataType dtype) override;
  std::string memory_type(DataType dtype) override;
  bool has_vector_access(DataType dtype, const Buffer& buffer, const PrimExpr& first) override;
  Lanes load_vector(const std::string& pointer, const std::string& index, DataType dtype) override;
  void store_vector(const std::string& pointer, const std::string& index, const Lanes& value, DataType dtype) override;
  std::string constant(const FloatImm* op) override;
  std::string cast_scalar(const std::string& value, DataType from, DataType to) override;
  std::string bits_as(const std::string& value, DataType from, DataType to) override;
  std::string math_call(const std::string& name, DataType dtype, const Lanes& args) override;
  std::string rounded(const std::string& value, DataType) override { return value; }
  std::string extremum_of_floats(bool is_min, DataType dtype, const std::string& a, const std::string& b) override;
  const char* inline_function() const override { return "static __device__ __forceinline__"; }
  std::string kernel_head(const std::string& name, const std::string& params, const BlockSize& size) override;
  std::string pointer_parameter(const std::string& element, const std::string& name, bool is_const,
                                bool is_restricted) override;
  std::string thread_index(const std::string& tag, DataType dtype) override;
  std::string barrier(const std::string& scope) override;
  std::string declare_array(const std::string& element, const std::string& name, int64_t count, int alignment,
                            const std::string& scope) override;
  void allocate(const Allocate* op, int64_t count) override;
  std::string prelude() override;
  std::string more_parameters(const PrimFunc& function, KernelInfo* info) override;
  void look_at(const PrimFunc& function) override;
  bool visit_device_call(const Call* op, Lanes* out) override;
  void visit_loop(const For* op) override;
  std::string pack(const Lanes& lanes, DataType dtype) override;
  std::string vector_type(DataType dtype) override;
  std::string lane_of(const std::string& vector, int lane, DataType dtype) override;
  std::string make_vector(const Lanes& lanes, size_t first, DataType dtype);

  // matrix.cc: tensor cores and asynchronous copies
  bool matrix_call(const Call* op);
  void allocate_fragment(const Allocate* op, int64_t count, const std::string& scope);
  void ptx_mma(const Call* op, bool is_sparse);
  void ptx_ldmatrix(const Call* op);
  void ptx_cp_async(const Call* op);
  void mma_store(const Call* op);
  void mma_fill(const Call* op);
  std::string shared_address(const std::string& pointer);
  std::string address(const PrimExpr& pointer, const PrimExpr& offset);
  std::string string_argument(const Call* op, size_t i);

  // hopper.cc: the copy engine and wgmma
  bool hopper_call(const Call* op);
  void tensor_copy(const Call* op);
  void need_hopper_functions();
  void wgmma(const Call* op);
  void wgmma_of_registers(const Call* op);
  std::string matrix_argument(const Call* op, const std::string& memory, size_t offset, size_t leading);

  int64_t min_blocks_ = 0;     // of the kernel, that a multiprocessor has registers for; 0: not said
  int64_t cluster_ = 1;        // blocks of the kernel that run together
  std::vector<Var> unrolled_;  // variables of loops around the statement that the device's compiler unrolls
  bool uses_half_ = false, uses_bfloat_ = false, uses_wmma_ = false;
  std::unordered_map<std::string, std::string> vector_names_;  // variables of vector types
  std::unordered_map<const VarNode*, std::string> fragment_shapes_, fragment_layouts_;
  std::map<std::pair<const VarNode*, std::string>, std::string> tensor_maps_;  // names of those of the kernel
};

}  // namespace tessera::codegen

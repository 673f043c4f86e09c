#pragma once
// OpenCL C 1.2. Where the driver has no half arithmetic (cl_khr_fp16), halves are computed with as floats and rounded
// after each operation: the same numbers, and one source for both.

#include "codegen/source/kernel_printer.h"

namespace tessera::codegen {

class OpenCLPrinter final : public KernelPrinter {
 public:
  OpenCLPrinter();

 private:
  std::string value_type(DataType dtype) override;
  std::string memory_type(DataType dtype) override;
  std::string array_type(DataType dtype) override;
  std::string pointer_to(const std::string& element, const std::string& scope) override;
  std::string load_element(const std::string& pointer, const std::string& index, DataType dtype) override;
  void store_element(const std::string& pointer, const std::string& index, const std::string& value,
                     DataType dtype) override;
  bool has_vector_access(DataType dtype, const Buffer& buffer, const PrimExpr& first) override;
  Lanes load_vector(const std::string& pointer, const std::string& index, DataType dtype) override;
  void store_vector(const std::string& pointer, const std::string& index, const Lanes& value, DataType dtype) override;
  std::string constant(const FloatImm* op) override;
  std::string bits_as(const std::string& value, DataType from, DataType to) override;
  std::string math_call(const std::string& name, DataType dtype, const Lanes& args) override;
  std::string rounded(const std::string& value, DataType dtype) override;
  const char* suffix_of_long() const override { return "L"; }
  std::string kernel_head(const std::string& name, const std::string& params, const BlockSize& size) override;
  std::string pointer_parameter(const std::string& element, const std::string& name, bool is_const,
                                bool is_restricted) override;
  std::string thread_index(const std::string& tag, DataType dtype) override;
  std::string barrier(const std::string& scope) override;
  std::string declare_array(const std::string& element, const std::string& name, int64_t count, int alignment,
                            const std::string& scope) override;
  std::string prelude() override;
  bool visit_device_call(const Call* op, Lanes* out) override;
  std::string pack(const Lanes& lanes, DataType dtype) override;
  std::string vector_type(DataType dtype) override;
  std::string lane_of(const std::string& vector, int lane, DataType dtype) override;

  bool uses_half_ = false, uses_double_ = false;
};

}  // namespace tessera::codegen

#pragma once
// C for the host: functions of the packed calling convention, compiled by any C or C++ compiler of the GCC family.
//
// The source needs no header but <stdint.h> and <stdbool.h>. It calls the runtime through pointers (__TVMFuncCall, ...) that
// whoever loads it fills; compiled with -DTVM_LINK_RUNTIME it calls the runtime's functions by name instead.

#include "codegen/source/printer.h"
#include "ir/target/target.h"

namespace tessera::codegen {

class CPrinter : public SourcePrinter {
 public:
  explicit CPrinter(const Target& target);

  void declare(const GlobalVar& var, const PrimFunc& function);
  void define_function(const GlobalVar& var);
  void set_entry(const std::string& symbol) { entry_ = symbol; }
  std::string finish();

 private:
  /// What changes when code goes on in another C function (a parallel body, a compute scope).
  struct FunctionState {
    std::string return_type = "int32_t";
    bool in_parallel = false, in_parallel_loop = false, stride_pattern = false;
    bool checks_indices = false;  // the function gives the variable tsr_failed back at its end
  };

  std::string value_type(DataType dtype) override;
  std::string memory_type(DataType dtype) override;
  std::string from_memory(const std::string& element, DataType dtype) override;
  std::string to_memory(const std::string& value, DataType dtype) override;
  std::string constant(const FloatImm* op) override;
  std::string cast_scalar(const std::string& value, DataType from, DataType to) override;
  std::string bits_as(const std::string& value, DataType from, DataType to) override;
  std::string math_call(const std::string& name, DataType dtype, const Lanes& args) override;
  std::string rounded(const std::string& value, DataType dtype) override;
  bool visit_call(const Call* op, Lanes* out) override;
  bool visit_attr(const AttrStmt* op) override;
  void visit_loop(const For* op) override;
  void allocate(const Allocate* op, int64_t count) override;
  void allocate_const(const AllocateConst* op) override;
  void fail_with(const std::string& message) override;
  std::string call_extern(const std::string& name, const Call* op, size_t first_argument) override;

  // packed.cc
  using CEmitter = Lanes (CPrinter::*)(const Call*);
  static const std::unordered_map<std::string_view, CEmitter>& c_emitters();
  std::string struct_field(const Call* op, DataType* type);
  Lanes struct_get(const Call* op);
  Lanes struct_set(const Call* op);
  Lanes stack_alloca(const Call* op);
  Lanes static_handle(const Call* op);
  Lanes call_packed(const Call* op);
  Lanes return_error(const Call* op);
  Lanes return_value(const Call* op);
  Lanes count_bits(const Call* op);
  Lanes atomic_add(const Call* op);
  Lanes prefetch_data(const Call* op);
  Lanes checked_index(const Call* op);
  /// Writes what a function does and what it gives back at its end.
  void function_body(const std::function<void()>& body);
  std::string packed_handle(const std::string& name);
  std::string runtime_call(const std::string& name, const std::string& args);
  void check_status(const std::string& status);

  // outline.cc
  std::vector<const VarNode*> captured_by(const Stmt& body);
  std::string parameter(const VarNode* var, const std::string& name, bool restricted);
  void outline(const std::string& head, const std::vector<const VarNode*>& captured, const std::function<void()>& body);
  void compute_scope(const AttrStmt* op);
  void parallel_launch(const Stmt& body, const std::string& name);
  void run_share(const For* op);

  void need_half();
  void need_bfloat();
  std::string pointer_element(const VarNode* var);

  Target target_;
  FunctionState state_;
  bool restricted_ = false;
  std::string function_name_, entry_, imported_;
  std::set<std::string> outlined_;
  std::string done_;  // finished functions
};

}  // namespace tessera::codegen

#pragma once
// Matching the variables of a buffer's description with actual values: the first value a variable meets defines it,
// every later one is checked against it.

#include <unordered_map>

#include "tir/stmt.h"

namespace tessera {

/// `let var = value` around nothing yet.
Stmt let(const Var& var, const PrimExpr& value);

class ArgBinder {
 public:
  /// Definitions are collected in `defs`; a binder may go on from the definitions of another.
  explicit ArgBinder(std::unordered_map<const VarNode*, PrimExpr>* defs) : defs_(defs) {}

  /// Matches `wanted` (a variable, or an expression to be equal) with `value`, called `name` in messages. A new variable
  /// becomes a LetStmt where `with_let`, else stands for the value itself.
  void bind(const PrimExpr& wanted, const PrimExpr& value, const std::string& name, bool with_let);
  void bind(const Array<PrimExpr>& wanted, const Array<PrimExpr>& values, const std::string& name, bool with_let);
  /// Makes the variables of `view` stand for those of `source`, memory of the same kind. `fuzzy` lets `view` have fewer
  /// dimensions, when the leading ones of `source` are 1.
  void bind_buffer(const Buffer& view, const Buffer& source, const std::string& name, bool fuzzy);
  /// Matches `buffer` with the DLTensor `handle` points to: type, number of dimensions, shape, strides, offset, device.
  void bind_dltensor(const Buffer& buffer, const PrimExpr& device_type, const PrimExpr& device_id, const Var& handle,
                     const std::string& name);
  /// Adds a check; one that is plainly false is an error at once. `first`: it stands among the definitions, before those
  /// that rely on it.
  void require(const PrimExpr& condition, const std::string& message, bool first = false);

  const std::vector<Var>& defined() const { return defined_; }
  const std::vector<Stmt>& inits() const { return inits_; }      // in order, each with an empty body
  const std::vector<Stmt>& asserts() const { return asserts_; }  // checks, each with an empty body

 private:
  void bind_equal(const PrimExpr& wanted, const PrimExpr& value, const std::string& name);
  void bind_shape(const Buffer& buffer, const Var& handle, const std::string& name);
  void bind_strides(const Buffer& buffer, const Var& handle, const std::string& name);

  std::unordered_map<const VarNode*, PrimExpr>* defs_;
  std::vector<Var> defined_;
  std::vector<Stmt> inits_, asserts_;
};

/// The statement `body` inside the scopes of `nest`, whose own bodies are left empty; the first is outermost.
Stmt merge_nest(const std::vector<Stmt>& nest, Stmt body);

/// The fields of a DLTensor and of a value slot, as tir.tvm_struct_get and tvm_struct_set number them.
enum class StructField : int32_t {
  ArrayAddress = 0,
  Data = 1,
  Shape = 2,
  Strides = 3,
  NDim = 4,
  TypeCode = 5,
  TypeBits = 6,
  TypeLanes = 7,
  ByteOffset = 8,
  DeviceId = 9,
  DeviceType = 10,
  ValueContent = 12,
};
PrimExpr struct_get(DataType dtype, const PrimExpr& handle, int index, StructField field);
Stmt struct_set(const PrimExpr& handle, int index, StructField field, const PrimExpr& value);

}  // namespace tessera

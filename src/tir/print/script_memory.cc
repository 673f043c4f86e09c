// TVMScript of statements that allocate or declare memory.

#include <cmath>

#include "ir/prim/ops.h"
#include "ir/structural/equal.h"
#include "runtime/ndarray.h"
#include "tir/print/script.h"

namespace tessera {
namespace {

/// An allocation whose only view is declared right away is written as the declaration alone.
bool is_declared_whole(const Allocate* stmt) {
  auto* decl = stmt->body.as<DeclBuffer>();
  if (!decl || !decl->buffer->data.same_as(stmt->buffer_var)) return false;
  const BufferNode* buffer = decl->buffer.get();
  return is_pointer_to(buffer->data.get(), buffer->dtype) && buffer->dtype == stmt->dtype && is_one(stmt->condition) &&
         stmt->annotations.empty() && buffer->strides.empty() && buffer->axis_separators.empty() &&
         is_zero(buffer->elem_offset) && structural_equal(buffer->shape, stmt->extents);
}

void script_declaration(ScriptPrinter& p, const DeclBuffer* stmt) {
  p.mark_declared(stmt->buffer.get());
  const std::string& name = p.name_of(stmt->buffer.get());
  std::string call = p.captured([&] {
    p.dialect("decl_buffer") << "(" << stmt->buffer->shape;
    p.buffer_options(stmt->buffer.get());
    p << ")";
  });
  const VarNode* data = stmt->buffer->data.get();
  p.scoped(call + " as " + name, name + " = " + call, stmt->body, [&] { p.declare_views(data); });
}

/// A declaration without `data` would allocate: where it does not, its pointer needs a name.
void script_decl_buffer(ScriptPrinter& p, const DeclBuffer* stmt) {
  p.name_of(stmt->buffer->data.get());
  script_declaration(p, stmt);
}

/// `call` ended by the annotations and a bracket, then what happens while the memory is there.
template <class Allocation>
void script_scope(ScriptPrinter& p, const Allocation* stmt, std::string call) {
  const VarNode* var = stmt->buffer_var.get();
  call += p.captured([&] {
    if (!stmt->annotations.empty()) {
      p << ", annotations=";
      p.dictionary(stmt->annotations);
    }
    p << ")";
  });
  const std::string name = p.name_of(var);
  p.scoped(call + " as " + name, name + " = " + call, stmt->body, [&] { p.declare_views(var); });
}

void script_allocate(ScriptPrinter& p, const Allocate* stmt) {
  if (is_declared_whole(stmt)) return script_declaration(p, stmt->body.as<DeclBuffer>());
  const VarNode* var = stmt->buffer_var.get();
  auto* pointer = var->type_annotation.as<PointerType>();
  bool is_global = !pointer || pointer->storage_scope.empty();
  if (is_pointer_to(var, stmt->dtype)) p.define(var);  // else the head says what it is
  std::string call = p.captured([&] {
    p.dialect("allocate") << "(" << stmt->extents << ", " << quoted(stmt->dtype.str()) << ", "
                          << quoted(is_global ? "global" : pointer->storage_scope.str());
    if (!is_one(stmt->condition)) p << ", " << stmt->condition;
  });
  script_scope(p, stmt, std::move(call));
}

double half_value(uint16_t bits) {
  int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  double size = exponent == 0    ? std::ldexp(mantissa, -24)
                : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                 : std::ldexp(mantissa + 1024, exponent - 25);
  return bits >> 15 ? -size : size;
}

/// Every element of a tensor as a Python number.
void script_elements(ScriptPrinter& p, const NDArray& tensor) {
  DataType dtype = tensor.dtype();
  p << "[";
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (i > 0) p << ", ";
    char digits[64] = "";
    if (dtype == DataType::Float(32)) std::snprintf(digits, sizeof(digits), "%.9g", tensor.data<float>()[i]);
    else if (dtype == DataType::Float(64)) std::snprintf(digits, sizeof(digits), "%.17g", tensor.data<double>()[i]);
    else if (dtype.bits == 8 && dtype.is_int()) std::snprintf(digits, sizeof(digits), "%d", tensor.data<int8_t>()[i]);
    else if (dtype.bits <= 8 && dtype.is_uint()) std::snprintf(digits, sizeof(digits), "%u", tensor.data<uint8_t>()[i]);
    else if (dtype == DataType::Int(16)) std::snprintf(digits, sizeof(digits), "%d", tensor.data<int16_t>()[i]);
    else if (dtype == DataType::UInt(16)) std::snprintf(digits, sizeof(digits), "%u", tensor.data<uint16_t>()[i]);
    else if (dtype == DataType::Int(32)) std::snprintf(digits, sizeof(digits), "%d", tensor.data<int32_t>()[i]);
    else if (dtype == DataType::UInt(32)) std::snprintf(digits, sizeof(digits), "%u", tensor.data<uint32_t>()[i]);
    else if (dtype == DataType::Int(64)) p << tensor.data<int64_t>()[i];
    else if (dtype == DataType::UInt(64)) p << std::to_string(tensor.data<uint64_t>()[i]);
    else if (dtype == DataType::Float(16))
      std::snprintf(digits, sizeof(digits), "%.9g", half_value(tensor.data<uint16_t>()[i]));
    else throw Error(NotImplementedError) << "TVMScript has no form for constants of type " << dtype.str();
    p << digits;
  }
  p << "]";
}

void script_allocate_const(ScriptPrinter& p, const AllocateConst* stmt) {
  const VarNode* var = stmt->buffer_var.get();
  p.define(var);
  std::string call = p.captured([&] {
    p.dialect("allocate_const") << "(";
    if (auto* tensor = stmt->data.as<NDArrayNode>()) script_elements(p, NDArray(tensor));
    else p << "None";
    p << ", " << quoted(stmt->dtype.str()) << ", " << stmt->extents;
    if (stmt->irmod_storage_idx) p << ", irmod_storage_idx=" << stmt->irmod_storage_idx;
  });
  script_scope(p, stmt, std::move(call));
}

ScriptRows script_memory{script_allocate, script_allocate_const, script_decl_buffer};

}  // namespace
}  // namespace tessera

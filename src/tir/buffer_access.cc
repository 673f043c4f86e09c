#include "tir/buffer_access.h"

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// Number of elements from `offset` to the end of the buffer's memory.
PrimExpr elements_after(const Buffer& buffer, const PrimExpr& offset) {
  if (buffer->shape.empty()) return make_const(buffer->index_dtype(), 1);
  if (!buffer->strides.empty()) return buffer->strides[0] * buffer->shape[0] - offset;
  PrimExpr total = 1;
  for (const PrimExpr& extent : buffer->shape) total = total * extent;
  return total - offset;
}

/// `begin` with its last index widened to as many lanes as `dtype` has elements of the buffer.
Array<PrimExpr> vector_indices(const char* what, const Buffer& buffer, Array<PrimExpr> begin, DataType dtype) {
  if (!buffer) throw Error(ValueError) << what << ": the buffer is missing (None)";
  if (dtype.element() != buffer->dtype.element() || dtype.lanes % buffer->dtype.lanes != 0)
    throw Error(RuntimeError) << what << ": buffer " << buffer->name << " holds " << buffer->dtype
                              << ", which does not make up " << dtype;
  int lanes = dtype.lanes / buffer->dtype.lanes;
  if (lanes > 1) {
    if (begin.empty()) throw Error(RuntimeError) << what << ": a vector needs a dimension to lie along";
    PrimExpr last = begin.back();
    begin.set(begin.size() - 1, make_ramp(last, make_const(last.dtype(), 1), lanes));
  }
  return begin;
}

}  // namespace

PrimExpr access_ptr(const Buffer& buffer, int access_mask, DataType ptr_type, int content_lanes, PrimExpr offset,
                    PrimExpr extent) {
  PrimExpr length = elements_after(buffer, offset);
  PrimExpr begin = buffer->elem_offset + offset;
  DataType content = buffer->dtype;
  if (content_lanes > 1) {
    content = content.with_lanes(content_lanes);
    PrimExpr lanes = make_const(buffer->elem_offset.dtype(), content_lanes);
    length = truncdiv(length, lanes);
    begin = truncdiv(begin, lanes);
  }
  PrimExpr annotation = make_call(content, builtin::type_annotation(), {});
  return make_call(ptr_type, builtin::tvm_access_ptr(),
                   {annotation, buffer->data, begin, extent ? extent : length, PrimExpr(access_mask)});
}

PrimExpr vload(const Buffer& buffer, Array<PrimExpr> begin, DataType dtype) {
  return checked_load(buffer, vector_indices("vload", buffer, std::move(begin), dtype));
}

Stmt vstore(const Buffer& buffer, Array<PrimExpr> begin, PrimExpr value) {
  if (!value) throw Error(ValueError) << "vstore: the value is missing (None)";
  Array<PrimExpr> indices = vector_indices("vstore", buffer, std::move(begin), value.dtype());
  return checked_store(buffer, std::move(value), std::move(indices));
}

namespace {

Globals buffer_access_globals{
    {"tir.BufferAccessPtr", access_ptr},
    {"tir.BufferVLoad", vload},
    {"tir.BufferVStore", vstore},
    {"tir.BufferStorageScope", [](Buffer buffer) { return buffer->scope(); }},
};

}  // namespace
}  // namespace tessera

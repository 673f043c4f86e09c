#include "tir/buffer.h"

namespace tessera {

std::string BufferNode::scope() const {
  auto* pointer = data->type_annotation.as<PointerType>();
  if (!pointer || pointer->storage_scope.empty()) return "global";
  return pointer->storage_scope.str();
}

DataType BufferNode::index_dtype() const { return shape.empty() ? DataType::Int(32) : shape[0].dtype().element(); }

Buffer decl_buffer(Array<PrimExpr> shape, DataType dtype, String name, String scope) {
  DataType storage = dtype.is_bool() ? DataType::Int(8) : dtype;
  DataType index = shape.empty() ? DataType::Int(32) : shape[0].dtype();
  BufferNode node;
  node.data = make_var(name, pointer_type(storage, std::move(scope)));
  node.dtype = dtype;
  node.elem_offset = make_zero(index);
  node.shape = std::move(shape);
  node.name = std::move(name);
  return make(std::move(node));
}

PrimExpr make_load(Buffer buffer, Array<PrimExpr> indices) {
  BufferLoad load;
  load.dtype = buffer->dtype;
  if (!indices.empty()) {
    int lanes = indices.back().dtype().lanes;
    load.dtype = buffer->dtype.with_lanes(buffer->dtype.lanes * lanes);
  }
  load.buffer = std::move(buffer);
  load.indices = std::move(indices);
  return make(std::move(load));
}

}  // namespace tessera

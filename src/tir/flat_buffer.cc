#include "tir/flat_buffer.h"

#include "arith/analyzer.h"
#include "arith/merge_quotients.h"
#include "ir/prim/ops.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// Which physical dimension each axis belongs to.
std::vector<size_t> physical_axes(const Buffer& buffer) {
  std::vector<size_t> out(buffer->shape.size());
  size_t group = 0;
  for (size_t axis = 0; axis < out.size(); ++axis) {
    while (group < buffer->axis_separators.size() &&
           *as_int(buffer->axis_separators[group]) <= static_cast<int64_t>(axis))
      ++group;
    out[axis] = group;
  }
  return out;
}

}  // namespace

Array<PrimExpr> flat_indices(const Buffer& buffer, const Array<PrimExpr>& indices) {
  ICHECK(indices.size() == buffer->shape.size()) << "buffer " << buffer->name << " has " << buffer->shape.size()
                                                 << " dimensions, accessed by " << indices.size() << " indices";
  std::vector<size_t> physical = physical_axes(buffer);
  std::vector<PrimExpr> out(buffer->axis_separators.size() + 1);
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    PrimExpr& offset = out[physical[axis]];
    PrimExpr term = buffer->strides.empty() ? indices[axis] : indices[axis] * buffer->strides[axis];
    if (!offset) offset = term;
    else offset = buffer->strides.empty() ? offset * buffer->shape[axis] + term : offset + term;
  }
  for (PrimExpr& offset : out)
    if (!offset) offset = make_zero(buffer->index_dtype());
  if (buffer->elem_offset && !is_zero(buffer->elem_offset)) {
    ICHECK(out.size() == 1) << "buffer " << buffer->name << " has an offset and several physical dimensions";
    out[0] = out[0] + buffer->elem_offset;
  }
  for (PrimExpr& offset : out) offset = arith::merge_quotients(offset);
  return out;
}

Buffer flat_buffer(const Buffer& buffer) {
  std::vector<size_t> physical = physical_axes(buffer);
  std::vector<PrimExpr> shape(buffer->axis_separators.size() + 1);
  for (size_t axis = 0; axis < buffer->shape.size(); ++axis) {
    PrimExpr& extent = shape[physical[axis]];
    if (!extent) extent = buffer->strides.empty() ? buffer->shape[axis] : buffer->strides[axis] * buffer->shape[axis];
    else if (buffer->strides.empty()) extent = extent * buffer->shape[axis];
  }
  BufferNode node(*buffer.get());
  for (PrimExpr& extent : shape)
    if (!extent) extent = make_const(buffer->index_dtype(), 1);
  node.shape = shape;
  Array<PrimExpr> separators;
  for (size_t i = 1; i < shape.size(); ++i) separators.push_back(int_imm(DataType::Int(32), static_cast<int64_t>(i)));
  node.axis_separators = separators;
  node.strides = {};
  if (node.dtype.is_bool()) node.dtype = DataType::Int(8, node.dtype.lanes);
  return make(std::move(node));
}

Array<PrimExpr> compact_strides(const Array<PrimExpr>& shape) {
  std::vector<PrimExpr> strides(shape.size());
  PrimExpr stride = shape.empty() ? PrimExpr(1) : make_const(shape[0].dtype(), 1);
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride = stride * shape[axis];
  }
  return strides;
}

namespace {

/// The same for a user: the number of indices is checked, the offsets are simplified.
Array<PrimExpr> offset_of(const Buffer& buffer, const Array<PrimExpr>& indices) {
  if (indices.size() != buffer->shape.size())
    throw Error(RuntimeError) << "offset_of: buffer " << buffer->name << " has " << buffer->shape.size()
                              << " dimensions, but " << indices.size() << " indices were given";
  arith::Analyzer analyzer;
  Array<PrimExpr> out;
  for (const PrimExpr& offset : flat_indices(buffer, indices)) out.push_back(analyzer.simplify(offset));
  return out;
}

Globals flat_buffer_globals{
    {"tir.BufferOffsetOf", offset_of},
    {"tir.BufferGetFlattenedBuffer", flat_buffer},
};

}  // namespace
}  // namespace tessera

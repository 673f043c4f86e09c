#pragma once
// Memory as loops see it: buffers, their elements and regions.

#include "ir/prim/expr.h"

namespace tessera {

enum class BufferType : int32_t { Default = 1, AutoBroadcast = 2 };

/// A (possibly strided, possibly offset) n-dimensional view of memory. Two buffers may share `data`.
/// No strides means compact row-major. A bool buffer keeps one byte per element.
struct BufferNode : Object {
  Var data;  // a pointer; its type carries the storage scope
  DataType dtype;
  Array<PrimExpr> shape;
  Array<PrimExpr> axis_separators;  // IntImms: where physical dimensions begin
  Array<PrimExpr> strides;
  PrimExpr elem_offset;  // of the first element, counted in elements
  String name;
  int32_t data_alignment = 64;  // bytes
  int32_t offset_factor = 1;    // elem_offset is a multiple of this
  BufferType buffer_type = BufferType::Default;
  Span span;

  static constexpr NodeInfo info{"tir.Buffer", &Object::info};
  static void fields(auto f) {
    f("data", &BufferNode::data, Binds);
    f("dtype", &BufferNode::dtype);
    f("shape", &BufferNode::shape, Binds);
    f("axis_separators", &BufferNode::axis_separators);
    f("strides", &BufferNode::strides, Binds);
    f("elem_offset", &BufferNode::elem_offset, Binds);
    f("name", &BufferNode::name, Ignored);
    f("data_alignment", &BufferNode::data_alignment);
    f("offset_factor", &BufferNode::offset_factor);
    f("buffer_type", &BufferNode::buffer_type);
    f("span", &BufferNode::span, Ignored | Optional);
  }

  /// "global", "shared", "local", ...
  std::string scope() const;
  /// The type indices into this buffer have.
  DataType index_dtype() const;
};
using Buffer = Ref<BufferNode>;

/// A compact buffer with a pointer variable of its own, named after it.
Buffer decl_buffer(Array<PrimExpr> shape, DataType dtype, String name = "buffer", String scope = "");

struct BufferLoad : PrimExprNode {
  Buffer buffer;
  Array<PrimExpr> indices;
  static constexpr NodeInfo info{"tir.BufferLoad", &PrimExprNode::info};
  static void fields(auto f) {
    f("buffer", &BufferLoad::buffer, Opaque);
    f("indices", &BufferLoad::indices);
  }
};
/// The load with its dtype worked out (vector lanes come from the last index).
PrimExpr make_load(Buffer buffer, Array<PrimExpr> indices);

/// A rectangle of a buffer.
struct BufferRegionNode : Object {
  Buffer buffer;
  Array<Range> region;
  static constexpr NodeInfo info{"tir.BufferRegion", &Object::info};
  static void fields(auto f) {
    f("buffer", &BufferRegionNode::buffer, Opaque);
    f("region", &BufferRegionNode::region);
  }
};
using BufferRegion = Ref<BufferRegionNode>;

/// `buffer` is a view of the rectangle `source`, with symbolic strides and offset bound on entry.
struct MatchBufferRegionNode : Object {
  Buffer buffer;
  BufferRegion source;
  static constexpr NodeInfo info{"tir.MatchBufferRegion", &Object::info};
  static void fields(auto f) {
    f("buffer", &MatchBufferRegionNode::buffer, Opaque | Binds);
    f("source", &MatchBufferRegionNode::source);
  }
};
using MatchBufferRegion = Ref<MatchBufferRegionNode>;

}  // namespace tessera

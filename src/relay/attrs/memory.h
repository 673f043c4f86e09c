#pragma once
// Attributes of operators that name memory, and of those that a machine runs as they are.

#include "ir/attrs.h"
#include "ir/expr.h"
#include "ir/target/virtual_device.h"

namespace tessera::relay {

struct AllocStorageAttrs : AttrsNode {
  DataType dtype = DataType::Float(32);
  VirtualDevice virtual_device;
  static constexpr NodeInfo info{"relay.attrs.AllocStorageAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("dtype", &AllocStorageAttrs::dtype);
    f("virtual_device", &AllocStorageAttrs::virtual_device, Optional);
  }
};

/// The shape is a constant, or what `assert_shape` promises of the argument that holds it.
struct AllocTensorAttrs : AttrsNode {
  DataType dtype = DataType::Float(32);
  RelayExpr const_shape;
  Array<PrimExpr> assert_shape = nullptr;
  static constexpr NodeInfo info{"relay.attrs.AllocTensorAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("dtype", &AllocTensorAttrs::dtype);
    f("const_shape", &AllocTensorAttrs::const_shape, Optional);
    f("assert_shape", &AllocTensorAttrs::assert_shape, Optional);
  }
};

struct CastHintAttrs : AttrsNode {
  DataType dtype;
  static constexpr NodeInfo info{"relay.attrs.CastHintAttrs", &AttrsNode::info};
  static void fields(auto f) { f("dtype", &CastHintAttrs::dtype, Required); }
};

/// `debug_func` is the name of a function in the registry, which is called with each tensor that passes.
struct DebugAttrs : AttrsNode {
  String debug_func;
  static constexpr NodeInfo info{"relay.attrs.DebugAttrs", &AttrsNode::info};
  static void fields(auto f) { f("debug_func", &DebugAttrs::debug_func, Required); }
};

/// What the compiler noted of a lowered function, by name.
struct CallLoweredAttrs : AttrsNode {
  Map<String, ObjectRef> metadata;
  static constexpr NodeInfo info{"relay.attrs.CallLoweredAttrs", &AttrsNode::info};
  static void fields(auto f) { f("metadata", &CallLoweredAttrs::metadata); }
};

/// Object number `node_index` of those of type `node_type_key`.
struct MetaRefAttrs : AttrsNode {
  String node_type_key;
  int64_t node_index = 0;
  static constexpr NodeInfo info{"relay.attrs.MetaRefAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("node_type_key", &MetaRefAttrs::node_type_key);
    f("node_index", &MetaRefAttrs::node_index);
  }
};

struct ReshapeTensorAttrs : AttrsNode {
  Array<PrimExpr> newshape;
  static constexpr NodeInfo info{"relay.attrs.ReshapeTensorAttrs", &AttrsNode::info};
  static void fields(auto f) { f("newshape", &ReshapeTensorAttrs::newshape, Required); }
};

}  // namespace tessera::relay

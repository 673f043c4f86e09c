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

struct ReshapeTensorAttrs : AttrsNode {
  Array<PrimExpr> newshape;
  static constexpr NodeInfo info{"relay.attrs.ReshapeTensorAttrs", &AttrsNode::info};
  static void fields(auto f) { f("newshape", &ReshapeTensorAttrs::newshape, Required); }
};

}  // namespace tessera::relay

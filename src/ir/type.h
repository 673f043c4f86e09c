#pragma once
// Types of variables and functions.

#include "base/array.h"
#include "ir/span.h"

namespace tessera {

struct TypeNode : Object {
  Span span;
  static constexpr NodeInfo info{"Type", &Object::info};
  static void fields(auto f) { f("span", &TypeNode::span, Ignored | Optional); }
};
using Type = Ref<TypeNode>;

/// A scalar or vector value in a register.
struct PrimType : TypeNode {
  DataType dtype;
  static constexpr NodeInfo info{"PrimType", &TypeNode::info};
  static void fields(auto f) { f("dtype", &PrimType::dtype); }
};

/// The address of elements of a type in a storage scope ("" and "global" mean main memory).
struct PointerType : TypeNode {
  Type element_type;
  String storage_scope;
  static constexpr NodeInfo info{"PointerType", &TypeNode::info};
  static void fields(auto f) {
    f("element_type", &PointerType::element_type);
    f("storage_scope", &PointerType::storage_scope);
  }
};

struct TupleType : TypeNode {
  Array<Type> fields_;
  static constexpr NodeInfo info{"TupleType", &TypeNode::info};
  static void fields(auto f) { f("fields", &TupleType::fields_); }
};

struct FuncType : TypeNode {
  Array<Type> arg_types;
  Type ret_type;
  static constexpr NodeInfo info{"FuncType", &TypeNode::info};
  static void fields(auto f) {
    f("arg_types", &FuncType::arg_types);
    f("ret_type", &FuncType::ret_type);
  }
};

Type prim_type(DataType dtype);
Type pointer_type(DataType element, String storage_scope = "");
Type void_type();  // the empty tuple
/// The register type of a value of type `type`: a PrimType's own, handle for pointers, void for the empty tuple.
DataType runtime_dtype(const Type& type);

}  // namespace tessera

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

/// What a type variable may stand for.
enum class TypeKind : int32_t { Type = 0, ShapeVar = 1, BaseType = 2, Constraint = 4, AdtHandle = 5, TypeData = 6 };

/// A type parameter of a function or an algebraic data type.
struct TypeVarNode : TypeNode {
  String name_hint;
  TypeKind kind = TypeKind::Type;
  static constexpr NodeInfo info{"TypeVar", &TypeNode::info, Role::Var};
  static void fields(auto f) {
    f("name_hint", &TypeVarNode::name_hint);
    f("kind", &TypeVarNode::kind);
  }
};
using TypeVar = Ref<TypeVarNode>;

/// The name of an algebraic data type of an IRModule; two are the same only by identity.
struct GlobalTypeVarNode : TypeNode {
  String name_hint;
  TypeKind kind = TypeKind::AdtHandle;
  static constexpr NodeInfo info{"GlobalTypeVar", &TypeNode::info, Role::Var};
  static void fields(auto f) {
    f("name_hint", &GlobalTypeVarNode::name_hint);
    f("kind", &GlobalTypeVarNode::kind);
  }
};
using GlobalTypeVar = Ref<GlobalTypeVarNode>;

/// A data type with its parameters filled in: List[Tensor[(3,), float32]].
struct TypeCall : TypeNode {
  Type func;
  Array<Type> args;
  static constexpr NodeInfo info{"TypeCall", &TypeNode::info};
  static void fields(auto f) {
    f("func", &TypeCall::func);
    f("args", &TypeCall::args);
  }
};

/// A hole that type inference fills; each is one unknown.
struct IncompleteType : TypeNode {
  TypeKind kind = TypeKind::Type;
  static constexpr NodeInfo info{"IncompleteType", &TypeNode::info, Role::Identity};
  static void fields(auto f) { f("kind", &IncompleteType::kind); }
};

struct RefType : TypeNode {
  Type value;
  static constexpr NodeInfo info{"relay.RefType", &TypeNode::info};
  static void fields(auto f) { f("value", &RefType::value); }
};

/// What must hold between the types of a function besides its signature.
struct TypeConstraintNode : TypeNode {
  static constexpr NodeInfo info{"TypeConstraint", &TypeNode::info};
  static void fields(auto) {}
};
using TypeConstraint = Ref<TypeConstraintNode>;

struct FuncType : TypeNode {
  Array<TypeVar> type_params;
  Array<Type> arg_types;
  Type ret_type;
  Array<TypeConstraint> type_constraints;
  static constexpr NodeInfo info{"FuncType", &TypeNode::info};
  static void fields(auto f) {
    f("type_params", &FuncType::type_params, Binds);
    f("arg_types", &FuncType::arg_types);
    f("ret_type", &FuncType::ret_type);
    f("type_constraints", &FuncType::type_constraints);
  }
};

Type prim_type(DataType dtype);
Type pointer_type(DataType element, String storage_scope = "");
Type void_type();  // the empty tuple
/// The register type of a value of type `type`: a PrimType's own, handle for pointers, void for the empty tuple.
DataType runtime_dtype(const Type& type);

}  // namespace tessera

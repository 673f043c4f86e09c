#pragma once
// Expressions over machine values. Built by the operators of ir/prim/ops.h, which fold and match types; the structs
// here are the bare nodes and hold whatever they are given.

#include "ir/expr.h"
#include "ir/op.h"

namespace tessera {

/// A variable, the same only as itself. A pointer's type_annotation is a PointerType.
struct VarNode : PrimExprNode {
  String name;
  Type type_annotation;
  static constexpr NodeInfo info{"tir.Var", &PrimExprNode::info, Role::Var};
  static void fields(auto f) {
    f("name", &VarNode::name, Ignored);  // bound variables are equal whatever they are called
    f("type_annotation", &VarNode::type_annotation, Optional | Opaque);
  }
};
using Var = Ref<VarNode>;

/// A variable known to be zero or more.
struct SizeVarNode : VarNode {
  static constexpr NodeInfo info{"tir.SizeVar", &VarNode::info, Role::Var};
  static void fields(auto) {}
};

Var make_var(String name, DataType dtype = DataType::Int(32));
Var make_var(String name, Type type);
Var make_size_var(String name, DataType dtype = DataType::Int(32));

/// An unknown dimension of a Relay shape.
struct AnyDim : PrimExprNode {
  static constexpr NodeInfo info{"tir.Any", &PrimExprNode::info};
  static void fields(auto) {}
};

struct Cast : PrimExprNode {
  PrimExpr value;
  static constexpr NodeInfo info{"tir.Cast", &PrimExprNode::info};
  static void fields(auto f) { f("value", &Cast::value); }
};

struct BinaryNode : PrimExprNode {
  PrimExpr a, b;
  static constexpr NodeInfo info{"tir.Binary", &PrimExprNode::info};
  static void fields(auto f) {
    f("a", &BinaryNode::a);
    f("b", &BinaryNode::b);
  }
};

#define TESSERA_BINARY(NAME)                                         \
  struct NAME : BinaryNode {                                         \
    static constexpr NodeInfo info{"tir." #NAME, &BinaryNode::info}; \
    static void fields(auto) {}                                      \
  };
TESSERA_BINARY(Add)
TESSERA_BINARY(Sub)
TESSERA_BINARY(Mul)
TESSERA_BINARY(Div)  // truncating on integers
TESSERA_BINARY(Mod)  // truncating: has the sign of a
TESSERA_BINARY(FloorDiv)
TESSERA_BINARY(FloorMod)  // has the sign of b
TESSERA_BINARY(Min)
TESSERA_BINARY(Max)
TESSERA_BINARY(EQ)
TESSERA_BINARY(NE)
TESSERA_BINARY(LT)
TESSERA_BINARY(LE)
TESSERA_BINARY(GT)
TESSERA_BINARY(GE)
TESSERA_BINARY(And)
TESSERA_BINARY(Or)
#undef TESSERA_BINARY

struct Not : PrimExprNode {
  PrimExpr a;
  static constexpr NodeInfo info{"tir.Not", &PrimExprNode::info};
  static void fields(auto f) { f("a", &Not::a); }
};

/// Both values may be evaluated; `tir.if_then_else` is the lazy form.
struct Select : PrimExprNode {
  PrimExpr condition, true_value, false_value;
  static constexpr NodeInfo info{"tir.Select", &PrimExprNode::info};
  static void fields(auto f) {
    f("condition", &Select::condition);
    f("true_value", &Select::true_value);
    f("false_value", &Select::false_value);
  }
};

/// The vector base, base + stride, ..., base + (lanes - 1) * stride.
struct Ramp : PrimExprNode {
  PrimExpr base, stride;
  int32_t lanes = 1;
  static constexpr NodeInfo info{"tir.Ramp", &PrimExprNode::info};
  static void fields(auto f) {
    f("base", &Ramp::base);
    f("stride", &Ramp::stride);
    f("lanes", &Ramp::lanes);
  }
};

struct Broadcast : PrimExprNode {
  PrimExpr value;
  int32_t lanes = 1;
  static constexpr NodeInfo info{"tir.Broadcast", &PrimExprNode::info};
  static void fields(auto f) {
    f("value", &Broadcast::value);
    f("lanes", &Broadcast::lanes);
  }
};

/// Lanes picked by constant index from the concatenation of `vectors`.
struct Shuffle : PrimExprNode {
  Array<PrimExpr> vectors, indices;
  static constexpr NodeInfo info{"tir.Shuffle", &PrimExprNode::info};
  static void fields(auto f) {
    f("vectors", &Shuffle::vectors);
    f("indices", &Shuffle::indices);
  }
};

/// A call of an Op or of a GlobalVar's function.
struct Call : PrimExprNode {
  RelayExpr op;
  Array<PrimExpr> args;
  static constexpr NodeInfo info{"tir.Call", &PrimExprNode::info};
  static void fields(auto f) {
    f("op", &Call::op, Opaque);
    f("args", &Call::args);
  }
};

struct Let : PrimExprNode {
  Var var;
  PrimExpr value, body;
  static constexpr NodeInfo info{"tir.Let", &PrimExprNode::info};
  static void fields(auto f) {
    f("var", &Let::var, Binds);
    f("value", &Let::value);
    f("body", &Let::body);
  }
};

/// True when `e` calls the operator `name` ("tir.likely").
bool is_call(const PrimExpr& e, std::string_view name);
bool is_call(const Call* call, std::string_view name);
PrimExpr make_call(DataType dtype, std::string_view op, Array<PrimExpr> args);

}  // namespace tessera

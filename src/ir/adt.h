#pragma once
// Algebraic data types of a module.

#include "ir/expr.h"

namespace tessera {

/// One way of making a value of a data type. `tag` tells values apart at run time; the module sets it.
struct ConstructorNode : RelayExprNode {
  String name_hint;
  Array<Type> inputs;
  GlobalTypeVar belong_to;
  mutable int32_t tag = -1;
  static constexpr NodeInfo info{"relay.Constructor", &RelayExprNode::info};
  static void fields(auto f) {
    f("name_hint", &ConstructorNode::name_hint);
    f("inputs", &ConstructorNode::inputs);
    f("belong_to", &ConstructorNode::belong_to, Ignored);
    f("tag", &ConstructorNode::tag, Ignored);
  }
};
using Constructor = Ref<ConstructorNode>;

/// The definition of a data type: `type List[A] { Cons(A, List[A]), Nil }`.
struct TypeDataNode : TypeNode {
  GlobalTypeVar header;
  Array<TypeVar> type_vars;
  Array<Constructor> constructors;
  static constexpr NodeInfo info{"relay.TypeData", &TypeNode::info};
  static void fields(auto f) {
    f("header", &TypeDataNode::header);
    f("type_vars", &TypeDataNode::type_vars, Binds);
    f("constructors", &TypeDataNode::constructors);
  }
};
using TypeData = Ref<TypeDataNode>;

}  // namespace tessera

#pragma once
// Relay run as it stands: every expression is a value, in the order of the program.
//
// Values: tensors (NDArray), tuples (ADT with tag 0), values of data types (ConstructorValue), references (RefValue),
// closures (Closure), and operators and constructors where they are handed around.

#include <memory>

#include "ir/adt.h"
#include "ir/target/target.h"
#include "relay/expr.h"

namespace tessera::relay {

/// A value of a data type.
struct ConstructorValueNode : Object {
  int32_t tag = -1;
  Array<ObjectRef> fields_;
  Constructor constructor;
  static constexpr NodeInfo info{"relay.ConstructorValue", &Object::info};
  static void fields(auto f) {
    f("tag", &ConstructorValueNode::tag);
    f("fields", &ConstructorValueNode::fields_);
    f("constructor", &ConstructorValueNode::constructor, Optional | Opaque);
  }
};
using ConstructorValue = Ref<ConstructorValueNode>;

/// A reference; its value changes on purpose.
struct RefValueNode : Object {
  ObjectRef value;
  static constexpr NodeInfo info{"relay.RefValue", &Object::info, Role::Identity};
  static void fields(auto f) { f("value", &RefValueNode::value); }
};
using RefValue = Ref<RefValueNode>;

class Interpreter;

/// A function with the values of its free variables. `self` is the name by which it calls itself, if it does.
struct ClosureNode : Object {
  Function function;
  Var self;
  std::vector<ObjectRef> captured;  // of the function's free variables, in their order
  std::shared_ptr<Interpreter> interpreter;
  static constexpr NodeInfo info{"relay.InterpreterClosure", &Object::info, Role::Identity};
  static void fields(auto f) { f("func", &ClosureNode::function); }
};
using Closure = Ref<ClosureNode>;

/// An interpreter of the functions of `mod`, whose operators are compiled for `target` and run on `device`. Calls in tail
/// position take no room, so loops may run for ever; other recursion may be as deep as memory allows.
std::shared_ptr<Interpreter> make_interpreter(IRModule mod, DLDevice device, Target target);
/// The value of an expression without free variables. Types are checked first.
ObjectRef evaluate(const std::shared_ptr<Interpreter>& interpreter, const Expr& expr);
/// The value of a call of a closure (or of an operator or constructor that is a value).
ObjectRef apply_closure(const ObjectRef& function, const std::vector<ObjectRef>& args);

}  // namespace tessera::relay

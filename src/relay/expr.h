#pragma once
// The graph language: dataflow and let-binding mixed, functions as values, references.
//
// Sharing matters: an expression used twice is computed once, so all nodes here but constants are compared as graphs (Role::Dag).
// `checked_type_` is filled by InferType and `virtual_device_` by PlanDevices; both are left behind by `with`-copies
// only where the rewrite keeps the meaning.

#include "ir/adt.h"
#include "ir/attrs.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/tensor_type.h"
#include "runtime/ndarray.h"

namespace tessera::relay {

using Expr = RelayExpr;

/// The inferred type; an error that says to run InferType when there is none.
const Type& checked_type(const Expr& expr);
/// The same where it is known to be a tensor's.
TensorType tensor_type(const Expr& expr);

struct Constant : RelayExprNode {
  NDArray data;
  static constexpr NodeInfo info{"relay.Constant", &RelayExprNode::info};  // a value, whether shared or not
  static void fields(auto f) { f("data", &Constant::data); }
  bool is_scalar() const { return data.shape().empty(); }
};

struct Tuple : RelayExprNode {
  Array<Expr> fields_;
  static constexpr NodeInfo info{"relay.Tuple", &RelayExprNode::info, Role::Dag};
  static void fields(auto f) { f("fields", &Tuple::fields_); }
};

/// The name of a variable, shared by its copies with other type annotations.
struct IdNode : Object {
  String name_hint;
  static constexpr NodeInfo info{"relay.Id", &Object::info, Role::Var};
  static void fields(auto f) { f("name_hint", &IdNode::name_hint, Ignored); }
};
using Id = Ref<IdNode>;

/// A local variable: a parameter, or bound by Let or a pattern.
struct VarNode : RelayExprNode {
  Id vid;
  Type type_annotation;
  static constexpr NodeInfo info{"relay.Var", &RelayExprNode::info, Role::Var};
  static void fields(auto f) {
    f("vid", &VarNode::vid, Opaque);
    f("type_annotation", &VarNode::type_annotation, Optional | Opaque);
  }
  const String& name_hint() const { return vid->name_hint; }
};
using Var = Ref<VarNode>;
Var make_local(String name, Type type_annotation = nullptr, Span span = nullptr);

/// Applies an operator, a function, a global or a constructor. `attrs` are the operator's.
struct Call : RelayExprNode {
  Expr op;
  Array<Expr> args;
  Attrs attrs;
  Array<Type> type_args;
  static constexpr NodeInfo info{"relay.Call", &RelayExprNode::info, Role::Dag};
  static void fields(auto f) {
    f("op", &Call::op);
    f("args", &Call::args);
    f("attrs", &Call::attrs, Optional | Opaque);
    f("type_args", &Call::type_args, Opaque);
  }
  /// The attributes as their own struct; our own mistake when they are another's.
  template <class T>
  const T* attrs_as() const {
    auto* out = attrs.as<T>();
    ICHECK(out) << "expected " << T::info.key;
    return out;
  }
};
Expr make_call(Expr op, Array<Expr> args, Attrs attrs = nullptr, Array<Type> type_args = {}, Span span = nullptr);
/// A call of the operator of that name.
Expr call_op(std::string_view name, Array<Expr> args, Attrs attrs = nullptr);
/// True for a call of exactly that operator.
const Call* as_call_of(const Expr& expr, const Op& op);

/// Evaluates `value` once, before `body`; a function may use its own name.
struct Let : RelayExprNode {
  Var var;
  Expr value, body;
  static constexpr NodeInfo info{"relay.Let", &RelayExprNode::info, Role::Dag};
  static void fields(auto f) {
    f("var", &Let::var, Binds);
    f("value", &Let::value);
    f("body", &Let::body);
  }
};

struct If : RelayExprNode {
  Expr cond, true_branch, false_branch;
  static constexpr NodeInfo info{"relay.If", &RelayExprNode::info, Role::Dag};
  static void fields(auto f) {
    f("cond", &If::cond);
    f("true_branch", &If::true_branch);
    f("false_branch", &If::false_branch);
  }
};

struct TupleGetItem : RelayExprNode {
  Expr tuple;
  int32_t index = 0;
  static constexpr NodeInfo info{"relay.TupleGetItem", &RelayExprNode::info, Role::Dag};
  static void fields(auto f) {
    f("tuple_value", &TupleGetItem::tuple);
    f("index", &TupleGetItem::index);
  }
};

struct RefCreate : RelayExprNode {
  Expr value;
  static constexpr NodeInfo info{"relay.RefCreate", &RelayExprNode::info, Role::Dag};
  static void fields(auto f) { f("value", &RefCreate::value); }
};

struct RefRead : RelayExprNode {
  Expr ref;
  static constexpr NodeInfo info{"relay.RefRead", &RelayExprNode::info, Role::Dag};
  static void fields(auto f) { f("ref", &RefRead::ref); }
};

struct RefWrite : RelayExprNode {
  Expr ref, value;
  static constexpr NodeInfo info{"relay.RefWrite", &RelayExprNode::info, Role::Dag};
  static void fields(auto f) {
    f("ref", &RefWrite::ref);
    f("value", &RefWrite::value);
  }
};

/// Stands in a graph while a pass works (a scaled tensor, a tensor in another layout) and knows what it amounts to.
struct TempExprNode : RelayExprNode {
  static constexpr NodeInfo info{"relay.TempExpr", &RelayExprNode::info, Role::Dag};
  static void fields(auto) {}
};

/// A function, of a module or a closure. `attrs` say what passes know of it (Primitive, Compiler, global_symbol, ...).
struct FunctionNode : BaseFuncNode {
  Array<TypeVar> type_params;
  Array<Var> params;
  Type ret_type;
  Expr body;
  static constexpr NodeInfo info{"relay.Function", &BaseFuncNode::info, Role::Dag};
  static void fields(auto f) {
    f("type_params", &FunctionNode::type_params, Binds);
    f("params", &FunctionNode::params, Binds);
    f("ret_type", &FunctionNode::ret_type, Optional | Opaque);
    f("body", &FunctionNode::body);
  }
};
using Function = Ref<FunctionNode>;
Function make_function(Array<Var> params, Expr body, Type ret_type = nullptr, Array<TypeVar> type_params = {},
                       DictAttrs attrs = {}, Span span = nullptr);

namespace attr {
inline constexpr const char* kPrimitive = "Primitive";  // one kernel: the result of fusion
inline constexpr const char* kCompiler = "Compiler";    // compiled by the external code generator of that name
inline constexpr const char* kComposite = "Composite";
inline constexpr const char* kInline = "Inline";
inline constexpr const char* kClosure = "Closure";
inline constexpr const char* kSkipOptimization = "SkipOptimization";
inline constexpr const char* kReshapeOnly = "relay.reshape_only";
inline constexpr const char* kPartitionedFromPattern = "PartitionedFromPattern";
}  // namespace attr

}  // namespace tessera::relay

#pragma once
// How an operator says the types of its calls.

#include <functional>

#include "relay/expr.h"

namespace tessera::relay {

/// One call as its operator's type rule sees it: the types known so far, and where the rule puts its conclusions.
/// The rule throws Error(TypeError) with what disagrees; the name of the operator and the position are added for it.
class TypeQuery {
 public:
  TypeQuery(std::vector<Type> args, Attrs attrs) : args_(std::move(args)), attrs_(std::move(attrs)) {}
  virtual ~TypeQuery() = default;

  int size() const { return static_cast<int>(args_.size()); }
  /// The type of an argument; an IncompleteType, or one that has such parts, while it is not known.
  const Type& type(int i) const { return args_[i]; }
  bool is_known(int i) const;  // no part of it is left open
  /// An argument that must be a tensor (a tuple): null while unknown, an error when it is something else.
  const TensorTypeNode* tensor(int i) const;
  const TupleType* tuple(int i) const;
  const Attrs& attrs() const { return attrs_; }
  template <class T>
  const T* attrs_as() const {
    auto* out = attrs_.as<T>();
    if (!out) throw Error(TypeError) << "the call has no attributes of type " << T::info.key;
    return out;
  }

  /// Conclusions: the type of the call, and of an argument that was left open (weights that the attributes determine).
  virtual void result(const Type& type) = 0;
  virtual void argument(int i, const Type& type) = 0;

 private:
  std::vector<Type> args_;
  Attrs attrs_;
};

/// True when the types are inferred; false when too little is known yet, and the rule will be asked again.
using TypeRule = bool (*)(TypeQuery&);

/// False when the extents certainly differ; Any and shape variables may be equal to anything. Where it cannot be shown
/// that they are equal, this is assumed.
bool may_equal(const PrimExpr& a, const PrimExpr& b);

/// What rules take for granted about extents that are known only at run time: while one of these lives, the conditions
/// over shape variables that this thread's rules assume are noted in it. Whoever runs the program has to check them.
class ExtentAssumptions {
 public:
  ExtentAssumptions();
  ~ExtentAssumptions();
  ExtentAssumptions(const ExtentAssumptions&) = delete;
  ExtentAssumptions& operator=(const ExtentAssumptions&) = delete;
  static ExtentAssumptions* current();

  std::vector<PrimExpr> conditions;

 private:
  ExtentAssumptions* outer_;
};
/// Notes a condition that the call is only right under.
void assume(const PrimExpr& condition);
/// True for Any.
bool is_any(const PrimExpr& extent);

/// The operator's rule. C++ records set it; Python's `add_type_rel` sets one that calls back.
struct TypeRuleSlot : Object {
  std::function<bool(TypeQuery&)> rule;
  String name;
  static constexpr NodeInfo info{"relay.TypeRule", &Object::info, Role::Identity};
  static void fields(auto f) { f("name", &TypeRuleSlot::name); }
};
inline constexpr const char* kTypeRule = "TTypeRule";

/// Makes a rule known under the name "tvm.relay.type_relation.<name>": (argument types, attrs) -> type. Of several rules of one
/// name (those that ask their own attributes beside the general one) the best is kept, or the first.
void name_type_relation(const std::string& name, TypeRule rule, bool is_best);

}  // namespace tessera::relay

#pragma once
// Types without functions, for programs whose closures become data (see defunctionalize.cc).

#include <deque>
#include <vector>

#include "relay/pattern.h"

namespace tessera::relay {

/// All functions of one type that a program makes: a data type with a constructor for each expression that makes one,
/// which holds what is captured there, and a function `apply` that runs the code of whichever it is given.
struct FunctionKind {
  Type type;  // before the change
  Type data_type;
  GlobalTypeVar header;
  GlobalVar apply;
  std::vector<Var> params;  // of `apply`, after the function itself
  std::vector<Constructor> constructors;
  std::vector<Clause> clauses;  // of `apply`, one for each constructor

  const FuncType* signature() const { return type.as<FuncType>(); }
};

/// Says what types become when function types become data types.
class FirstOrderTypes {
 public:
  explicit FirstOrderTypes(IRModule mod) : mod_(std::move(mod)) {}

  /// The type with function types replaced. A data type that has functions in its fields gets a copy for the very types it
  /// is used with.
  Type operator()(const Type& type);
  /// The constructor that makes values of what `type`, a data type before the change, has become.
  Constructor constructor(const Constructor& given, const Type& type);
  /// The types of the fields of a constructor of `type`, before the change.
  Array<Type> field_types(const Constructor& constructor, const Type& type) const;
  /// The kind of a function type without type parameters.
  FunctionKind& kind(const Type& function_type);
  std::deque<FunctionKind>& kinds() { return kinds_; }
  /// A constructor of its own for one expression that makes functions of that kind.
  Constructor new_constructor(FunctionKind& kind, Array<Type> captured);

 private:
  struct Copy {
    Type type;  // before the change
    GlobalTypeVar header;
    std::vector<Constructor> constructors;  // in the order of the original's
  };
  bool holds_functions(const GlobalTypeVar& header) const;
  Copy& copy_of(const Type& type);
  GlobalTypeVar fresh_type(const std::string& wanted) const;

  IRModule mod_;
  std::deque<FunctionKind> kinds_;
  std::deque<Copy> copies_;
};

}  // namespace tessera::relay

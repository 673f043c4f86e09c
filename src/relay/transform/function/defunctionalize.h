#pragma once
// A program without functions as values while it is made (see defunctionalize.cc).

#include <unordered_map>
#include <vector>

#include "relay/transform/gradient/first_order_types.h"
#include "relay/type/infer_type.h"

namespace tessera::relay {

/// The types that make a function with these type parameters one of type `wanted`. What does not matter is the empty tuple.
Array<Type> type_args_for(const Array<TypeVar>& params, const Type& type, const Type& wanted);

/// The whole of the new program: copies of functions, kinds of closures.
class FirstOrderProgram {
 public:
  explicit FirstOrderProgram(IRModule mod) : types(mod), mod_(std::move(mod)) {}

  Function run(const Function& function);
  /// The copy of a function of the module for the given types.
  GlobalVar instance(const GlobalVar& global, const Array<Type>& type_args);
  Function lookup(const GlobalVar& global) const {
    return downcast_or_null<Function>(mod_->functions.get_or_null(mod_.get_global_var(global->name_hint)));
  }
  Function typed(const Expr& function) const { return downcast<Function>(infer_type(function, mod_)); }
  /// `global` or `constructor` as a value of the function type `wanted`.
  Expr named_function(const Expr& name, const Type& wanted);

  FirstOrderTypes types;

 private:
  Function changed(const Function& function);
  void define_kinds();

  struct Instance {
    Array<Type> type_args;
    GlobalVar copy;
  };
  IRModule mod_;
  std::unordered_map<const Object*, std::vector<Instance>> instances_;
  std::vector<std::pair<GlobalVar, Function>> pending_;
  std::unordered_map<const Object*, std::vector<std::pair<Type, Constructor>>> named_;
  size_t made_ = 0;
};

}  // namespace tessera::relay

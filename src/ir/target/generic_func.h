#pragma once
// Functions with one implementation per target key: how strategies and schedules differ by target.

#include <string>
#include <unordered_map>

#include "ir/target/target.h"
#include "runtime/packed_func.h"

namespace tessera {

/// Called under a target (`Target::current`) it runs the implementation of the first of the target's keys that has one,
/// else the default. Changes on purpose: implementations are added as they are loaded.
struct GenericFuncNode : Object {
  std::string name;
  PackedFunc fallback;
  std::unordered_map<std::string, PackedFunc> by_key;
  static constexpr NodeInfo info{"GenericFunc", &Object::info, Role::Identity};
  static void fields(auto) {}
};
using GenericFunc = Ref<GenericFuncNode>;

/// The generic function of that name, made when there is none yet.
GenericFunc global_generic_func(const std::string& name);
/// The implementation for a target; an error that names the function when there is none.
PackedFunc implementation_for(const GenericFunc& function, const Target& target);

}  // namespace tessera

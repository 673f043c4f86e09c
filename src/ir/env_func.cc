#include "ir/env_func.h"

#include "runtime/registry.h"

namespace tessera {

PackedFunc function_of(const EnvFunc& node) {
  PackedFunc function = find_global(node->name.str());
  if (!function) throw Error(RuntimeError) << "there is no global function " << node->name;
  return function;
}

namespace {

register_types<EnvFuncNode> env_func_types;

Globals env_func_globals{
    {"ir.EnvFuncGet",
     [](String name) {
       EnvFunc out = make(EnvFuncNode{.name = name});
       function_of(out);
       return out;
     }},
    {"ir.EnvFuncGetPackedFunc", function_of},
};

}  // namespace
}  // namespace tessera

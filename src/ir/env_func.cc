// A global function as a node: programs hold it, and save it by its name.

#include "runtime/registry.h"

namespace tessera {
namespace {

struct EnvFuncNode : Object {
  String name;
  static constexpr NodeInfo info{"EnvFunc", &Object::info};
  static void fields(auto f) { f("name", &EnvFuncNode::name); }
};
using EnvFunc = Ref<EnvFuncNode>;

register_types<EnvFuncNode> env_func_types;

PackedFunc function_of(const EnvFunc& node) {
  PackedFunc function = find_global(node->name.str());
  if (!function) throw Error(RuntimeError) << "there is no global function " << node->name;
  return function;
}

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

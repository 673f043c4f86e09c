// Functions from what a user hands in, and tensor intrinsics by name.

#include <map>
#include <mutex>

#include "runtime/registry.h"
#include "tir/construct.h"
#include "tir/tensor_intrin.h"

namespace tessera {
namespace {

PrimFunc checked_prim_func(Array<Var> params, Stmt body, Type ret_type, Map<Var, Buffer> buffer_map,
                           Map<Var, Buffer> preflattened, const ObjectRef& attrs, Span span) {
  if (!body) throw Error(ValueError) << "PrimFunc: its body is missing (None)";
  auto or_empty = [](const Map<Var, Buffer>& map) { return map.defined() ? map : Map<Var, Buffer>(); };
  for (const auto& [var, buffer] : or_empty(buffer_map)) {
    bool is_param = false;
    for (const Var& param : params) is_param = is_param || param.same_as(var);
    if (!is_param) throw Error(ValueError) << "PrimFunc: buffer_map maps " << var->name << ", which is not a parameter";
  }
  PrimFuncNode node;
  node.params = std::move(params);
  node.body = std::move(body);
  node.ret_type = ret_type ? ret_type : void_type();
  node.buffer_map = or_empty(buffer_map);
  node.preflattened_buffer_map = or_empty(preflattened);
  if (auto* dict = attrs.as<DictAttrsNode>()) node.attrs = DictAttrs(dict);
  if (auto* map = attrs.as<MapNode>()) node.attrs = DictAttrs(Map<String, ObjectRef>(map));
  node.span = std::move(span);
  return make(std::move(node));
}

struct IntrinTable {
  std::mutex mutex;
  std::map<std::string, TensorIntrin, std::less<>> intrins;
};

IntrinTable& intrin_table() {
  static auto* table = new IntrinTable;
  return *table;
}

/// Both sides see the same buffers in the same order.
TensorIntrin checked_tensor_intrin(const PrimFunc& desc, const PrimFunc& impl) {
  if (!desc || !impl) throw Error(ValueError) << "TensorIntrin: needs a description and an implementation";
  if (desc->params.size() != impl->params.size())
    throw Error(ValueError) << "TensorIntrin: the description has " << desc->params.size()
                            << " parameters, the implementation " << impl->params.size();
  for (size_t i = 0; i < desc->params.size(); ++i) {
    Buffer a = desc->buffer_map.get_or_null(desc->params[i]), b = impl->buffer_map.get_or_null(impl->params[i]);
    if (!a || !b) throw Error(ValueError) << "TensorIntrin: parameter " << i << " must be a buffer on both sides";
    if (a->dtype != b->dtype)
      throw Error(TypeError) << "TensorIntrin: parameter " << i << " is " << a->dtype << " in the description and "
                             << b->dtype << " in the implementation";
  }
  return make(TensorIntrinNode{.desc = desc, .impl = impl});
}

}  // namespace

void register_tensor_intrin(const std::string& name, TensorIntrin intrin, bool replace) {
  std::lock_guard lock(intrin_table().mutex);
  auto [it, added] = intrin_table().intrins.try_emplace(name, intrin);
  if (added) return;
  if (!replace)
    throw Error(ValueError) << "a tensor intrinsic \"" << name << "\" exists already; pass override=True to replace it";
  it->second = std::move(intrin);
}

TensorIntrin find_tensor_intrin(std::string_view name) {
  std::lock_guard lock(intrin_table().mutex);
  auto it = intrin_table().intrins.find(name);
  return it == intrin_table().intrins.end() ? TensorIntrin() : it->second;
}

namespace {

register_types<TensorIntrinNode> prim_func_types;

Globals prim_func_globals{
    {"tir.PrimFunc", checked_prim_func},
    {"tir.PrimFuncAttrs",
     [](PrimFunc function) -> ObjectRef {
       bool is_empty = !function->attrs || function->attrs->dict.empty();
       return is_empty ? ObjectRef() : ObjectRef(function->attrs);
     }},
    {"tir.TensorIntrin", checked_tensor_intrin},
    {"tir.TensorIntrinRegister", register_tensor_intrin},
    {"tir.TensorIntrinGet",
     [](std::string name) {
       TensorIntrin found = find_tensor_intrin(name);
       if (!found) throw Error(ValueError) << "no tensor intrinsic \"" << name << "\" is registered";
       return found;
     }},
};

}  // namespace
}  // namespace tessera

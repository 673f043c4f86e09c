// The storage scopes of a function's tensors, as the Relay function it was lowered from sees them: one for each argument
// and one for the result, "" where the function leaves it open. A tuple has the one scope of all its fields.

#include "ir/type.h"
#include "runtime/registry.h"
#include "tir/function.h"
#include "tir/remap.h"

namespace tessera {
namespace {

size_t count_tensors(const Type& type) {
  auto* tuple = type.as<TupleType>();
  if (!tuple) return 1;
  size_t count = 0;
  for (const Type& field : tuple->fields_) count += count_tensors(field);
  return count;
}

/// The parameters that stand for each argument, and at the end those of the result.
std::vector<std::vector<Var>> params_by_value(const PrimFunc& function, const Ref<FuncType>& type) {
  std::vector<Type> values(type->arg_types.begin(), type->arg_types.end());
  values.push_back(type->ret_type);
  std::vector<std::vector<Var>> out;
  size_t next = 0;
  for (const Type& value : values) {
    auto& params = out.emplace_back();
    for (size_t count = count_tensors(value); count > 0; --count, ++next) {
      if (next >= function->params.size() || !function->buffer_map.get_or_null(function->params[next]))
        throw Error(ValueError) << "the function has " << function->params.size()
                                << " parameters, which are not the tensors of its Relay type " << to_text(type);
      params.push_back(function->params[next]);
    }
  }
  return out;
}

Array<String> get_scopes(const PrimFunc& function, const Ref<FuncType>& type) {
  Array<String> out;
  for (const std::vector<Var>& params : params_by_value(function, type)) {
    std::string scope;
    for (const Var& param : params) {
      std::string own = function->buffer_map[param]->scope();
      if (own == "global" || own == scope) continue;
      if (!scope.empty())
        throw Error(ValueError) << "the fields of one tuple are in the scopes " << scope << " and " << own;
      scope = own;
    }
    out.push_back(scope);
  }
  return out;
}

PrimFunc apply_scopes(const PrimFunc& function, const Ref<FuncType>& type, const Array<String>& scopes) {
  std::vector<std::vector<Var>> values = params_by_value(function, type);
  if (values.size() != scopes.size())
    throw Error(ValueError) << "expected " << values.size()
                            << " scopes, one for each argument and one for the result, got " << scopes.size();
  Map<Var, PrimExpr> pointers;
  for (size_t i = 0; i < values.size(); ++i) {
    if (scopes[i].empty()) continue;
    for (const Var& param : values[i]) {
      Buffer buffer = function->buffer_map[param];
      auto* pointer = buffer->data->type_annotation.as<PointerType>();
      ICHECK(pointer) << "buffer " << buffer->name << " has no pointer type";
      if (buffer->scope() == scopes[i].str()) continue;
      Type moved = make(PointerType{.element_type = pointer->element_type, .storage_scope = scopes[i]});
      pointers.set(buffer->data, make_var(buffer->data->name, moved));
    }
  }
  if (pointers.empty()) return function;
  Remap remap([&](const Var& var) { return pointers.get_or_null(var); });
  PrimFuncNode out(*function.get());
  for (const auto& [param, buffer] : function->buffer_map) out.buffer_map.set(param, remap(buffer));
  out.body = remap(function->body);
  return make(std::move(out));
}

static Globals memory_scopes_globals{
    {"tir.analysis.GetPrimFuncArgAndResultMemoryConstraints", get_scopes},
    {"tir.analysis.ApplyPrimFuncArgAndResultMemoryConstraints", apply_scopes},
};

}  // namespace
}  // namespace tessera

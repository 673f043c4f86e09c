#include "relay/transform/gradient/first_order_types.h"

#include <unordered_set>

#include "ir/module_types.h"
#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "relay/print_text.h"
#include "relay/type/solver.h"

namespace tessera::relay {
namespace {

GlobalVar fresh_global(const IRModule& mod, const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; mod.find_global_var(name); ++i) name = wanted + "_" + std::to_string(i);
  GlobalVarNode out;
  out.name_hint = name;
  return make(std::move(out));
}

const GlobalTypeVarNode* header_of(const Type& type) {
  auto* call = type.as<TypeCall>();
  auto* header = call ? call->func.as<GlobalTypeVarNode>() : nullptr;
  ICHECK(header) << "a constructor makes values of a data type";
  return header;
}

}  // namespace

GlobalTypeVar FirstOrderTypes::fresh_type(const std::string& wanted) const {
  std::string name = wanted;
  for (int i = 1; find_type_var(mod_, name); ++i) name = wanted + "_" + std::to_string(i);
  return make(GlobalTypeVarNode{.name_hint = name});
}

Type FirstOrderTypes::operator()(const Type& given) {
  return rewrite(
      given, [this](const FuncType* function) -> Type { return kind(Type(function)).data_type; },
      [](const IncompleteType*) -> Type { return void_type(); },  // nothing depends on it
      [](const TensorTypeNode* tensor) -> Type { return Type(tensor); },
      [this](Rewriter& self, const TypeCall* call) -> Type {
        auto* header = call->func.as<GlobalTypeVarNode>();
        if (!header || !holds_functions(GlobalTypeVar(header))) return self.children(call);
        return make(TypeCall{.func = copy_of(Type(call)).header});
      });
}

FunctionKind& FirstOrderTypes::kind(const Type& type) {
  for (FunctionKind& known : kinds_)
    if (structural_equal(known.type, type)) return known;
  auto* function = type.as<FuncType>();
  if (!function || !function->type_params.empty())
    throw Error(TypeError) << "a function that is a value must have one type, not " << type_text(type)
                           << "; give it the types it is used with";
  FunctionKind& out = kinds_.emplace_back();
  std::string number = std::to_string(kinds_.size() - 1);
  out.type = type;
  out.header = fresh_type("Function" + number);
  update_type(mod_, out.header, make(TypeDataNode{.header = out.header}));  // takes the name; constructors follow
  out.data_type = make(TypeCall{.func = out.header});
  out.apply = fresh_global(mod_, "apply" + number);
  for (const Type& arg : function->arg_types)
    out.params.push_back(make_local("x" + std::to_string(out.params.size()), (*this)(arg)));
  return out;
}

Constructor FirstOrderTypes::new_constructor(FunctionKind& kind, Array<Type> captured) {
  ConstructorNode node;
  node.name_hint = std::string(kind.header->name_hint) + "Case" + std::to_string(kind.constructors.size());
  node.inputs = std::move(captured);
  node.belong_to = kind.header;
  return kind.constructors.emplace_back(make(std::move(node)));
}

/// True when a field of the data type, or of one that its fields use, has a function in its own type.
bool FirstOrderTypes::holds_functions(const GlobalTypeVar& root) const {
  std::unordered_set<const Object*> seen{root.get()};
  std::vector<GlobalTypeVar> todo{root};
  bool found = false;
  while (!todo.empty() && !found) {
    TypeData data = find_type(mod_, todo.back());
    todo.pop_back();
    if (!data) continue;
    for (const Constructor& constructor : data->constructors)
      for (const Type& field : constructor->inputs)
        walk(
            field, [&](const FuncType*) { found = true; },
            [&](const GlobalTypeVarNode* used) {
              if (seen.insert(used).second) todo.emplace_back(used);
            });
  }
  return found;
}

FirstOrderTypes::Copy& FirstOrderTypes::copy_of(const Type& type) {
  for (Copy& known : copies_)
    if (structural_equal(known.type, type)) return known;
  TypeData data = lookup_type(mod_, GlobalTypeVar(header_of(type)));
  Copy& out = copies_.emplace_back();  // known before its fields are looked at: they may be of the type itself
  out.type = type;
  out.header = fresh_type(std::string(data->header->name_hint));
  TypeDataNode definition{.header = out.header};
  update_type(mod_, out.header, make(TypeDataNode(definition)));
  for (const Constructor& constructor : data->constructors) {
    ConstructorNode node;
    node.name_hint = std::string(constructor->name_hint) + "_" + std::string(out.header->name_hint);
    node.belong_to = out.header;
    for (const Type& field : field_types(constructor, type)) node.inputs.push_back((*this)(field));
    out.constructors.push_back(make(std::move(node)));
    definition.constructors.push_back(out.constructors.back());
  }
  update_type(mod_, out.header, make(std::move(definition)));
  return out;
}

Array<Type> FirstOrderTypes::field_types(const Constructor& constructor, const Type& type) const {
  TypeData data = lookup_type(mod_, constructor->belong_to);
  auto* call = type.as<TypeCall>();
  ICHECK(call && call->args.size() == data->type_vars.size()) << "a data type has all its parameters";
  std::unordered_map<const Object*, Type> by;
  for (size_t i = 0; i < call->args.size(); ++i) by.emplace(data->type_vars[i].get(), call->args[i]);
  Array<Type> out;
  for (const Type& field : constructor->inputs) out.push_back(substitute_types(field, by));
  return out;
}

Constructor FirstOrderTypes::constructor(const Constructor& given, const Type& type) {
  if (!holds_functions(given->belong_to)) return given;
  TypeData data = lookup_type(mod_, given->belong_to);
  Copy& copy = copy_of(type);
  for (size_t i = 0; i < data->constructors.size(); ++i)
    if (data->constructors[i].same_as(given)) return copy.constructors[i];
  throw Error(ValueError) << "the data type " << data->header->name_hint << " has no constructor " << given->name_hint;
}

}  // namespace tessera::relay

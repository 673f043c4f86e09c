// Algebraic data types and the relations between types by name, as Python makes them.

#include "ir/adt.h"
#include "ir/type_relation.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

Constructor constructor(const String& name, const Array<Type>& inputs, const GlobalTypeVar& belong_to) {
  if (!belong_to) throw Error(TypeError) << "Constructor " << name << ": it must belong to a GlobalTypeVar";
  ConstructorNode node;
  node.name_hint = name;
  node.inputs = inputs.defined() ? inputs : Array<Type>();
  node.belong_to = belong_to;
  return make(std::move(node));
}

TypeData type_data(const GlobalTypeVar& header, const Array<TypeVar>& type_vars,
                   const Array<Constructor>& constructors) {
  if (!header) throw Error(TypeError) << "TypeData: the header, a GlobalTypeVar, is missing (None)";
  TypeDataNode node;
  node.header = header;
  node.type_vars = type_vars.defined() ? type_vars : Array<TypeVar>();
  node.constructors = constructors.defined() ? constructors : Array<Constructor>();
  return make(std::move(node));
}

Globals adt_globals{
    {"ir.Constructor", constructor},
    {"ir.TypeData", type_data},
    {"ir.TypeRelation",
     [](ObjectRef func, Array<Type> args, int num_inputs, Attrs attrs, Span span) {
       TypeRelation relation;
       relation.func = func;
       relation.args = args.defined() ? args : Array<Type>();
       relation.num_inputs = num_inputs;
       relation.attrs = attrs;
       relation.span = span;
       return make(std::move(relation));
     }},
};

}  // namespace
}  // namespace tessera

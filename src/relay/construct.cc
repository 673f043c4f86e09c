// Relay nodes by name, as Python makes them.

#include "relay/pattern.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

/// A node with its span; a missing part is an error that names it.
template <class T>
Ref<T> at(T node, const Span& span) {
  node.span = span;
  return make(std::move(node));
}
template <class R>
const R& given(const R& part, const char* node, const char* name) {
  if (!part) throw Error(TypeError) << node << ": " << name << " is missing (None)";
  return part;
}
Array<Expr> given_all(const Array<Expr>& parts, const char* node, const char* name) {
  if (!parts.defined()) return {};
  for (size_t i = 0; i < parts.size(); ++i)
    if (!parts[i]) throw Error(TypeError) << node << ": item " << i << " of " << name << " is missing (None)";
  return parts;
}

Expr constant(const NDArray& data, const Span& span) {
  Constant node;
  node.data = given(data, "relay.Constant", "data");
  return at(std::move(node), span);
}

Expr tuple(const Array<Expr>& fields, const Span& span) {
  Tuple node;
  node.fields_ = given_all(fields, "relay.Tuple", "fields");
  return at(std::move(node), span);
}

Expr call(const Expr& op, const Array<Expr>& args, const Attrs& attrs, const Array<Type>& type_args, const Span& span) {
  return make_call(given(op, "relay.Call", "op"), given_all(args, "relay.Call", "args"), attrs,
                   type_args.defined() ? type_args : Array<Type>(), span);
}

Expr let(const Var& var, const Expr& value, const Expr& body, const Span& span) {
  Let node;
  node.var = given(var, "relay.Let", "variable");
  node.value = given(value, "relay.Let", "value");
  node.body = given(body, "relay.Let", "body");
  return at(std::move(node), span);
}

Expr if_else(const Expr& cond, const Expr& true_branch, const Expr& false_branch, const Span& span) {
  If node;
  node.cond = given(cond, "relay.If", "cond");
  node.true_branch = given(true_branch, "relay.If", "true_branch");
  node.false_branch = given(false_branch, "relay.If", "false_branch");
  return at(std::move(node), span);
}

Expr get_item(const Expr& tuple, int index, const Span& span) {
  if (index < 0) throw Error(IndexError) << "relay.TupleGetItem: fields are counted from 0, got " << index;
  TupleGetItem node;
  node.tuple = given(tuple, "relay.TupleGetItem", "tuple_value");
  node.index = index;
  return at(std::move(node), span);
}

Expr ref_create(const Expr& value, const Span& span) {
  RefCreate node;
  node.value = given(value, "relay.RefCreate", "value");
  return at(std::move(node), span);
}
Expr ref_read(const Expr& ref, const Span& span) {
  RefRead node;
  node.ref = given(ref, "relay.RefRead", "ref");
  return at(std::move(node), span);
}
Expr ref_write(const Expr& ref, const Expr& value, const Span& span) {
  RefWrite node;
  node.ref = given(ref, "relay.RefWrite", "ref");
  node.value = given(value, "relay.RefWrite", "value");
  return at(std::move(node), span);
}

Function function(const Array<Var>& params, const Expr& body, const Type& ret_type, const Array<TypeVar>& type_params,
                  const DictAttrs& attrs, const Span& span) {
  return make_function(params.defined() ? params : Array<Var>(), given(body, "relay.Function", "body"), ret_type,
                       type_params.defined() ? type_params : Array<TypeVar>(), attrs ? attrs : DictAttrs(), span);
}

/// A copy of `function` with the parts that are given; null keeps what there is.
Function function_with_fields(const Function& function, const Array<Var>& params, const Expr& body,
                              const Type& ret_type, const Array<TypeVar>& type_params, const DictAttrs& attrs,
                              const ObjectRef& virtual_device, const Span& span) {
  FunctionNode copy(*function);
  if (params.defined()) copy.params = params;
  if (body) copy.body = body;
  if (ret_type) copy.ret_type = ret_type;
  if (type_params.defined()) copy.type_params = type_params;
  if (attrs) copy.attrs = attrs;
  if (virtual_device) copy.virtual_device_ = virtual_device;
  if (span) copy.span = span;
  return make(std::move(copy));
}

Expr match(const Expr& data, const Array<Clause>& clauses, bool complete, const Span& span) {
  Match node;
  node.data = given(data, "relay.Match", "data");
  node.clauses = clauses.defined() ? clauses : Array<Clause>();
  node.complete = complete;
  return at(std::move(node), span);
}

Pattern pattern_constructor(const Constructor& constructor, const Array<Pattern>& patterns) {
  PatternConstructor node;
  node.constructor = given(constructor, "relay.PatternConstructor", "constructor");
  node.patterns = patterns.defined() ? patterns : Array<Pattern>();
  return make(std::move(node));
}

Pattern pattern_var(const Var& var) {
  PatternVar node;
  node.var = given(var, "relay.PatternVar", "var");
  return make(std::move(node));
}

Pattern pattern_tuple(const Array<Pattern>& patterns) {
  PatternTuple node;
  node.patterns = patterns.defined() ? patterns : Array<Pattern>();
  return make(std::move(node));
}

Globals construct_globals{
    {"relay.ir.Constant", constant},
    {"relay.ir.Tuple", tuple},
    {"relay.ir.Var", [](String name, Type type, Span span) { return make_local(name, type, span); }},
    {"relay.ir.Call", call},
    {"relay.ir.Let", let},
    {"relay.ir.If", if_else},
    {"relay.ir.TupleGetItem", get_item},
    {"relay.ir.RefCreate", ref_create},
    {"relay.ir.RefRead", ref_read},
    {"relay.ir.RefWrite", ref_write},
    {"relay.ir.Function", function},
    {"relay.ir.FunctionWithFields", function_with_fields},
    {"relay.ir.Match", match},
    {"relay.ir.Clause", [](Pattern lhs, Expr rhs) { return make(ClauseNode{.lhs = lhs, .rhs = rhs}); }},
    {"relay.ir.PatternWildcard", [] { return make(PatternWildcard()); }},
    {"relay.ir.PatternVar", pattern_var},
    {"relay.ir.PatternConstructor", pattern_constructor},
    {"relay.ir.PatternTuple", pattern_tuple},
};

}  // namespace
}  // namespace tessera::relay

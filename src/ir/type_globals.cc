// Types, ranges, spans and operators by name, as Python calls them.

#include "ir/op.h"
#include "ir/prim/ops.h"
#include "ir/tensor_type.h"
#include "runtime/extension.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

Range range_of(const PrimExpr& begin, const PrimExpr& end, const Span& span) {
  if (!begin) throw Error(ValueError) << "Range: the begin is missing (None)";
  Range range = !end             ? make_range(make_zero(begin.dtype()), begin)
                : is_zero(begin) ? make_range(begin, end)
                                 : make_range(begin, end - begin);
  range.edit()->span = span;
  return range;
}

template <class T>
Ref<T> with_span(Ref<T> type, const Span& span) {
  type.edit()->span = span;
  return type;
}

Globals type_globals{
    {"ir.Range", range_of},
    {"ir.range_by_min_extent",
     [](PrimExpr min, PrimExpr extent, Span span) { return with_span(make_range(min, extent), span); }},
    {"ir.PrimType", [](DataType dtype) { return prim_type(dtype); }},
    {"ir.PointerType",
     [](Type element, String scope) { return make(PointerType{.element_type = element, .storage_scope = scope}); }},
    {"ir.TupleType", [](Array<Type> fields) { return make(TupleType{.fields_ = fields}); }},
    {"ir.FuncType",
     [](Array<Type> args, Type ret, Array<TypeVar> params, Array<TypeConstraint> constraints, Span span) {
       FuncType type;
       type.arg_types = args;
       type.ret_type = ret;
       type.type_params = params;
       type.type_constraints = constraints;
       return with_span(make(std::move(type)), span);
     }},
    {"ir.TypeVar",
     [](String name, int kind) { return make(TypeVarNode{.name_hint = name, .kind = static_cast<TypeKind>(kind)}); }},
    {"ir.GlobalTypeVar",
     [](String name, int kind) {
       return make(GlobalTypeVarNode{.name_hint = name, .kind = static_cast<TypeKind>(kind)});
     }},
    {"ir.TypeCall", [](Type func, Array<Type> args) { return make(TypeCall{.func = func, .args = args}); }},
    {"ir.IncompleteType", [](int kind) { return make(IncompleteType{.kind = static_cast<TypeKind>(kind)}); }},
    {"ir.RelayRefType", [](Type value) { return make(RefType{.value = value}); }},
    {"ir.TensorType", [](Array<PrimExpr> shape, DataType dtype) { return TensorType(shape, dtype); }},
    {"ir.GlobalVar",
     [](String name) {
       GlobalVarNode var;
       var.name_hint = name;
       return make(std::move(var));
     }},
    {"ir.SourceName", [](String name) { return make(SourceNameNode{.name = name}); }},
    {"ir.Span",
     [](SourceName source, int line, int end_line, int column, int end_column) {
       return make(SpanNode{
           .source_name = source, .line = line, .column = column, .end_line = end_line, .end_column = end_column});
     }},
    {"ir.ListOpNames",
     [] {
       Array<String> names;
       for (const std::string& name : Op::names()) names.push_back(String(name));
       return names;
     }},
    {"ir.GetOp", [](std::string name) { return Op::get(name); }},
    {"ir.RegisterOp",
     [](std::string name, std::string description) {
       note_extension();
       if (Op::find(name)) throw Error(ValueError) << "operator " << name << " is registered already";
       Op op = Op::define(name);
       op.edit()->description = String(description);
       return op;
     }},
    {"ir.OpGetAttr", [](Op op, std::string key) { return op.slot(key); }},
    {"ir.OpHasAttr", [](Op op, std::string key) { return op.has(key); }},
    {"ir.OpSetAttr",
     [](Op op, std::string key, Any value, int level) {
       note_extension();
       op.set(key, value, level);
     }},
    {"ir.OpResetAttr",
     [](Op op, std::string key) {
       note_extension();
       op.reset(key);
     }},
    {"ir.RegisterOpAttr",
     [](std::string name, std::string key, Any value, int level) {
       note_extension();
       Op::define(name).set(key, value, level);
     }},
    {"ir.OpSetSupportLevel", [](Op op, int level) { op.edit()->support_level = level; }},
    {"ir.OpSetNumInputs", [](Op op, int count) { op.edit()->num_inputs = count; }},
    {"ir.OpAddArgument",
     [](Op op, String name, String type, String description) {
       op.edit()->arguments.push_back(
           make(AttrFieldInfoNode{.name = name, .type_info = type, .description = description}));
     }},
    {"ir.OpSetAttrsTypeKey", [](Op op, String key) { op.edit()->attrs_type_key = key; }},
};

}  // namespace
}  // namespace tessera

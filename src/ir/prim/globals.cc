// The constructors and operators of expressions by name, as Python calls them. Every one takes a trailing span.

#include "ir/builtin.h"
#include "ir/prim/match.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// `e` with the span, when it is a node of its own (folding may have given back an operand).
PrimExpr spanned(PrimExpr e, const Span& span) {
  if (span && e->use_count() == 1) e.edit()->span = span;
  return e;
}

using Binary = PrimExpr (*)(PrimExpr, PrimExpr);
using Unary = PrimExpr (*)(PrimExpr);

PackedFunc binary_global(std::string name, Binary build) {
  return typed(std::move(name),
               [build](PrimExpr a, PrimExpr b, Span span) { return spanned(build(std::move(a), std::move(b)), span); });
}

PackedFunc unary_global(std::string name, Unary build) {
  return typed(std::move(name), [build](PrimExpr a, Span span) { return spanned(build(std::move(a)), span); });
}

/// Bit operations take a plain number as a constant of the other operand's type.
PackedFunc bit_global(std::string name, Binary build) {
  return PackedFunc([name, build](Args args, Any* result) {
    if (args.size() != 3) throw_argument_count(name, 3, args.size());
    auto is_number = [&](int i) { return args[i].code() == kTesseraInt; };
    PrimExpr a, b;
    if (!is_number(0)) a = detail::unpack_argument<PrimExpr>(name, args, 0);
    if (!is_number(1)) b = detail::unpack_argument<PrimExpr>(name, args, 1);
    if (!a && !b) throw Error(TypeError) << name << ": at least one operand must be an expression";
    if (is_number(0)) a = make_const(b.dtype(), args[0].to<int64_t>());
    if (is_number(1)) b = make_const(a.dtype(), args[1].to<int64_t>());
    *result = Any(spanned(build(a, b), args[2].to<Span>()));
  });
}

PrimExpr const_of(const AnyView& value, DataType dtype) {
  if (value.code() == kTesseraFloat) return make_const(dtype, value.raw().v_float64);
  if (value.code() == kTesseraInt) return make_const(dtype, value.raw().v_int64);
  throw Error(RuntimeError) << "a constant is made of an int or a float, not of " << value.type_name();
}

Var var_of(const String& name, const AnyView& type, bool is_size) {
  if (type.object() && type.object()->is_a(TypeNode::info)) {
    Type annotation = type.to<Type>();
    if (!is_size) return make_var(name, annotation);
    Var var = make_size_var(name, runtime_dtype(annotation));
    var.edit()->type_annotation = annotation;
    return var;
  }
  DataType dtype = type.to<DataType>();
  return is_size ? make_size_var(name, dtype) : make_var(name, dtype);
}

PrimExpr call_of(DataType dtype, const AnyView& callee, const Array<PrimExpr>& args) {
  if (callee.code() == kTesseraStr) return make_call(dtype, Op::get(callee.to<std::string>()), args);
  RelayExpr op = callee.to<RelayExpr>();
  if (!op) throw Error(TypeError) << "Call: the operator is missing (None)";
  for (const PrimExpr& arg : args)
    if (!arg) throw Error(ValueError) << "Call of " << op << ": an argument is missing (None)";
  return make_call(dtype, op, args);
}

PrimExpr large_uint(DataType dtype, int64_t low, int64_t high) {
  return wrapped_const(dtype, static_cast<uint64_t>(low) | static_cast<uint64_t>(high) << 32);
}

void register_table(std::initializer_list<std::pair<const char*, Binary>> rows,
                    PackedFunc (*wrap)(std::string, Binary)) {
  for (const auto& [name, build] : rows) register_global(name, wrap(name, build));
}

[[maybe_unused]] const bool operators_registered = [] {
  register_table({{"tir.Add", make_binary<Add>},
                  {"tir.Sub", make_binary<Sub>},
                  {"tir.Mul", make_binary<Mul>},
                  {"tir.Div", make_binary<Div>},
                  {"tir.Mod", make_binary<Mod>},
                  {"tir.FloorDiv", make_binary<FloorDiv>},
                  {"tir.FloorMod", make_binary<FloorMod>},
                  {"tir.Min", make_binary<Min>},
                  {"tir.Max", make_binary<Max>},
                  {"tir.EQ", make_binary<EQ>},
                  {"tir.NE", make_binary<NE>},
                  {"tir.LT", make_binary<LT>},
                  {"tir.LE", make_binary<LE>},
                  {"tir.GT", make_binary<GT>},
                  {"tir.GE", make_binary<GE>},
                  {"tir.And", make_binary<And>},
                  {"tir.Or", make_binary<Or>}},
                 binary_global);
  register_table({{"tir._OpAdd", operator+},       {"tir._OpSub", operator-},        {"tir._OpMul", operator*},
                  {"tir._OpDiv", div},             {"tir._OpMod", truncmod},         {"tir._OpIndexDiv", indexdiv},
                  {"tir._OpIndexMod", indexmod},   {"tir._OpFloorDiv", floordiv},    {"tir._OpFloorMod", floormod},
                  {"tir._OpTruncDiv", truncdiv},   {"tir._OpTruncMod", truncmod},    {"tir._OpCeilDiv", ceildiv},
                  {"tir._OpMin", min},             {"tir._OpMax", max},              {"tir._OpPow", pow},
                  {"tir._OpEQ", equal},            {"tir._OpNE", not_equal},         {"tir._OpLT", operator<},
                  {"tir._OpLE", operator<=},       {"tir._OpGT", operator>},         {"tir._OpGE", operator>=},
                  {"tir._OpAnd", logical_and},     {"tir._OpOr", logical_or}},
                 binary_global);
  register_table({{"tir.bitwise_and", operator&}, {"tir.bitwise_or", operator|}, {"tir.bitwise_xor", operator^},
                  {"tir.left_shift", operator<<}, {"tir.right_shift", operator>>}},
                 bit_global);
  std::initializer_list<std::pair<const char*, Unary>> unary = {
      {"tir.Not", make_not}, {"tir.abs", abs}, {"tir.likely", likely}, {"tir.isnan", isnan}, {"tir.isinf", isinf},
      {"tir.isfinite", isfinite}, {"tir.floor", floor}, {"tir.ceil", ceil}, {"tir.round", round},
      {"tir.nearbyint", nearbyint}, {"tir.trunc", trunc}, {"tir.bitwise_not", operator~} };
  for (const auto& [name, build] : unary) register_global(name, unary_global(name, build));
  return true;
}();

Globals prim_globals{
    {"tir.Var",
     [](String name, AnyView type, Span span) {
       Var var = var_of(name, type, false);
       var.edit()->span = span;
       return var;
     }},
    {"tir.SizeVar",
     [](String name, AnyView type, Span span) {
       Var var = var_of(name, type, true);
       var.edit()->span = span;
       return var;
     }},
    {"tir.Any",
     [](Span span) {
       AnyDim any;
       any.dtype = DataType::Int(32);
       any.span = span;
       return make(std::move(any));
     }},
    {"tir.StringImm", [](String value, Span span) { return spanned(string_imm(value), span); }},
    {"ir.IntImm", [](DataType dtype, int64_t value, Span span) { return spanned(int_imm(dtype, value), span); }},
    {"ir.FloatImm", [](DataType dtype, double value, Span span) { return spanned(float_imm(dtype, value), span); }},
    {"tir._const", [](AnyView value, DataType dtype, Span span) { return spanned(const_of(value, dtype), span); }},
    {"tir.LargeUIntImm",
     [](DataType dtype, int64_t low, int64_t high, Span span) { return spanned(large_uint(dtype, low, high), span); }},
    {"tir.min_value", [](DataType dtype, Span span) { return spanned(min_value(dtype), span); }},
    {"tir.max_value", [](DataType dtype, Span span) { return spanned(max_value(dtype), span); }},
    {"tir.infinity", [](DataType dtype, Span span) { return spanned(infinity(dtype), span); }},
    {"tir.Cast", [](DataType dtype, PrimExpr value, Span span) { return spanned(make_cast(dtype, value), span); }},
    {"tir._cast", [](DataType dtype, PrimExpr value, Span span) { return spanned(cast(dtype, value), span); }},
    {"tir.reinterpret",
     [](DataType dtype, PrimExpr value, Span span) { return spanned(reinterpret(dtype, value), span); }},
    {"tir.Select",
     [](PrimExpr condition, PrimExpr a, PrimExpr b, Span span) { return spanned(make_select(condition, a, b), span); }},
    {"tir._OpIfThenElse", [](PrimExpr condition, PrimExpr a, PrimExpr b,
                             Span span) { return spanned(if_then_else(condition, a, b), span); }},
    {"tir.Ramp", [](PrimExpr base, PrimExpr stride, int lanes,
                    Span span) { return spanned(make_ramp(base, stride, lanes), span); }},
    {"tir.Broadcast", [](PrimExpr value, int lanes, Span span) { return spanned(make_broadcast(value, lanes), span); }},
    {"tir.Shuffle", [](Array<PrimExpr> vectors, Array<PrimExpr> indices,
                       Span span) { return spanned(make_shuffle(vectors, indices), span); }},
    {"tir.Call", [](DataType dtype, AnyView op, Array<PrimExpr> args,
                    Span span) { return spanned(call_of(dtype, op, args), span); }},
    {"tir.Let",
     [](Var var, PrimExpr value, PrimExpr body, Span span) { return spanned(make_let(var, value, body), span); }},
    {"tir.const_true", [](DataType dtype, Span span) { return spanned(bool_imm(true, dtype.lanes), span); }},
    {"tir.side_effect", [](PrimExpr e) { return side_effect(e); }},
};

}  // namespace
}  // namespace tessera

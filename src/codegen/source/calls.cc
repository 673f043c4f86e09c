// Calls of operators that every dialect writes alike.

#include "codegen/source/printer.h"

namespace tessera::codegen {
namespace {

const std::unordered_map<std::string_view, const char*>& bit_operators() {
  static const std::unordered_map<std::string_view, const char*> table = {
      {"tir.bitwise_and", "&"}, {"tir.bitwise_or", "|"}, {"tir.bitwise_xor", "^"}};
  return table;
}

const std::unordered_set<std::string_view>& real_functions() {
  static const std::unordered_set<std::string_view> names = {
      "exp",   "exp2",      "exp10", "log",       "log2",  "log10", "log1p",  "erf",   "sin",   "cos",
      "tan",   "sinh",      "cosh",  "tanh",      "asin",  "acos",  "atan",   "asinh", "acosh", "atanh",
      "pow",   "fmod",      "atan2", "nextafter", "hypot", "sqrt",  "rsqrt",  "fabs",  "floor", "ceil",
      "trunc", "nearbyint", "round", "copysign",  "fma",   "ldexp", "sigmoid"};
  return names;
}

const std::unordered_set<std::string_view>& rounding_functions() {
  static const std::unordered_set<std::string_view> names = {"floor", "ceil", "trunc", "nearbyint", "round"};
  return names;
}

}  // namespace

int64_t SourcePrinter::constant_argument(const Call* op, size_t i) {
  const int64_t* value = i < op->args.size() ? as_int(op->args[i]) : nullptr;
  if (!value) throw Error(TypeError) << "argument " << i << " of " << PrimExpr(op) << " is not a constant";
  return *value;
}

/// `write` on the operands' lanes; a scalar operand stands for all lanes.
Lanes SourcePrinter::each_lane(const Call* op, const std::function<std::string(const Lanes&)>& write) {
  std::vector<Lanes> args;
  for (const PrimExpr& arg : op->args) args.push_back(emit(arg));
  Lanes out;
  for (size_t lane = 0; lane < std::max<size_t>(op->dtype.lanes, 1); ++lane) {
    Lanes operands;
    for (const Lanes& arg : args) operands.push_back(arg[arg.size() == 1 ? 0 : lane]);
    out.push_back(write(operands));
  }
  return out;
}

Lanes SourcePrinter::visit(const Call* op) {
  Lanes out;
  if (visit_call(op, &out)) return out;
  if (auto* callee = op->op.as<GlobalVarNode>()) {
    auto it = functions_.find(callee);
    if (it == functions_.end())
      throw Error(ValueError) << "function " << callee->name_hint << " is called but is not in the module";
    return {call_extern(it->second.first, op, 0)};
  }
  auto* callee = op->op.as<OpNode>();
  if (!callee)
    throw Error(TypeError) << "a call of " << op->op->type_key() << ": only operators and functions are called";
  std::string_view name = callee->name;
  DataType dtype = op->dtype.element();
  if (auto it = bit_operators().find(name); it != bit_operators().end())
    return each_lane(op, [&](const Lanes& a) {
      std::string bits = "(" + a[0] + " " + it->second + " " + a[1] + ")";
      return dtype.bits < 32 ? narrowed(bits, dtype) : bits;
    });
  if (name == "tir.bitwise_not")
    return each_lane(
        op, [&](const Lanes& a) { return dtype.is_bool() ? "(!" + a[0] + ")" : narrowed("(~" + a[0] + ")", dtype); });
  if (name == "tir.shift_left" || name == "tir.shift_right") {
    // A count of the type's width or more is taken modulo the width.
    std::string mask = std::to_string(dtype.bits - 1);
    DataType bits = DataType::UInt(dtype.bits > 32 ? 64 : 32);
    return each_lane(op, [&](const Lanes& a) {
      bool is_small =
          is_atom(a[1]) && a[1].find_first_not_of("0123456789") == std::string::npos && std::stoll(a[1]) < dtype.bits;
      std::string count = is_small ? a[1] : "(" + a[1] + " & " + mask + ")";
      if (name == "tir.shift_right") return "(" + a[0] + " >> " + count + ")";
      bool was = std::exchange(in_index_, false);
      std::string out = narrowed("((" + value_type(bits) + ")" + a[0] + " << " + count + ")", dtype);
      in_index_ = was;
      return out;
    });
  }
  if (name == "tir.if_then_else") return if_then_else(op);
  if (name == "tir.likely" || name == "tir.tvm_thread_invariant") return emit(op->args[0]);
  if (name == "tir.assume") return {""};
  if (name == "tir.undef") {
    std::string made = fresh_name("undef");
    line(value_type(dtype) + " " + made + ";");
    return Lanes(std::max<size_t>(op->dtype.lanes, 1), made);
  }
  if (name == "tir.reinterpret") {
    DataType from = op->args[0].dtype();
    if (from.is_handle() || op->dtype.is_handle()) {
      if (op->dtype.is_handle()) return {"((void*)" + text(op->args[0]) + ")"};
      return {"((" + value_type(op->dtype) + ")" + text(op->args[0]) + ")"};
    }
    if (from.bits != dtype.bits || from.lanes != op->dtype.lanes)
      throw Error(NotImplementedError) << "reinterpret of " << from << " as " << op->dtype
                                       << ": source is written for lanes of equal width";
    return each_lane(op, [&](const Lanes& a) { return bits_as(a[0], from.element(), dtype); });
  }
  if (name == "tir.isnullptr") return {"(" + text(op->args[0]) + " == 0)"};
  if (name == "tir.isnan")
    return each_lane(op, [&](const Lanes& a) -> std::string {
      DataType type = op->args[0].dtype().element();
      if (type.is_integral()) return "false";
      std::string value = atom(a[0], type);
      return "(" + value + " != " + value + ")";
    });
  if (name == "tir.large_uint_imm") {
    uint64_t value = (static_cast<uint64_t>(constant_argument(op, 1)) << 32) |
                     (static_cast<uint64_t>(constant_argument(op, 0)) & 0xffffffffu);
    return {int_constant(op->dtype, static_cast<int64_t>(value))};
  }
  if (name == "tir.address_of") return {address_of(op)};
  if (name == "tir.tvm_access_ptr") {
    auto* data = op->args[1].as<VarNode>();
    if (!data) throw Error(TypeError) << "tvm_access_ptr takes a pointer variable, not " << op->args[1];
    DataType element = op->args[0].dtype();
    std::string offset = index(op->args[2]);
    if (element.lanes > 1) offset = "(" + offset + ") * " + std::to_string(element.lanes);
    return {"(" + pointer(data, element) + " + " + offset + ")"};
  }
  if (name == "tir.call_extern" || name == "tir.call_pure_extern") {
    auto* function = op->args.empty() ? nullptr : op->args[0].as<StringImm>();
    if (!function) throw Error(TypeError) << "call_extern takes the function's name first, in " << PrimExpr(op);
    std::string call = call_extern(function->value.str(), op, 1);
    bool is_statement = op->dtype.is_void() || op == statement_;
    if (is_statement || name == "tir.call_pure_extern") return {call};
    return {declare_temporary(op->dtype, call)};  // calls stay in order
  }
  if (name == "tir.q_multiply_shift") return each_lane(op, [&](const Lanes& a) { return q_multiply_shift(op, a); });
  if (name == "tir.vectorlow" || name == "tir.vectorhigh") {
    Lanes whole = emit(op->args[0]);
    size_t half = whole.size() / 2;
    return name == "tir.vectorlow" ? Lanes(whole.begin(), whole.begin() + half)
                                   : Lanes(whole.begin() + half, whole.end());
  }
  if (name == "tir.vectorcombine") {
    out = emit(op->args[0]);
    for (const std::string& lane : emit(op->args[1])) out.push_back(lane);
    return out;
  }
  if (name == "tir.prefetch") return {""};
  if (real_functions().count(name.substr(4))) return math(op);
  if (Any global = Op(callee).slot("TGlobalSymbol"); !global.is_null())
    return {call_extern(global.to<std::string>(), op, 0)};
  throw Error(NotImplementedError) << "no source for a call of " << name
                                   << "; it has to be lowered before code generation, in " << PrimExpr(op);
}

/// Only one of the two sides is evaluated: what they declare stays in their branch.
Lanes SourcePrinter::if_then_else(const Call* op) {
  std::string holds = condition(op->args[0]);
  std::unordered_map<const Object*, Known> before[2] = {known_[0], known_[1]};
  Lanes values[2];
  std::string declarations[2];
  ++indent_;
  for (size_t side : {0, 1}) {
    declarations[side] = captured([&] { values[side] = emit(op->args[side + 1]); });
    for (size_t i : {0, 1}) known_[i] = before[i];
  }
  --indent_;
  DataType dtype = op->dtype.element();
  Lanes out;
  if (declarations[0].empty() && declarations[1].empty() && !op->dtype.is_void()) {
    if (values[0].size() > 1) holds = atom(holds, DataType::Bool());
    for (size_t i = 0; i < values[0].size(); ++i)
      out.push_back("(" + holds + " ? " + values[0][i] + " : " + values[1][i] + ")");
    return out;
  }
  for (size_t i = 0; i < values[0].size() && !op->dtype.is_void(); ++i) {
    out.push_back(fresh_name("chosen"));
    line(value_type(dtype) + " " + out.back() + ";");
  }
  for (size_t side : {0, 1})
    block(side == 0 ? "if (" + holds + ")" : "else", [&] {
      out_ += declarations[side];
      for (size_t i = 0; i < out.size(); ++i) line(out[i] + " = " + values[side][i] + ";");
      if (out.empty()) line(values[side][0] + ";");
    });
  return out.empty() ? Lanes{""} : out;
}

/// round(x * y * 2^(s - q)), half upwards: x times a fixed-point number with q fractional bits, then shifted by s.
std::string SourcePrinter::q_multiply_shift(const Call* op, const Lanes& args) {
  if (op->args.size() != 4) throw Error(TypeError) << "q_multiply_shift takes x, y, q and s";
  std::string wide = value_type(DataType::Int(64)), type = value_type(DataType::Int(32));
  need("tsr_q_multiply_shift", std::string(inline_function()) + " " + type + " tsr_q_multiply_shift(" + type + " x, " +
                                   type + " y, " + type + " q, " + type + " s) {\n  " + type +
                                   " right = q + (s > 0 ? 0 : -s);\n  " + wide + " product = (" + wide + ")x * ((" +
                                   wide + ")1 << (s > 0 ? s : 0)) * y;\n  return (" + type + ")((product + ((" + wide +
                                   ")1 << (right - 1))) >> right);\n}\n");
  return "tsr_q_multiply_shift(" + args[0] + ", " + args[1] + ", " + args[2] + ", " + args[3] + ")";
}

Lanes SourcePrinter::math(const Call* op) {
  std::string name = op->op.as<OpNode>()->name.str().substr(4);
  DataType dtype = op->dtype.element();
  if (dtype.is_integral() && name == "fabs")
    return each_lane(op, [&](const Lanes& a) {
      std::string x = atom(a[0], dtype);
      return dtype.is_uint() ? x : "(" + x + " < 0 ? " + wrapped("-", dtype, "0", x) + " : " + x + ")";
    });
  if (dtype.is_integral() && rounding_functions().count(name))  // an integer is round already
    return each_lane(op, [&](const Lanes& a) { return cast_scalar(a[0], op->args[0].dtype().element(), dtype); });
  if (!dtype.is_floating()) throw Error(TypeError) << name << " of " << dtype << "; it takes floats: " << PrimExpr(op);
  return each_lane(op, [&](const Lanes& a) {
    std::string one = dtype.bits == 64 ? "1.0" : "1.0f";
    if (name == "sigmoid") {
      std::string decay = math_call("exp", dtype, {"(-" + a[0] + ")"});
      return rounded(
          "(" + cast_scalar(one, DataType::Float(dtype.bits == 64 ? 64 : 32), dtype) + " / " +
              rounded("(" + cast_scalar(one, DataType::Float(dtype.bits == 64 ? 64 : 32), dtype) + " + " + decay + ")",
                      dtype) +
              ")",
          dtype);
    }
    std::string out = math_call(name, dtype, a);
    if (out.empty()) throw Error(NotImplementedError) << "this target has no " << name << " of " << dtype;
    return out;
  });
}

std::string SourcePrinter::call_extern(const std::string& name, const Call* op, size_t first_argument) {
  std::string out = name + "(";
  for (size_t i = first_argument; i < op->args.size(); ++i) out += (i > first_argument ? ", " : "") + text(op->args[i]);
  return out + ")";
}

}  // namespace tessera::codegen

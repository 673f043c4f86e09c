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

const std::unordered_map<std::string_view, SourcePrinter::Emitter>& SourcePrinter::emitters() {
  static const std::unordered_map<std::string_view, Emitter> table = {
      {"tir.bitwise_and", &SourcePrinter::bitwise},
      {"tir.bitwise_or", &SourcePrinter::bitwise},
      {"tir.bitwise_xor", &SourcePrinter::bitwise},
      {"tir.bitwise_not", &SourcePrinter::bitwise},
      {"tir.shift_left", &SourcePrinter::shift},
      {"tir.shift_right", &SourcePrinter::shift},
      {"tir.if_then_else", &SourcePrinter::if_then_else},
      {"tir.likely", &SourcePrinter::pass_through},
      {"tir.tvm_thread_invariant", &SourcePrinter::pass_through},
      {"tir.assume", &SourcePrinter::no_value},
      {"tir.prefetch", &SourcePrinter::no_value},
      {"tir.undef", &SourcePrinter::undefined},
      {"tir.reinterpret", &SourcePrinter::reinterpret_call},
      {"tir.reinterpret_lanes", &SourcePrinter::reinterpret_call},
      {"tir.isnullptr", &SourcePrinter::is_null},
      {"tir.isnan", &SourcePrinter::is_nan},
      {"tir.large_uint_imm", &SourcePrinter::large_uint},
      {"tir.address_of", &SourcePrinter::address_of},
      {"tir.tvm_access_ptr", &SourcePrinter::access_ptr},
      {"tir.call_extern", &SourcePrinter::call_by_name},
      {"tir.call_pure_extern", &SourcePrinter::call_by_name},
      {"tir.q_multiply_shift", &SourcePrinter::q_multiply_shift},
      {"tir.vectorlow", &SourcePrinter::vector_part},
      {"tir.vectorhigh", &SourcePrinter::vector_part},
      {"tir.vectorcombine", &SourcePrinter::vector_part},
  };
  return table;
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
  if (auto it = emitters().find(name); it != emitters().end()) return (this->*it->second)(op);
  if (name.starts_with("tir.") && real_functions().count(name.substr(4))) return math(op);
  if (Any global = Op(callee).slot("TGlobalSymbol"); !global.is_null())
    return {call_extern(global.to<std::string>(), op, 0)};
  throw Error(NotImplementedError) << "no source for a call of " << name
                                   << "; it has to be lowered before code generation, in " << PrimExpr(op);
}

Lanes SourcePrinter::pass_through(const Call* op) { return emit(op->args[0]); }

Lanes SourcePrinter::no_value(const Call*) { return {""}; }

Lanes SourcePrinter::undefined(const Call* op) {
  std::string made = fresh_name("undef");
  line(value_type(op->dtype.element()) + " " + made + ";");
  return Lanes(std::max<size_t>(op->dtype.lanes, 1), made);
}

Lanes SourcePrinter::bitwise(const Call* op) {
  DataType dtype = op->dtype.element();
  auto it = bit_operators().find(op->op.as<OpNode>()->name);
  return each_lane(op, [&](const Lanes& a) {
    if (it == bit_operators().end()) return dtype.is_bool() ? "(!" + a[0] + ")" : narrowed("(~" + a[0] + ")", dtype);
    std::string bits = "(" + a[0] + " " + it->second + " " + a[1] + ")";
    return dtype.bits < 32 ? narrowed(bits, dtype) : bits;
  });
}

/// A count of the type's width or more is taken modulo the width.
Lanes SourcePrinter::shift(const Call* op) {
  DataType dtype = op->dtype.element(), bits = DataType::UInt(dtype.bits > 32 ? 64 : 32);
  std::string mask = std::to_string(dtype.bits - 1);
  return each_lane(op, [&](const Lanes& a) {
    bool is_number = a[1].find_first_not_of("0123456789") == std::string::npos && a[1].size() < 4;
    std::string count = is_number && std::stoi(a[1]) < dtype.bits ? a[1] : "(" + a[1] + " & " + mask + ")";
    if (is_call(op, "tir.shift_right")) return "(" + a[0] + " >> " + count + ")";
    bool was = std::exchange(in_index_, false);
    std::string out = narrowed("((" + value_type(bits) + ")" + a[0] + " << " + count + ")", dtype);
    in_index_ = was;
    return out;
  });
}

Lanes SourcePrinter::reinterpret_call(const Call* op) {
  DataType from = op->args[0].dtype(), to = op->dtype;
  if (to.is_handle()) return {"((void*)" + text(op->args[0]) + ")"};
  if (from.is_handle()) return {"((" + value_type(to) + ")" + text(op->args[0]) + ")"};
  if (from.bits == to.bits && from.lanes == to.lanes)
    return each_lane(op, [&](const Lanes& a) { return bits_as(a[0], from.element(), to.element()); });
  if (from.bits < 8 || to.bits < 8 || from.bits * from.lanes != to.bits * to.lanes)
    throw Error(NotImplementedError) << "reinterpret of " << from << " as " << to
                                     << ": source is written for as many bits, in lanes of whole bytes";
  return lanes_as(emit(op->args[0]), from.element(), to.element());
}

/// Four int8 as one int32, or one as four: the first lane is the lowest bits.
Lanes SourcePrinter::lanes_as(const Lanes& lanes, DataType from, DataType to) {
  const DataType narrow = DataType::UInt(std::min(from.bits, to.bits)),
                 wide = DataType::UInt(std::max(from.bits, to.bits));
  const size_t parts = static_cast<size_t>(wide.bits / narrow.bits);
  const std::string in_wide = "(" + value_type(wide) + ")";
  Lanes out;
  if (to.bits > from.bits) {
    for (size_t first = 0; first < lanes.size(); first += parts) {
      std::string word;
      for (size_t part = 0; part < parts; ++part) {
        const std::string bits = narrowed(bits_as(lanes[first + part], from, narrow), narrow);
        word += (part ? " | " : "") + ("(" + in_wide + bits) + " << " + std::to_string(part * narrow.bits) + ")";
      }
      out.push_back(bits_as("(" + word + ")", wide, to));
    }
    return out;
  }
  for (const std::string& lane : lanes) {
    const std::string word = atom(bits_as(lane, from, wide), wide);
    for (size_t part = 0; part < parts; ++part)
      out.push_back(
          bits_as(narrowed("(" + word + " >> " + std::to_string(part * narrow.bits) + ")", narrow), narrow, to));
  }
  return out;
}

Lanes SourcePrinter::is_null(const Call* op) { return {"(" + text(op->args[0]) + " == 0)"}; }

Lanes SourcePrinter::is_nan(const Call* op) {
  DataType dtype = op->args[0].dtype().element();
  return each_lane(op, [&](const Lanes& a) -> std::string {
    if (dtype.is_integral()) return "false";
    std::string value = atom(a[0], dtype);
    return "(" + value + " != " + value + ")";
  });
}

Lanes SourcePrinter::large_uint(const Call* op) {
  uint64_t high = static_cast<uint64_t>(constant_argument(op, 1)),
           low = static_cast<uint64_t>(constant_argument(op, 0));
  return {int_constant(op->dtype, static_cast<int64_t>((high << 32) | (low & 0xffffffffu)))};
}

/// Arguments: an example of the element type, the pointer, an offset in elements, an extent, and a mask of uses.
Lanes SourcePrinter::access_ptr(const Call* op) {
  auto* data = op->args[1].as<VarNode>();
  if (!data) throw Error(TypeError) << "tvm_access_ptr takes a pointer variable, not " << op->args[1];
  DataType element = op->args[0].dtype();
  std::string offset = index(op->args[2]);
  if (element.lanes > 1) offset = "(" + offset + ") * " + std::to_string(element.lanes);
  return {"(" + pointer(data, element) + " + " + offset + ")"};
}

Lanes SourcePrinter::call_by_name(const Call* op) {
  auto* function = op->args.empty() ? nullptr : op->args[0].as<StringImm>();
  if (!function) throw Error(TypeError) << "call_extern takes the function's name first, in " << PrimExpr(op);
  std::string call = call_extern(function->value.str(), op, 1);
  bool is_statement = op->dtype.is_void() || op == statement_;
  if (is_statement || is_call(op, "tir.call_pure_extern")) return {call};
  return {declare_temporary(op->dtype, call)};  // calls stay in order
}

Lanes SourcePrinter::vector_part(const Call* op) {
  Lanes first = emit(op->args[0]);
  auto half = first.begin() + static_cast<ptrdiff_t>(first.size() / 2);
  if (is_call(op, "tir.vectorlow")) return Lanes(first.begin(), half);
  if (is_call(op, "tir.vectorhigh")) return Lanes(half, first.end());
  for (const std::string& lane : emit(op->args[1])) first.push_back(lane);
  return first;
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
Lanes SourcePrinter::q_multiply_shift(const Call* op) {
  if (op->args.size() != 4) throw Error(TypeError) << "q_multiply_shift takes x, y, q and s";
  std::string wide = value_type(DataType::Int(64)), type = value_type(DataType::Int(32));
  need("tsr_q_multiply_shift", std::string(inline_function()) + " " + type + " tsr_q_multiply_shift(" + type + " x, " +
                                   type + " y, " + type + " q, " + type + " s) {\n  " + type +
                                   " right = q + (s > 0 ? 0 : -s);\n  " + wide + " product = (" + wide + ")x * ((" +
                                   wide + ")1 << (s > 0 ? s : 0)) * y;\n  return (" + type + ")((product + ((" + wide +
                                   ")1 << (right - 1))) >> right);\n}\n");
  return each_lane(op, [&](const Lanes& a) {
    return "tsr_q_multiply_shift(" + a[0] + ", " + a[1] + ", " + a[2] + ", " + a[3] + ")";
  });
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
    if (name == "sigmoid") {
      DataType real = DataType::Float(dtype.bits == 64 ? 64 : 32);
      std::string one = cast_scalar(dtype.bits == 64 ? "1.0" : "1.0f", real, dtype);
      std::string decay = math_call("exp", dtype, {"(-" + a[0] + ")"});
      return rounded("(" + one + " / " + rounded("(" + one + " + " + decay + ")", dtype) + ")", dtype);
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

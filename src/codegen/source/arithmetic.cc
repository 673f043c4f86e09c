// Binary operators and casts, on one lane.

#include <cmath>

#include "codegen/source/printer.h"

namespace tessera::codegen {
namespace {

struct Operator {
  const NodeInfo* op;
  const char* text;
};

constexpr Operator kComparisons[] = {{&EQ::info, "=="}, {&NE::info, "!="}, {&LT::info, "<"},
                                     {&LE::info, "<="}, {&GT::info, ">"},  {&GE::info, ">="}};
constexpr Operator kArithmetic[] = {{&Add::info, "+"}, {&Sub::info, "-"}, {&Mul::info, "*"}};
constexpr Operator kLogic[] = {{&And::info, "&&"}, {&Or::info, "||"}};

const char* find(std::span<const Operator> rows, const NodeInfo* op) {
  for (const Operator& row : rows)
    if (row.op == op) return row.text;
  return nullptr;
}

std::string infix(const std::string& a, const char* op, const std::string& b) {
  return "(" + a + " " + op + " " + b + ")";
}

std::string choice(const std::string& condition, const std::string& yes, const std::string& no) {
  return "(" + condition + " ? " + yes + " : " + no + ")";
}

/// A constant, or a vector of one, that is not NaN.
bool is_number(const PrimExpr& e) {
  auto* vector = e.as<Broadcast>();
  auto* value = (vector ? vector->value : e).as<FloatImm>();
  return value && !std::isnan(value->value);
}

/// A number other than 0 and -1, as text.
bool is_safe_divisor(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789uUL") == text.npos &&
         text.find_first_of("123456789") != text.npos;
}

std::string type_name(DataType dtype) { return (dtype.is_int() ? "i" : "u") + std::to_string(dtype.bits); }

}  // namespace

Lanes SourcePrinter::visit(const BinaryNode* op) {
  DataType dtype = op->a.dtype();
  if (dtype != op->b.dtype())
    throw Error(TypeError) << op->type_key() << " of " << dtype << " and " << op->b.dtype()
                           << ": operands have one type";
  Lanes a = emit(op->a), b = emit(op->b);
  const NodeInfo* node = op->type()->node;
  if (node == &Min::info || node == &Max::info) return extremum(op, std::move(a), std::move(b));
  for (size_t i = 0; i < a.size(); ++i) a[i] = binary(node, dtype.element(), a[i], b[i]);
  return a;
}

/// Of floats the answer is NaN where either operand is. A number is neither, so that one comparison does: it wins only
/// where it is not beaten.
Lanes SourcePrinter::extremum(const BinaryNode* op, Lanes a, Lanes b) {
  const bool is_min = op->type()->node == &Min::info;
  const DataType dtype = op->a.dtype().element();
  const char *wins = is_min ? "<" : ">", *loses = is_min ? ">=" : "<=";
  const bool is_a_number = is_number(op->a), is_b_number = is_number(op->b);
  for (size_t i = 0; i < a.size(); ++i) {
    const std::string x = atom(a[i], dtype), y = atom(b[i], dtype);
    if (dtype.is_floating() && is_b_number) a[i] = choice(infix(x, loses, y), y, x);
    else if (!dtype.is_floating() || is_a_number) a[i] = choice(infix(x, wins, y), x, y);
    else a[i] = extremum_of_floats(is_min, dtype, x, y);
  }
  return a;
}

std::string SourcePrinter::extremum_of_floats(bool is_min, DataType, const std::string& a, const std::string& b) {
  return choice(infix(infix(a, is_min ? "<" : ">", b), "||", infix(a, "!=", a)), a, b);
}

std::string SourcePrinter::binary(const NodeInfo* op, DataType dtype, std::string a, std::string b) {
  if (const char* compare = find(kComparisons, op)) return infix(a, compare, b);
  if (const char* logic = find(kLogic, op)) return infix(a, logic, b);
  if (dtype.is_handle()) throw Error(TypeError) << op->key << " of handles";
  if (const char* arithmetic = find(kArithmetic, op)) {
    if (dtype.is_floating()) return rounded(infix(a, arithmetic, b), dtype);
    return wrapped(arithmetic, dtype, a, b);
  }
  if (dtype.is_integral()) return integer_division(op, dtype, a, b);
  if (op == &Div::info) return rounded(infix(a, "/", b), dtype);
  if (op == &Mod::info) return math_call("fmod", dtype, {a, b});
  a = atom(a, dtype), b = atom(b, dtype);
  std::string quotient = math_call("floor", dtype, {rounded(infix(a, "/", b), dtype)});
  if (op == &FloorDiv::info) return quotient;
  return rounded(infix(a, "-", rounded(infix(quotient, "*", b), dtype)), dtype);
}

/// Signed overflow wraps in values; in indices it is promised not to happen.
std::string SourcePrinter::wrapped(const char* op, DataType dtype, const std::string& a, const std::string& b) {
  if (dtype.bits >= 32 && (in_index_ || dtype.is_uint())) return narrowed(infix(a, op, b), dtype);
  DataType work = DataType::UInt(dtype.bits > 32 ? 64 : 32);
  std::string type = value_type(work);
  return narrowed(infix("(" + type + ")" + a, op, "(" + type + ")" + b), dtype);
}

std::string SourcePrinter::narrowed(const std::string& value, DataType dtype) {
  if (dtype.is_bool()) return "((" + value + " & 1) != 0)";
  if (dtype.bits == 8 || dtype.bits == 16) return "((" + value_type(dtype) + ")" + value + ")";
  if (dtype.bits == 32 || dtype.bits == 64)
    return dtype.is_int() && !in_index_ ? "((" + value_type(dtype) + ")" + value + ")" : value;
  int room = dtype.bits > 32 ? 64 - dtype.bits : 32 - dtype.bits;
  DataType wide = dtype.bits > 32 ? DataType::UInt(64) : DataType::UInt(32);
  std::string shifted = "((" + value_type(wide) + ")" + value + " << " + std::to_string(room) + ")";
  if (dtype.is_int()) shifted = "((" + value_type(DataType::Int(wide.bits)) + ")" + shifted + ")";
  return "((" + value_type(dtype) + ")(" + shifted + " >> " + std::to_string(room) + "))";
}

/// Both sides of a Select may run, so a division that the program guards must not trap.
std::string SourcePrinter::integer_division(const NodeInfo* op, DataType dtype, const std::string& a,
                                            const std::string& b) {
  bool floors = op == &FloorDiv::info || op == &FloorMod::info;
  bool gives_quotient = op == &Div::info || op == &FloorDiv::info;
  ICHECK(gives_quotient || op == &Mod::info || op == &FloorMod::info) << op->key << " has no arithmetic on integers";
  bool was = std::exchange(in_index_, true);  // a quotient fits its type
  std::string plain = narrowed(infix(a, gives_quotient ? "/" : "%", b), dtype);
  in_index_ = was;
  if (is_safe_divisor(b) && (!floors || dtype.is_uint())) return plain;

  std::string type = value_type(dtype);
  std::string name =
      std::string("tsr_") + (floors ? "floor" : "") + (gives_quotient ? "div_" : "mod_") + type_name(dtype);
  std::string head = std::string(inline_function()) + " " + type + " " + name + "(" + type + " a, " + type + " b) {\n";
  std::string body;
  if (dtype.is_int())  // the least number over -1 is itself
    body += "  if (b == -1) return " +
            (gives_quotient ? "(" + type + ")(0u - (" + value_type(DataType::UInt(dtype.bits > 32 ? 64 : 32)) + ")a)"
                            : std::string("0")) +
            ";\n";
  body += "  if (b == 0) return " + std::string(gives_quotient ? "a" : "0") + ";\n";
  if (!floors || dtype.is_uint()) {
    body += std::string("  return ") + (gives_quotient ? "a / b" : "a % b") + ";\n";
  } else {
    body += "  " + type + " r = a % b;\n";
    body += "  int differs = r != 0 && ((r < 0) != (b < 0));\n";
    body += gives_quotient ? "  return a / b - differs;\n" : "  return differs ? r + b : r;\n";
  }
  need(name, head + body + "}\n");
  return name + "(" + a + ", " + b + ")";
}

std::string SourcePrinter::cast_scalar(const std::string& value, DataType from, DataType to) {
  if (from == to) return value;
  if (to.is_bool()) return "(" + value + " != 0)";
  if (from.is_floating() && to.is_integral()) return truncated(value, from, to);
  bool is_odd_width = to.is_integral() && to.bits != 8 && to.bits != 16 && to.bits != 32 && to.bits != 64;
  if (is_odd_width) return narrowed(value, to);
  if (to.is_handle() && from.is_integral()) return "((void*)" + cast_scalar(value, from, DataType::UInt(64)) + ")";
  std::string out = "((" + value_type(to) + ")" + value + ")";
  return to.is_floating() && to.bits == 16 ? rounded(out, to) : out;
}

/// A float as an integer, as truncated_bits (ir/prim/match.h) defines it: the languages leave open what does not fit.
std::string SourcePrinter::truncated(const std::string& value, DataType from, DataType to) {
  if (from.bits == 16) return truncated("((float)" + value + ")", DataType::Float(32), to);
  const bool by_int32 = to.bits < 32 || to == DataType::Int(32);
  const DataType work = DataType::Int(by_int32 ? 32 : 64);
  const std::string type = value_type(work), real = value_type(from), suffix = from.bits == 64 ? "" : "f";
  const std::string limit = (by_int32 ? "2147483648.0" : "9223372036854775808.0") + suffix;
  const std::string name = "tsr_" + type_name(work) + "_of_f" + std::to_string(from.bits);
  const std::string head = std::string(inline_function()) + " ";
  need(name, head + type + " " + name + "(" + real + " x) {\n  return x > -" + limit + " && x < " + limit + " ? (" +
                 type + ")x : " + int_constant(work, by_int32 ? INT32_MIN : INT64_MIN) + ";\n}\n");
  if (to == work) return name + "(" + value + ")";
  if (to != DataType::UInt(64)) return cast_scalar("(" + name + "(" + value + "))", work, to);
  const std::string whole = "tsr_u64_of_f" + std::to_string(from.bits), unsigned_type = value_type(to);
  need(whole, head + unsigned_type + " " + whole + "(" + real + " x) {\n  return x >= " + limit +
                  " && x < 18446744073709551616.0" + suffix + " ? (" + unsigned_type + ")x : (" + unsigned_type + ")" +
                  name + "(x);\n}\n");
  return whole + "(" + value + ")";
}

}  // namespace tessera::codegen

// Complex numbers as pairs: a tensor of them has one more dimension, of real and imaginary parts. What only moves or adds up
// elements is done to each of both parts; products of two are made of products of parts.

#include "frontend/common/parts.h"
#include "frontend/torch/lists.h"
#include "frontend/torch/promote.h"
#include "frontend/torch/quantize.h"
#include "frontend/torch/scope.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <algorithm>
#include <set>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr part(const Expr& pairs, int which) { return squeeze(slice(pairs, -1, which, which + 1), int_array({-1})); }

/// Real and imaginary parts; of real numbers the second is empty.
struct Parts {
  Expr real, imaginary;
};
Parts parts_of(const Operation& in, const Value& x) {
  if (x.is_complex) return {part(x.expr(), 0), part(x.expr(), 1)};
  return {in.tensor_of(x), Expr()};
}

Value of_parts(const Expr& real, const Expr& imaginary) {
  Value out(stack({real, imaginary}, -1));
  out.is_complex = true;
  return out;
}

bool holds_complex(const Value& value) {
  return value.is_complex ||
         (value.kind == Value::List && std::any_of(value.items->begin(), value.items->end(), holds_complex));
}

/// One of the parts of all that is complex in a value; `of_reals`: what the others are then.
Value in_part(const Operation& in, const Value& value, int which) {
  if (value.is_complex) return Value(part(value.expr(), which));
  if (value.kind != Value::List || !holds_complex(value)) return value;
  std::vector<Value> items;
  for (const Value& item : *value.items) {
    if (item.is_complex || which == 0) items.push_back(in_part(in, item, which));
    else items.push_back(item.is_tensor() ? Value(zeros_like(item.expr())) : item);
  }
  return Value::of(std::move(items));
}

Values converted_with(Operation& in, const Converter& convert, Operation::Args args) {
  Operation own(in.importer(), in.node(), std::move(args));
  return convert(own);
}

Value paired(const Operation& in, const Value& real, const Value& imaginary) {
  if (real.kind != Value::List) return of_parts(real.expr(), imaginary.expr());
  std::vector<Value> items;
  for (size_t i = 0; i < real.items->size(); ++i) items.push_back(paired(in, (*real.items)[i], (*imaginary.items)[i]));
  return Value::of(std::move(items));
}

/// What is seen of a complex tensor follows it, but is not written through.
void follow(Operation& in, Value& view) {
  if (view.kind == Value::List) {
    for (Value& item : *view.items) follow(in, item);
    return;
  }
  const Value& base = in.value(0);
  if (!in.importer().changes_in_place() || !base.is_complex) return;
  const std::string title = in.title();
  view.cell->base = base.cell;
  view.cell->seen = base.cell->version;
  view.cell->read = [title](const Expr&) -> Expr {
    throw Error(OpNotImplemented) << title << ": a complex tensor is changed in place while a view of it is used";
  };
}

/// By parts: f(a + bi) = f(a) + f(b)i.
Values by_parts(Operation& in, const Converter& convert) {
  Values halves[2];
  for (int which = 0; which < 2; ++which) {
    Operation::Args args;
    for (const auto& [name, value] : in.args()) args.emplace_back(name, in_part(in, value, which));
    halves[which] = converted_with(in, convert, std::move(args));
  }
  Values out;
  for (size_t i = 0; i < halves[0].size(); ++i) {
    const bool is_tensor = halves[0][i].is_tensor() || halves[0][i].kind == Value::List;
    out.push_back(is_tensor ? paired(in, halves[0][i], halves[1][i]) : halves[0][i]);
  }
  return out;
}

/// Sums of complex and real numbers: those have no imaginary part.
Values sum_of(Operation& in, const Converter& convert) {
  Operation::Args args;
  for (const auto& [name, value] : in.args()) {
    Value now = value;
    if (!value.is_complex && (name == "self" || name == "other")) {
      Expr real = in.tensor_of(value);
      now = of_parts(real, zeros_like(real));
    }
    args.emplace_back(name, now);
  }
  Operation own(in.importer(), in.node(), std::move(args));
  return by_parts(own, convert);
}

/// Of two operands: f(a + bi, c + di) = f(a, c) - f(b, d) + (f(a, d) + f(b, c))i.
Values product_of_two(Operation& in, const Converter& convert) {
  if (in.size() < 2) in.invalid("two operands are needed");
  Value x = in.value(0), y = in.value(1);
  if (!x.is_complex || !y.is_complex) return by_parts(in, convert);
  auto f = [&](const Expr& a, const Expr& b) {
    Operation::Args args = in.args();
    args[0].second = Value(a);
    args[1].second = Value(b);
    return converted_with(in, convert, std::move(args)).at(0).expr();
  };
  const Parts p = parts_of(in, x), q = parts_of(in, y);
  return {of_parts(subtract(f(p.real, q.real), f(p.imaginary, q.imaginary)),
                   add(f(p.real, q.imaginary), f(p.imaginary, q.real)))};
}

Expr squared_length(const Parts& x) { return add(multiply(x.real, x.real), multiply(x.imaginary, x.imaginary)); }

Value quotient(const Operation& in, const Value& a, const Value& b) {
  const Parts p = parts_of(in, a), q = parts_of(in, b);
  if (!b.is_complex) {
    Expr by = as_type(in, q.real, in.dtype(p.real));
    return of_parts(divide(p.real, by), divide(p.imaginary, by));
  }
  Expr length = squared_length(q);
  auto over = [&](const Expr& x) { return divide(x, length); };
  Expr real = as_type(in, p.real, in.dtype(length));
  if (!a.is_complex) return of_parts(over(multiply(real, q.real)), over(negative(multiply(real, q.imaginary))));
  return of_parts(over(add(multiply(p.real, q.real), multiply(p.imaginary, q.imaginary))),
                  over(subtract(multiply(p.imaginary, q.real), multiply(p.real, q.imaginary))));
}

Expr angle_of(Operation& in, const Parts& x) {
  return converted_with(in, find_converter("aten::atan2"), {{"self", Value(x.imaginary)}, {"other", Value(x.real)}})
      .at(0)
      .expr();
}
Value from_polar(const Expr& length, const Expr& angle) {
  return of_parts(multiply(length, call_op("cos", {angle})), multiply(length, call_op("sin", {angle})));
}

Values compared_pairs(Operation& in) {
  const bool is_equal = in.name() == "eq";
  Parts a = parts_of(in, in.value(0)), b = parts_of(in, in.value(1));
  for (Parts* side : {&a, &b})
    if (!side->imaginary.defined()) side->imaginary = zeros_like(side->real);
  const char* op = is_equal ? "equal" : "not_equal";
  return {call_op(is_equal ? "logical_and" : "logical_or",
                  {call_op(op, {a.real, b.real}), call_op(op, {a.imaginary, b.imaginary})})};
}

Values powered(Operation& in) {
  const int64_t by = in.int_of(in.value(1), "the exponent of a complex number");
  if (!in.value(0).is_complex || by < 1 || by > 16) in.unsupported("this power of complex numbers");
  Parts x = parts_of(in, in.value(0)), out = x;
  for (int64_t i = 1; i < by; ++i)
    out = {subtract(multiply(out.real, x.real), multiply(out.imaginary, x.imaginary)),
           add(multiply(out.real, x.imaginary), multiply(out.imaginary, x.real))};
  return {of_parts(out.real, out.imaginary)};
}

// ---- between real and complex ---------------------------------------------------------------------------------------

/// The pairs themselves: what is written into one is written into the other.
Value same_pairs(Operation& in, bool is_complex) {
  auto same = [](const Expr& base) { return base; };
  Value base = in.value(0);
  base.is_complex = false;
  Value out = in.importer().view_of(base, {same, [](const Expr&, const Expr& value) { return value; }});
  out.is_complex = is_complex;
  return out;
}
Values as_complex(Operation& in) {
  const size_t rank = in.rank(in[0]);
  if (rank == 0 || in.static_extent(in[0], static_cast<int>(rank) - 1, "view_as_complex") != 2)
    in.invalid("the last dimension has no pairs");
  return {same_pairs(in, true)};
}
Values of_complex_alone(Operation& in) { in.invalid("the tensor has no complex numbers"); }
Values from_real_and_imaginary(Operation& in) { return {of_parts(in["real"], in["imag"])}; }
Values from_length_and_angle(Operation& in) { return {from_polar(in["abs"], in["angle"])}; }

using OfComplex = Values (*)(Operation&, const Converter&);
const std::map<std::string, OfComplex, std::less<>>& functions() {
  static const std::map<std::string, OfComplex, std::less<>> table{
      {"abs",
       [](Operation& in, const Converter&) -> Values { return {sqrt(squared_length(parts_of(in, in.value(0))))}; }},
      {"add", sum_of},
      {"angle", [](Operation& in, const Converter&) -> Values { return {angle_of(in, parts_of(in, in.value(0)))}; }},
      {"bmm", product_of_two},
      {"conj",
       [](Operation& in, const Converter&) -> Values {
         const Parts x = parts_of(in, in.value(0));
         return {of_parts(x.real, negative(x.imaginary))};
       }},
      {"div", [](Operation& in, const Converter&) -> Values { return {quotient(in, in.value(0), in.value(1))}; }},
      {"dot", product_of_two},
      {"eq", [](Operation& in, const Converter&) { return compared_pairs(in); }},
      {"exp",
       [](Operation& in, const Converter&) -> Values {
         const Parts x = parts_of(in, in.value(0));
         return {from_polar(exp(x.real), x.imaginary)};
       }},
      {"imag", [](Operation& in, const Converter&) -> Values { return {part(in.value(0).expr(), 1)}; }},
      {"is_complex", [](Operation&, const Converter&) -> Values { return {Value::of(true)}; }},
      {"log",
       [](Operation& in, const Converter&) -> Values {
         const Parts x = parts_of(in, in.value(0));
         return {of_parts(multiply(log(squared_length(x)), make_scalar(0.5, in.dtype(x.real))), angle_of(in, x))};
       }},
      {"matmul", product_of_two},
      {"mm", product_of_two},
      {"mul", product_of_two},
      {"mv", product_of_two},
      {"ne", [](Operation& in, const Converter&) { return compared_pairs(in); }},
      {"ones_like",
       [](Operation& in, const Converter&) -> Values {
         const Parts x = parts_of(in, in.value(0));
         return {of_parts(ones_like(x.real), zeros_like(x.real))};
       }},
      {"outer", product_of_two},
      {"pow", [](Operation& in, const Converter&) { return powered(in); }},
      {"real", [](Operation& in, const Converter&) -> Values { return {part(in.value(0).expr(), 0)}; }},
      {"reciprocal",
       [](Operation& in, const Converter&) -> Values { return {quotient(in, Value::of(1.0), in.value(0))}; }},
      {"square",
       [](Operation& in, const Converter&) -> Values {
         const Parts x = parts_of(in, in.value(0));
         Expr twice = multiply(x.real, x.imaginary);
         return {of_parts(subtract(multiply(x.real, x.real), multiply(x.imaginary, x.imaginary)), add(twice, twice))};
       }},
      {"sub", sum_of},
      {"view_as_real", [](Operation& in, const Converter&) -> Values { return {same_pairs(in, false)}; }},
  };
  return table;
}

/// Operators that are linear in what is complex, beside those that only move elements.
constexpr std::string_view kLinear[] = {
    "cat",           "concat", "concatenate", "cumsum", "diff",       "gather",  "index",    "index_select",
    "masked_select", "mean",   "movedim",     "mT",     "neg",        "numpy_T", "pad",      "stack",
    "sum",           "tile",   "tril",        "triu",   "zeros_like", "where",   "swapaxes", "_reshape_copy"};
/// Of a real tensor's shape and the like, which are those of each part.
constexpr std::string_view kOfEachPart[] = {"dim", "len", "numel", "size", "sym_numel", "sym_size"};

std::string_view plain(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kSame[] = {
      {"_conj", "conj"},      {"conj_physical", "conj"}, {"_conj_physical", "conj"},
      {"absolute", "abs"},    {"multiply", "mul"},       {"divide", "div"},
      {"true_divide", "div"}, {"subtract", "sub"},       {"view_as_real_copy", "view_as_real"}};
  for (const auto& [own, same] : kSame)
    if (own == name) return same;
  return name;
}

}  // namespace

bool has_complex(const Operation& in) {
  return std::any_of(in.args().begin(), in.args().end(), [](const auto& arg) { return holds_complex(arg.second); });
}

Values convert_complex(Operation& in, const Converter& convert) {
  const std::string name(plain(in.name()));
  if (auto it = functions().find(name); it != functions().end()) return it->second(in, convert);
  if (std::find(std::begin(kOfEachPart), std::end(kOfEachPart), name) != std::end(kOfEachPart)) {
    Operation::Args args;
    for (const auto& [own, value] : in.args()) args.emplace_back(own, in_part(in, value, 0));
    return converted_with(in, convert, std::move(args));
  }
  const bool moves = only_moves(name);
  if (!moves && std::find(std::begin(kLinear), std::end(kLinear), name) == std::end(kLinear))
    in.unsupported("complex numbers");
  Values out = by_parts(in, convert);
  if (moves)
    for (Value& value : out) follow(in, value);
  return out;
}

Rows complex_rows() {
  return {
      {"aten::_conj", of_complex_alone},
      {"aten::angle", of_complex_alone},
      {"aten::complex", from_real_and_imaginary},
      {"aten::conj", [](Operation& in) -> Values { return {in.value(0)}; }},
      {"aten::conj_physical", [](Operation& in) -> Values { return {in.value(0)}; }},
      {"aten::imag", of_complex_alone},
      {"aten::is_complex", [](Operation&) -> Values { return {Value::of(false)}; }},
      {"aten::polar", from_length_and_angle},
      {"aten::real", [](Operation& in) -> Values { return {in.value(0)}; }},
      {"aten::view_as_complex", as_complex},
      {"aten::view_as_real", of_complex_alone},
  };
}

}  // namespace tessera::torch

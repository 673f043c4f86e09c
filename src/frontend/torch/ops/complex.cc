// Complex numbers, as far as they come and go as pairs: a tensor of them has one more dimension, of real and imaginary parts.

#include "frontend/common/parts.h"
#include "frontend/torch/quantize.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr part(const Expr& pairs, int which) { return squeeze(slice(pairs, -1, which, which + 1), int_array({-1})); }

Value of_parts(const Expr& real, const Expr& imaginary) {
  Value out(stack({real, imaginary}, -1));
  out.is_complex = true;
  return out;
}

Value combined(Operation& in, const std::string& name) {
  const Value &a = in.value(0), &b = in.value(1);
  if (!a.is_complex || !b.is_complex || in.has("alpha")) in.unsupported("complex numbers beside real ones");
  Expr x = part(a.expr(), 0), y = part(a.expr(), 1), u = part(b.expr(), 0), v = part(b.expr(), 1);
  if (name == "mul") return of_parts(subtract(multiply(x, u), multiply(y, v)), add(multiply(x, v), multiply(y, u)));
  return name == "add" ? of_parts(add(x, u), add(y, v)) : of_parts(subtract(x, u), subtract(y, v));
}

Values as_complex(Operation& in) {
  if (in.static_shape(in[0], "view_as_complex").back() != 2) in.invalid("the last dimension has no pairs");
  Value out(in[0]);
  out.is_complex = true;
  return {out};
}
Values of_complex_alone(Operation& in) { in.invalid("the tensor has no complex numbers"); }

}  // namespace

Values convert_complex(Operation& in) {
  const std::string name = in.name();
  if (!in.value(0).is_complex && name != "mul" && name != "add" && name != "sub") in.unsupported("complex numbers");
  if (name == "view_as_real") return {Value(in[0])};
  if (name == "real") return {Value(part(in[0], 0))};
  if (name == "imag") return {Value(part(in[0], 1))};
  if (name == "abs") return {Value(sqrt(sum(multiply(in[0], in[0]), int_array({-1}))))};
  if (name == "mul" || name == "add" || name == "sub") return {combined(in, name)};
  in.unsupported("complex numbers");
}

Rows complex_rows() {
  return {
      {"aten::imag", of_complex_alone},
      {"aten::real", [](Operation& in) -> Values { return {in.value(0)}; }},
      {"aten::view_as_complex", as_complex},
      {"aten::view_as_real", of_complex_alone},
  };
}

}  // namespace tessera::torch

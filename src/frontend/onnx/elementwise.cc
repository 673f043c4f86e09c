// Operators on single elements, stretched to each other where there are several inputs.

#include "frontend/onnx/importer.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

template <const char* op>
Values unary(Operation& in) {
  return {call_op(op, {in[0]})};
}

/// Axis and broadcast attributes stood for what is stretched before version 7.
Expr aligned(Operation& in, const Expr& rhs) {
  if (in.version() >= 7 || !in.has_attribute("axis")) return rhs;
  size_t rank = in.rank(in[0]), own = in.rank(rhs);
  int axis = in.axis(in.integer("axis"), rank);
  auto missing = static_cast<int>(rank - own) - axis;
  return missing > 0 ? expand_dims(rhs, static_cast<int>(own), missing) : rhs;
}

template <const char* op>
Values binary(Operation& in) {
  return {call_op(op, {in[0], aligned(in, in[1])})};
}

/// Any number of inputs, from left to right.
template <const char* op>
Values folded(Operation& in) {
  Expr out = in[0];
  for (size_t i = 1; i < in.size(); ++i) out = call_op(op, {out, in[i]});
  return {out};
}

Values identity(Operation& in) { return {in.value(0)}; }

#define TESSERA_OP_NAME(name, text) constexpr char name[] = text
TESSERA_OP_NAME(kAbs, "abs");
TESSERA_OP_NAME(kAdd, "add");
TESSERA_OP_NAME(kDivide, "divide");
TESSERA_OP_NAME(kExp, "exp");
TESSERA_OP_NAME(kMaximum, "maximum");
TESSERA_OP_NAME(kMinimum, "minimum");
TESSERA_OP_NAME(kMultiply, "multiply");
TESSERA_OP_NAME(kNegative, "negative");
TESSERA_OP_NAME(kRelu, "nn.relu");
TESSERA_OP_NAME(kSigmoid, "sigmoid");
TESSERA_OP_NAME(kSqrt, "sqrt");
TESSERA_OP_NAME(kSubtract, "subtract");
TESSERA_OP_NAME(kTanh, "tanh");
#undef TESSERA_OP_NAME

const Row kRows[] = {
    {"Abs", 1, unary<kAbs>},       {"Add", 1, binary<kAdd>},        {"Div", 1, binary<kDivide>},
    {"Exp", 1, unary<kExp>},       {"Identity", 1, identity},       {"Max", 1, folded<kMaximum>},
    {"Min", 1, folded<kMinimum>},  {"Mul", 1, binary<kMultiply>},   {"Neg", 1, unary<kNegative>},
    {"Relu", 1, unary<kRelu>},     {"Sigmoid", 1, unary<kSigmoid>}, {"Sqrt", 1, unary<kSqrt>},
    {"Sub", 1, binary<kSubtract>}, {"Sum", 1, folded<kAdd>},        {"Tanh", 1, unary<kTanh>},
};

}  // namespace

std::span<const Row> elementwise_rows() { return kRows; }

}  // namespace tessera::onnx

#include "topi/broadcast.h"

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/structural/expr_equal.h"
#include "runtime/registry.h"

namespace tessera::topi {
namespace {

std::string shape_text(const Array<PrimExpr>& shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + to_text(shape[i]);
  return out + ")";
}

/// Known to be equal, also as numbers of different types.
bool same_extent(const PrimExpr& a, const PrimExpr& b) {
  const int64_t *x = as_int(a), *y = as_int(b);
  if (x && y) return *x == *y;
  if (expr_equal(a, b)) return true;
  const bool are_integers = a.dtype() == b.dtype() && (a.dtype().is_int() || a.dtype().is_uint());
  return are_integers && arith::Analyzer().can_prove_equal(a, b);
}

/// The extent that `a` and `b` are both broadcast to, of the wider type; empty when they cannot be.
PrimExpr common_extent(const PrimExpr& a, const PrimExpr& b) {
  if (is_one(a)) return b;
  if (is_one(b)) return a;
  if (same_extent(a, b)) return a.dtype().bits >= b.dtype().bits ? a : b;
  bool a_known = as_int(a), b_known = as_int(b);
  if (a_known && b_known) return nullptr;
  if (a_known) return a;
  if (b_known) return b;
  return select(equal(a, make_const(a.dtype(), 1)), b, a);  // not the larger one: 1 is broadcast to 0 too
}

PrimExpr element(const Operand& operand, const Array<PrimExpr>& indices, const Array<PrimExpr>& common) {
  if (auto* number = std::get_if<PrimExpr>(&operand)) return *number;
  const auto& tensor = std::get<te::Tensor>(operand);
  return te::load(tensor, broadcast_indices(indices, common, tensor->shape));
}

}  // namespace

Array<PrimExpr> broadcast_shape(const Array<PrimExpr>& a, const Array<PrimExpr>& b) {
  size_t rank = std::max(a.size(), b.size());
  std::vector<PrimExpr> out(rank);
  for (size_t back = 1; back <= rank; ++back) {
    PrimExpr& extent = out[rank - back];
    if (back > a.size()) {
      extent = b[b.size() - back];
    } else if (back > b.size()) {
      extent = a[a.size() - back];
    } else {
      extent = common_extent(a[a.size() - back], b[b.size() - back]);
    }
    if (!extent)
      throw Error(ValueError) << "shapes " << shape_text(a) << " and " << shape_text(b)
                              << " cannot be broadcast together: " << a[a.size() - back] << " and "
                              << b[b.size() - back] << " differ and neither is 1";
  }
  return out;
}

Array<PrimExpr> broadcast_indices(const Array<PrimExpr>& indices, const Array<PrimExpr>& common,
                                  const Array<PrimExpr>& shape) {
  Array<PrimExpr> out;
  size_t skipped = common.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    const PrimExpr index = indices[skipped + i], extent = shape[i];
    PrimExpr zero = make_zero(index.dtype());
    if (same_extent(extent, common[skipped + i])) {
      out.push_back(index);
    } else if (is_one(extent)) {
      out.push_back(zero);
    } else {
      out.push_back(if_then_else(equal(extent, make_const(extent.dtype(), 1)), zero, index));
    }
  }
  return out;
}

te::Tensor broadcast_to(const te::Tensor& data, const Array<PrimExpr>& shape, const String& name, const String& tag) {
  Array<PrimExpr> common = broadcast_shape(data->shape, shape);
  if (common.size() != shape.size())
    throw Error(ValueError) << "broadcast_to: a tensor of " << data->shape.size()
                            << " dimensions does not fit the shape " << shape_text(shape);
  return compute(
      common, "ax", [&](const Array<PrimExpr>& i) { return te::load(data, broadcast_indices(i, common, data->shape)); },
      name, tag);
}

Operand broadcast(const Operand& a, const Operand& b, const std::function<PrimExpr(PrimExpr, PrimExpr)>& body,
                  const String& name) {
  auto* x = std::get_if<te::Tensor>(&a);
  auto* y = std::get_if<te::Tensor>(&b);
  if (!x && !y) return body(std::get<PrimExpr>(a), std::get<PrimExpr>(b));
  Array<PrimExpr> common = x && y ? broadcast_shape((*x)->shape, (*y)->shape) : x ? (*x)->shape : (*y)->shape;
  return compute(
      common, "ax", [&](const Array<PrimExpr>& i) { return body(element(a, i, common), element(b, i, common)); }, name,
      x && y ? kBroadcast : kElementwise);
}

namespace {

using BinaryBody = PrimExpr (*)(PrimExpr, PrimExpr);

PackedFunc binary(const char* name, BinaryBody body) {
  String op_name = std::string("T_") + name;
  return typed(std::string("topi.") + name,
               [op_name, body](Operand a, Operand b) { return broadcast(a, b, body, op_name); });
}

/// Division as operators of a graph mean it: true on floats, towards zero on integers.
PrimExpr floor_divide(PrimExpr a, PrimExpr b) {
  bool floating = a.dtype().is_floating() || b.dtype().is_floating();
  return floating ? floor(div(a, b)) : floordiv(a, b);
}
PrimExpr floor_mod(PrimExpr a, PrimExpr b) {
  if (!a.dtype().is_floating() && !b.dtype().is_floating()) return floormod(a, b);
  const DataType dtype = a.dtype();
  const bool is_short = dtype == b.dtype() && (dtype == DataType::Float(16) || dtype == DataType::BFloat(16));
  if (is_short)
    a = cast(DataType::Float(32), a), b = cast(DataType::Float(32), b);  // a product of 16 bits is too coarse
  PrimExpr rest = a - floor(div(a, b)) * b;
  return is_short ? cast(dtype, rest) : rest;
}
PrimExpr mod(PrimExpr a, PrimExpr b) { return truncmod(a, b); }
PrimExpr trunc_divide(PrimExpr a, PrimExpr b) {
  bool floating = a.dtype().is_floating() || b.dtype().is_floating();
  return floating ? trunc(div(a, b)) : truncdiv(a, b);
}
PrimExpr logical_xor(PrimExpr a, PrimExpr b) { return a ^ b; }

struct Row {
  const char* name;
  BinaryBody body;
};

const Row kRows[] = {
    {"add", [](PrimExpr a, PrimExpr b) { return a + b; }},
    {"subtract", [](PrimExpr a, PrimExpr b) { return a - b; }},
    {"multiply", [](PrimExpr a, PrimExpr b) { return a * b; }},
    {"divide", [](PrimExpr a, PrimExpr b) { return div(a, b); }},
    {"floor_divide", floor_divide},
    {"mod", mod},
    {"trunc_mod", mod},
    {"trunc_divide", trunc_divide},
    {"floor_mod", floor_mod},
    {"maximum", [](PrimExpr a, PrimExpr b) { return max(a, b); }},
    {"minimum", [](PrimExpr a, PrimExpr b) { return min(a, b); }},
    {"power", [](PrimExpr a, PrimExpr b) { return pow(a, b); }},
    {"left_shift", [](PrimExpr a, PrimExpr b) { return a << b; }},
    {"right_shift", [](PrimExpr a, PrimExpr b) { return a >> b; }},
    {"greater", [](PrimExpr a, PrimExpr b) { return a > b; }},
    {"less", [](PrimExpr a, PrimExpr b) { return a < b; }},
    {"equal", [](PrimExpr a, PrimExpr b) { return equal(a, b); }},
    {"not_equal", [](PrimExpr a, PrimExpr b) { return not_equal(a, b); }},
    {"greater_equal", [](PrimExpr a, PrimExpr b) { return a >= b; }},
    {"less_equal", [](PrimExpr a, PrimExpr b) { return a <= b; }},
    {"logical_and", [](PrimExpr a, PrimExpr b) { return logical_and(a, b); }},
    {"logical_or", [](PrimExpr a, PrimExpr b) { return logical_or(a, b); }},
    {"logical_xor", logical_xor},
    {"bitwise_and", [](PrimExpr a, PrimExpr b) { return a & b; }},
    {"bitwise_or", [](PrimExpr a, PrimExpr b) { return a | b; }},
    {"bitwise_xor", [](PrimExpr a, PrimExpr b) { return a ^ b; }},
};

[[maybe_unused]] const bool broadcast_registered = [] {
  for (const Row& row : kRows) register_global(std::string("topi.") + row.name, binary(row.name, row.body));
  return true;
}();

Globals broadcast_globals{
    {"topi.broadcast_to", [](te::Tensor data, Array<PrimExpr> shape) { return broadcast_to(data, shape); }}};

}  // namespace
}  // namespace tessera::topi

// What is computed element by element, and reductions.

#include <algorithm>
#include <cmath>

#include "frontend/common/parts.h"
#include "frontend/mxnet/mxnet.h"
#include "frontend/onnx/apply.h"
#include "relay/attrs/reduce.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::mxnet {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

Expr scalar_like(const LayerNode& in, const Expr& x, double value) { return make_scalar(value, in.dtype(x)); }

LayerConverter unary(const char* op) {
  return [op](LayerNode& in) { return Exprs{call_op(op, {in[0]})}; };
}
LayerConverter from_onnx(const char* op) {
  return [op](LayerNode& in) { return Exprs{apply(in, op, {in[0]})}; };
}
LayerConverter binary(const char* op) {
  return [op](LayerNode& in) { return Exprs{call_op(op, {in[0], in[1]})}; };
}
/// Truth values are numbers of the operands' type.
LayerConverter comparison(const char* op) {
  return [op](LayerNode& in) { return Exprs{cast(call_op(op, {in[0], in[1]}), in.dtype(in[0]))}; };
}
Expr truth(const LayerNode& in, const Expr& x) {
  return in.dtype(x).is_bool() ? x : call_op("not_equal", {x, scalar_like(in, x, 0)});
}
LayerConverter logical(const char* op) {
  return
      [op](LayerNode& in) { return Exprs{cast(call_op(op, {truth(in, in[0]), truth(in, in[1])}), in.dtype(in[0]))}; };
}
Expr the_scalar(const LayerNode& in) {
  if (!in.fields().has("scalar")) in.invalid("\"scalar\" is missing");
  return scalar_like(in, in[0], in.number("scalar", 0));
}
LayerConverter with_scalar(const char* op, bool is_reversed = false) {
  return [=](LayerNode& in) {
    Expr number = the_scalar(in);
    return Exprs{is_reversed ? call_op(op, {number, in[0]}) : call_op(op, {in[0], number})};
  };
}
LayerConverter compared_with_scalar(const char* op) {
  return [op](LayerNode& in) { return Exprs{cast(call_op(op, {in[0], the_scalar(in)}), in.dtype(in[0]))}; };
}

Exprs copied(LayerNode& in) { return {in[0]}; }
Exprs square(LayerNode& in) { return {multiply(in[0], in[0])}; }
Exprs reciprocal(LayerNode& in) { return {divide(scalar_like(in, in[0], 1), in[0])}; }

Expr cube_root(const LayerNode& in, const Expr& x) {
  return multiply(call_op("sign", {x}), power(call_op("abs", {x}), scalar_like(in, x, 1.0 / 3)));
}
Exprs cbrt(LayerNode& in) { return {cube_root(in, in[0])}; }
Exprs rcbrt(LayerNode& in) { return {divide(scalar_like(in, in[0], 1), cube_root(in, in[0]))}; }
/// log(1 + x) and exp(x) - 1 of small x without what rounding 1 + x loses.
Exprs log1p(LayerNode& in) {
  const Expr &x = in[0], one = scalar_like(in, x, 1);
  Expr sum = add(x, one), rest = subtract(sum, one);
  return {where(equal(rest, scalar_like(in, x, 0)), x, divide(multiply(log(sum), x), rest))};
}
Exprs expm1(LayerNode& in) {
  const Expr &x = in[0], half = multiply(x, scalar_like(in, x, 0.5));
  return {multiply(multiply(scalar_like(in, x, 2), exp(half)), call_op("sinh", {half}))};
}
Exprs logical_not(LayerNode& in) { return {cast(call_op("logical_not", {truth(in, in[0])}), in.dtype(in[0]))}; }
Exprs hard_sigmoid(LayerNode& in) {
  const Expr& x = in[0];
  return {clip(
      add(multiply(x, scalar_like(in, x, in.number("alpha", 0.2))), scalar_like(in, x, in.number("beta", 0.5))), 0, 1)};
}
Exprs smooth_l1(LayerNode& in) {
  const Expr& x = in[0];
  const double sigma = in.number("scalar", 1), squared = sigma * sigma;
  Expr size = call_op("abs", {x});
  return {where(less(size, scalar_like(in, x, 1 / squared)),
                multiply(scalar_like(in, x, 0.5 * squared), multiply(x, x)),
                subtract(size, scalar_like(in, x, 0.5 / squared)))};
}
Exprs clipped(LayerNode& in) { return {clip(in[0], in.number("a_min", -INFINITY), in.number("a_max", INFINITY))}; }
Exprs add_n(LayerNode& in) {
  Expr out = in[0];
  for (size_t i = 1; i < in.size(); ++i) out = add(out, in[i]);
  return {out};
}
Exprs chosen(LayerNode& in) {
  Expr condition = truth(in, in[0]);
  const size_t rank = in.rank(in[1]);
  if (in.rank(in[0]) == 1 && rank > 1) condition = expand_dims(condition, 1, static_cast<int>(rank) - 1);  // of rows
  return {where(condition, in[1], in[2])};
}
Exprs chosen_scalar(LayerNode& in) {
  return {where(truth(in, in[0]), in[1], scalar_like(in, in[1], in.number("scalar", 0)))};
}

DataType named_type(const LayerNode& in, const char* field, const char* usual) {
  std::string name = in.text(field, usual);
  if (name == "None" || name == "-1") name = usual;
  return DataType(name);
}
Exprs cast_to(LayerNode& in) { return {cast_if_needed(in, in[0], named_type(in, "dtype", "float32"))}; }
Exprs cast_together(LayerNode& in) {
  DataType wide = in.dtype(in[0]);
  const bool narrow = in.flag("cast_narrow");
  for (const Expr& x : in.inputs())
    if (narrow ? in.dtype(x).bits < wide.bits : in.dtype(x).bits > wide.bits) wide = in.dtype(x);
  Exprs out;
  for (const Expr& x : in.inputs()) out.push_back(cast_if_needed(in, x, wide));
  return out;
}

// ---- reductions -----------------------------------------------------------------------------------------------------

Array<PrimExpr> axes_of(const LayerNode& in) {
  Ints axes = in.fields().integers("axis");
  return axes.empty() ? Array<PrimExpr>(nullptr) : int_array(axes);
}
/// All of a tensor gives a tensor of one element.
Expr not_scalar(const LayerNode& in, Expr x) {
  typed(x);
  return in.rank(x) == 0 ? expand_dims(x, 0) : x;
}
LayerConverter reduction(const char* op) {
  return [op](LayerNode& in) {
    const bool excludes = in.flag("exclude");
    Array<PrimExpr> axes = axes_of(in);
    return Exprs{not_scalar(in, reduce(op, in[0], axes, in.flag("keepdims"), excludes && axes.defined()))};
  };
}
LayerConverter arg_reduction(const char* op) {
  return [op](LayerNode& in) {
    Attrs attrs = make_attrs<ArgReduceAttrs>([&](auto& to) {
      to.axis = axes_of(in);
      to.keepdims = in.flag("keepdims");
    });
    return Exprs{not_scalar(in, cast(call_op(op, {in[0]}, attrs), DataType::Float(32)))};
  };
}
Exprs norm(LayerNode& in) {
  const int64_t order = in.integer("ord", 2);
  if (order != 1 && order != 2) in.unsupported("a norm of order " + std::to_string(order));
  Expr x = order == 1 ? call_op("abs", {in[0]}) : multiply(in[0], in[0]);
  Expr out = sum(x, axes_of(in), in.flag("keepdims"));
  return {not_scalar(in, order == 1 ? out : sqrt(out))};
}

}  // namespace

LayerRows elementwise_rows() {
  LayerRows out{
      {"_copy", copied},
      {"identity", copied},
      {"_np_copy", copied},
      {"_npi_copy", copied},
      {"BlockGrad", copied},
      {"make_loss", copied},
      {"MakeLoss", copied},
      {"abs", unary("abs")},
      {"sign", unary("sign")},
      {"round", unary("round")},
      {"rint", from_onnx("Round")},
      {"ceil", unary("ceil")},
      {"floor", unary("floor")},
      {"trunc", unary("trunc")},
      {"fix", unary("trunc")},
      {"sqrt", unary("sqrt")},
      {"rsqrt", unary("rsqrt")},
      {"exp", unary("exp")},
      {"log", unary("log")},
      {"log2", unary("log2")},
      {"log10", unary("log10")},
      {"log1p", log1p},
      {"expm1", expm1},
      {"sin", unary("sin")},
      {"cos", unary("cos")},
      {"tan", unary("tan")},
      {"sinh", unary("sinh")},
      {"cosh", unary("cosh")},
      {"tanh", unary("tanh")},
      {"_npi_tanh", unary("tanh")},
      {"arcsin", unary("asin")},
      {"arccos", unary("acos")},
      {"arctan", unary("atan")},
      {"arcsinh", unary("asinh")},
      {"arccosh", unary("acosh")},
      {"arctanh", unary("atanh")},
      {"erf", unary("erf")},
      {"sigmoid", unary("sigmoid")},
      {"relu", unary("nn.relu")},
      {"negative", unary("negative")},
      {"zeros_like", unary("zeros_like")},
      {"ones_like", unary("ones_like")},
      {"softsign", from_onnx("Softsign")},
      {"hard_sigmoid", hard_sigmoid},
      {"square", square},
      {"reciprocal", reciprocal},
      {"cbrt", cbrt},
      {"rcbrt", rcbrt},
      {"logical_not", logical_not},
      {"smooth_l1", smooth_l1},
      {"clip", clipped},
      {"add_n", add_n},
      {"ElementWiseSum", add_n},
      {"where", chosen},
      {"_npi_where_rscalar", chosen_scalar},
      {"Cast", cast_to},
      {"cast", cast_to},
      {"amp_cast", cast_to},
      {"amp_multicast", cast_together},
      {"argmax", arg_reduction("argmax")},
      {"argmin", arg_reduction("argmin")},
      {"norm", norm},
  };
  const std::pair<const char*, const char*> binaries[] = {{"elemwise_add", "add"},
                                                          {"elemwise_sub", "subtract"},
                                                          {"elemwise_mul", "multiply"},
                                                          {"elemwise_div", "divide"},
                                                          {"_maximum", "maximum"},
                                                          {"_minimum", "minimum"},
                                                          {"_plus", "add"},
                                                          {"_minus", "subtract"},
                                                          {"_mul", "multiply"},
                                                          {"_div", "divide"},
                                                          {"_power", "power"},
                                                          {"_mod", "floor_mod"},
                                                          {"broadcast_add", "add"},
                                                          {"broadcast_plus", "add"},
                                                          {"broadcast_sub", "subtract"},
                                                          {"broadcast_minus", "subtract"},
                                                          {"broadcast_mul", "multiply"},
                                                          {"broadcast_div", "divide"},
                                                          {"broadcast_mod", "floor_mod"},
                                                          {"broadcast_maximum", "maximum"},
                                                          {"broadcast_minimum", "minimum"},
                                                          {"broadcast_power", "power"},
                                                          {"_npi_add", "add"},
                                                          {"_npi_subtract", "subtract"},
                                                          {"_npi_multiply", "multiply"},
                                                          {"_npi_power", "power"},
                                                          {"_npi_true_divide", "divide"},
                                                          {"_npi_less", "less"},
                                                          {"_npi_less_equal", "less_equal"},
                                                          {"_npi_maximum", "maximum"},
                                                          {"_npi_minimum", "minimum"}};
  for (const auto& [name, op] : binaries) out.push_back({name, binary(op)});
  const std::pair<const char*, const char*> comparisons[] = {{"equal", "equal"},     {"not_equal", "not_equal"},
                                                             {"greater", "greater"}, {"greater_equal", "greater_equal"},
                                                             {"lesser", "less"},     {"lesser_equal", "less_equal"}};
  for (const auto& [name, op] : comparisons) {
    out.push_back({"_" + std::string(name), comparison(op)});
    out.push_back({"broadcast_" + std::string(name), comparison(op)});
    out.push_back({"_" + std::string(name) + "_scalar", compared_with_scalar(op)});
  }
  for (const char* op : {"logical_and", "logical_or", "logical_xor"}) {
    out.push_back({"broadcast_" + std::string(op), logical(op)});
    out.push_back({"_" + std::string(op), logical(op)});
  }
  const std::pair<const char*, const char*> scalars[] = {{"__add_scalar__", "add"},
                                                         {"_plus_scalar", "add"},
                                                         {"__sub_scalar__", "subtract"},
                                                         {"_minus_scalar", "subtract"},
                                                         {"__mul_scalar__", "multiply"},
                                                         {"_mul_scalar", "multiply"},
                                                         {"__div_scalar__", "divide"},
                                                         {"_div_scalar", "divide"},
                                                         {"__pow_scalar__", "power"},
                                                         {"_power_scalar", "power"},
                                                         {"_maximum_scalar", "maximum"},
                                                         {"_minimum_scalar", "minimum"},
                                                         {"_mod_scalar", "floor_mod"},
                                                         {"_npi_add_scalar", "add"},
                                                         {"_npi_subtract_scalar", "subtract"},
                                                         {"_npi_multiply_scalar", "multiply"},
                                                         {"_npi_true_divide_scalar", "divide"},
                                                         {"_npi_power_scalar", "power"}};
  for (const auto& [name, op] : scalars) out.push_back({name, with_scalar(op)});
  const std::pair<const char*, const char*> reversed[] = {
      {"__rsub_scalar__", "subtract"}, {"_rminus_scalar", "subtract"}, {"__rdiv_scalar__", "divide"},
      {"_rdiv_scalar", "divide"},      {"__rpow_scalar__", "power"},   {"_rpower_scalar", "power"},
      {"_rmod_scalar", "floor_mod"}};
  for (const auto& [name, op] : reversed) out.push_back({name, with_scalar(op, true)});
  const std::pair<const char*, const char*> reductions[] = {{"sum", "sum"},      {"sum_axis", "sum"}, {"mean", "mean"},
                                                            {"max", "max"},      {"max_axis", "max"}, {"min", "min"},
                                                            {"min_axis", "min"}, {"prod", "prod"}};
  for (const auto& [name, op] : reductions) out.push_back({name, reduction(op)});
  return out;
}

}  // namespace tessera::mxnet

// Reductions, orders and running sums.

#include <cmath>

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/paddle/paddle.h"
#include "relay/attrs/index.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/search.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::paddle {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

/// The axes that are reduced; null for all of them.
Array<PrimExpr> axes_of(const LayerNode& in, const char* attribute, size_t rank) {
  if (in.flag("reduce_all")) return nullptr;
  std::vector<int64_t> axes;
  for (int64_t axis : known_ints(in, attribute)) axes.push_back(in.axis(axis, rank));
  return axes.empty() || axes.size() == rank ? Array<PrimExpr>(nullptr) : int_array(axes);
}

LayerConverter reduction(const char* op) {
  return [op](LayerNode& in) {
    Expr x = in.slot("X");
    const DataType dtype = in.dtype(x);
    const bool sums = std::string_view(op) == "sum";
    if (std::optional<DataType> wanted = type_in(in, "out_dtype")) x = cast_if_needed(in, x, *wanted);
    else if (sums && (dtype.is_bool() || dtype == DataType::Int(32))) x = cast(x, DataType::Int(64));
    return in.results({{"Out", {reduce(op, x, axes_of(in, "dim", in.rank(x)), in.flag("keep_dim"))}}});
  };
}

/// The greatest is taken out, so that nothing overflows.
Exprs log_sum_exp(LayerNode& in) {
  Expr x = in.slot("X");
  Array<PrimExpr> axes = axes_of(in, "axis", in.rank(x));
  std::vector<onnx::Given> attributes{{"keepdims", in.flag("keepdim")}};
  Expr given = axes.defined() ? make_ints(*fixed_ints(axes)) : Expr();
  return in.results({{"Out", {apply(in, "ReduceLogSumExp", {x, given}, attributes)}}});
}

LayerConverter index_of(const char* op) {
  return [op](LayerNode& in) {
    Expr x = in.slot("X");
    const size_t rank = in.rank(x);
    const bool is_flat = in.flag("flatten"), keeps = in.flag("keepdims");
    Array<PrimExpr> axis = int_array({0});
    if (is_flat) x = typed(reshape_to(x, {-1}));
    else axis = int_array({in.axis(known_int(in, "axis", -1), rank)});
    Expr out = call_op(op, {x}, make_attrs<ArgReduceAttrs>([&](auto& to) {
                         to.axis = axis;
                         to.keepdims = keeps && !is_flat;
                       }));
    if (is_flat && keeps) out = reshape_to(out, std::vector<int64_t>(rank, 1));
    return in.results({{"Out", {cast(out, type_in(in, "dtype").value_or(DataType::Int(64)))}}});
  };
}

Exprs sorted(LayerNode& in) {
  Expr x = in.slot("X");
  const int axis = in.axis(in.integer("axis", -1), in.rank(x));
  Expr order = typed(call_op("argsort", {x}, make_attrs<ArgsortAttrs>([&](auto& to) {
                               to.axis = axis;
                               to.is_ascend = !in.flag("descending");
                               to.dtype = DataType::Int(64);
                             })));
  Expr values = call_op("gather", {x, order}, make_attrs<GatherAttrs>([&](auto& to) { to.axis = PrimExpr(axis); }));
  return in.results({{"Out", {values}}, {"Indices", {order}}});
}

Exprs top_k(LayerNode& in) {
  Expr x = in.slot("X"), k = ints_of(in, "k", {"K"});
  std::vector<Expr> both = onnx::apply_all(
      in, "TopK", {x, k},
      {{"axis", in.integer("axis", -1)}, {"largest", in.flag("largest", true)}, {"sorted", in.flag("sorted", true)}},
      2);
  return in.results({{"Out", {both.at(0)}}, {"Indices", {both.at(1)}}});
}

Exprs running_sum(LayerNode& in) {
  Expr x = in.slot("X");
  const bool is_flat = in.flag("flatten");
  if (is_flat) x = typed(reshape_to(x, {-1}));
  const int64_t axis = is_flat ? 0 : in.axis(known_int(in, "axis", -1), in.rank(x));
  Expr out = apply(in, "CumSum", {x, make_ints({axis})},
                   {{"exclusive", in.flag("exclusive")}, {"reverse", in.flag("reverse")}});
  return in.results({{"Out", {out}}});
}

Exprs softmax(LayerNode& in) {
  Expr x = in.slot("X");
  if (in.rank(x) == 0) return in.results({{"Out", {ones_like(x)}}});
  return in.results({{"Out", {softmax_of(x, in.axis(in.integer("axis", -1), in.rank(x)))}}});
}
Exprs log_softmax(LayerNode& in) {
  Expr x = in.slot("X");
  return in.results({{"Out", {apply(in, "LogSoftmax", {x}, {{"axis", in.integer("axis", -1)}})}}});
}

/// The p-norm of an axis, or of all elements as one vector.
Exprs norm(LayerNode& in) {
  Expr x = in.slot("X");
  const double order = in.number("porder", 2);
  Array<PrimExpr> axes = int_array({0});
  if (in.flag("asvector")) x = typed(reshape_to(x, {-1}));
  else axes = int_array({in.axis(in.integer("axis", -1), in.rank(x))});
  auto number = [&](double value) { return make_scalar(value, in.dtype(x)); };
  auto reduced = [&](const char* op, const Expr& of) { return reduce(op, of, axes, in.flag("keepdim")); };
  Expr size = call_op("abs", {x}), out;
  if (order == 0) out = reduced("sum", cast(call_op("not_equal", {x, number(0)}), in.dtype(x)));
  else if (order == 1) out = reduced("sum", size);
  else if (order == 2) out = sqrt(reduced("sum", multiply(x, x)));
  else if (std::isinf(order)) out = reduced(order > 0 ? "max" : "min", size);
  else out = power(reduced("sum", power(size, number(order))), number(1 / order));
  return in.results({{"Out", {out}}});
}

}  // namespace

LayerRows reduction_rows() {
  return {
      {"arg_max", index_of("argmax")},
      {"arg_min", index_of("argmin")},
      {"argsort", sorted},
      {"cumsum", running_sum},
      {"log_softmax", log_softmax},
      {"logsumexp", log_sum_exp},
      {"p_norm", norm},
      {"reduce_all", reduction("all")},
      {"reduce_any", reduction("any")},
      {"reduce_max", reduction("max")},
      {"reduce_mean", reduction("mean")},
      {"reduce_min", reduction("min")},
      {"reduce_prod", reduction("prod")},
      {"reduce_sum", reduction("sum")},
      {"softmax", softmax},
      {"top_k_v2", top_k},
  };
}

}  // namespace tessera::paddle

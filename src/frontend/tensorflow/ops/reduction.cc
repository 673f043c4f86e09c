// Reductions over axes that an input names, and scans.

#include "frontend/common/parts.h"
#include "frontend/tensorflow/operation.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/search.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::tensorflow {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// The axes of input 1, counted from the front.
Array<PrimExpr> axes_of(Operation& in) {
  const size_t rank = in.rank(in[0]);
  std::vector<int64_t> out;
  for (int64_t axis : in.ints(1, "the axes of a reduction")) out.push_back(in.axis(axis, rank));
  return int_array(out);
}

Expr reduced(Operation& in, std::string_view op, const Expr& x) {
  Array<PrimExpr> axes = axes_of(in);
  if (axes.empty()) return x;
  return reduce(op, x, axes, in.flag("keep_dims"));
}

Converter reduction(const char* op) {
  return [op](Operation& in) { return Values{reduced(in, op, in[0])}; };
}

/// The mean of integers is rounded towards zero.
Values mean_of(Operation& in) {
  DataType dtype = in.dtype(in[0]);
  if (is_float(dtype)) return {reduced(in, "mean", in[0])};
  return {cast(call_op("trunc", {reduced(in, "mean", cast(in[0], DataType::Float(64)))}), dtype)};
}

Values euclidean_norm(Operation& in) { return {sqrt(reduced(in, "sum", multiply(in[0], in[0])))}; }

Converter arg_reduction(const char* op) {
  return [op](Operation& in) {
    Ints given = in.size() > 1 ? in.ints(1, "the axis") : Ints{in.integer("axis", 0)};
    const int axis = in.axis(given[0], in.rank(in[0]));
    Expr out = call_op(op, {in[0]}, make_attrs<ArgReduceAttrs>([&](auto& attrs) { attrs.axis = int_array({axis}); }));
    DataType dtype = in.type("output_type", DataType::Int(64));
    return Values{cast_if_needed(in, out, dtype)};
  };
}

Converter scan(const char* op) {
  return [op](Operation& in) {
    const int axis = in.axis(in.ints(1, "the axis")[0], in.rank(in[0]));
    const bool is_reversed = in.flag("reverse"), is_exclusive = in.flag("exclusive");
    auto turned = [&](const Expr& x) {
      if (!is_reversed) return x;
      return call_op("reverse", {x}, make_attrs<ReverseAttrs>([&](auto& attrs) { attrs.axis = PrimExpr(axis); }));
    };
    Expr out = call_op(op, {turned(in[0])}, make_attrs<ScanopAttrs>([&](auto& attrs) {
                         attrs.axis = PrimExpr(axis);
                         attrs.dtype = in.dtype(in[0]);
                         attrs.exclusive = bool_imm(is_exclusive);
                       }));
    return Values{turned(out)};
  };
}

Values softmax(Operation& in) { return {softmax_of(in[0], -1)}; }
Values log_softmax(Operation& in) {
  return {call_op("nn.log_softmax", {in[0]}, make_attrs<SoftmaxAttrs>([](auto& attrs) { attrs.axis = -1; }))};
}

/// The k greatest of the last axis, and where they are.
Values top_k(Operation& in) {
  std::optional<std::vector<int64_t>> k = in.size() > 1 ? in.constant_ints(in[1]) : Ints{in.integer("k", 1)};
  const DataType indices = in.type("index_type", DataType::Int(32));
  Expr both;
  auto fill = [&](auto& attrs) {
    attrs.axis = -1;
    attrs.ret_type = "both";
    attrs.is_ascend = false;
    attrs.dtype = indices;
    if (k) attrs.k = PrimExpr(static_cast<int>((*k)[0]));
  };
  if (k && k->size() != 1) in.invalid("k is one number");
  if (k) both = call_op("topk", {in[0]}, make_attrs<TopkAttrs>(fill));
  else
    both =
        call_op("dyn.topk", {in[0], cast_if_needed(in, in.scalar(1), DataType::Int(64))}, make_attrs<TopkAttrs>(fill));
  return {make_get_item(both, 0), make_get_item(both, 1)};
}

}  // namespace

Rows reduction_rows() {
  return {
      {"All", reduction("all")},
      {"Any", reduction("any")},
      {"ArgMax", arg_reduction("argmax")},
      {"ArgMin", arg_reduction("argmin")},
      {"Cumprod", scan("cumprod")},
      {"Cumsum", scan("cumsum")},
      {"EuclideanNorm", euclidean_norm},
      {"LogSoftmax", log_softmax},
      {"Max", reduction("max")},
      {"Mean", mean_of},
      {"Min", reduction("min")},
      {"Prod", reduction("prod")},
      {"Softmax", softmax},
      {"Sum", reduction("sum")},
      {"TopK", top_k, {"values", "indices"}},
      {"TopKV2", top_k, {"values", "indices"}},
  };
}

}  // namespace tessera::tensorflow

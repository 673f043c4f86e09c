// int8 as MXNet has it: beside a tensor lie the least and the greatest number that its integers stand for.

#include <cmath>

#include "frontend/common/parts.h"
#include "frontend/mxnet/mxnet.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::mxnet {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr float32(double value) { return make_scalar(value, DataType::Float(32)); }
Expr absolute(const Expr& x) { return call_op("abs", {x}); }
/// The number that the greatest integer stands for, and that integer: half a step more than it is, as oneDNN's part of MXNet
/// has it, where models on integers run.
Expr reach_of(const Expr& low, const Expr& high) { return reshape_to(maximum(absolute(low), absolute(high)), {}); }
Expr last_of(DataType dtype) {
  return float32(dtype == DataType::UInt(8) ? 255.5 : dtype == DataType::Int(8) ? 127.5 : 2147483647.0);
}
Expr to_numbers(const LayerNode& in, const Expr& x, const Expr& low, const Expr& high) {
  return multiply(cast(x, DataType::Float(32)), divide(reach_of(low, high), last_of(in.dtype(x))));
}
Expr to_integers(const Expr& x, const Expr& low, const Expr& high, DataType dtype) {
  Expr rounded = round_to_even(typed(multiply(x, divide(last_of(dtype), reach_of(low, high)))));
  return cast(dtype == DataType::UInt(8) ? clip(rounded, 0, 255) : clip(rounded, -128, 127), dtype);
}

struct Range {
  Expr low, high;
};
Range calibrated(const LayerNode& in, const Expr& x) {
  if (in.fields().has("min_calib_range") && in.fields().has("max_calib_range"))
    return {numbers_of({in.number("min_calib_range", 0)}, {1}, DataType::Float(32)),
            numbers_of({in.number("max_calib_range", 0)}, {1}, DataType::Float(32))};
  auto extreme = [&](const char* op) { return reshape_to(reduce(op, x, nullptr), {1}); };
  return {extreme("min"), extreme("max")};
}

Exprs quantized(LayerNode& in) {
  std::string type = in.text("out_type", "int8");
  Range range = in.size() > 2 ? Range{in[1], in[2]} : calibrated(in, in[0]);
  if (type == "auto") type = in.number("min_calib_range", -1) >= 0 ? "uint8" : "int8";
  const DataType dtype(type);
  Expr out = to_integers(in[0], range.low, range.high, dtype);
  if (dtype == DataType::UInt(8)) return {out, range.low, range.high};
  Expr limit = maximum(absolute(range.low), absolute(range.high));
  return {out, negative(limit), limit};
}
Exprs dequantized(LayerNode& in) { return {to_numbers(in, in[0], in[1], in[2])}; }

Exprs with_range(const LayerNode& in, Expr out, size_t first) { return {std::move(out), in[first], in[first + 1]}; }
Exprs flattened_integers(LayerNode& in) { return with_range(in, call_op("nn.batch_flatten", {in[0]}), 1); }
Exprs activated_integers(LayerNode& in) {
  if (in.text("act_type", "relu") != "relu") in.unsupported("the activation " + in.text("act_type"));
  return with_range(in, call_op("nn.relu", {in[0]}), 1);
}
Exprs pooled_integers(LayerNode& in) {
  GraphNode node = in.node();
  node.op = "Pooling";
  LayerNode floats(in.importer(), node, {typed(cast(in[0], DataType::Float(32)))});
  Expr out = converters().at("Pooling")(floats).at(0);
  return with_range(in, cast(round_to_even(typed(out)), in.dtype(in[0])), 1);
}
Exprs buffered_integers(LayerNode& in) {
  Expr out =
      call_op("nn.fifo_buffer", {in[0], in[1]},
              make_attrs<FIFOBufferAttrs>([&](auto& to) { to.axis = static_cast<int32_t>(in.integer("axis", 0)); }));
  return with_range(in, out, 2);
}
/// All parts in the steps of the widest.
Exprs concatenated_integers(LayerNode& in) {
  const size_t count = in.size() / 3;
  if (count == 0 || in.size() != 3 * count) in.invalid("it takes each tensor with two numbers of its range");
  Expr low, high;
  for (size_t i = 0; i < count; ++i) {
    const Expr &own_low = in[count + 2 * i], &own_high = in[count + 2 * i + 1];
    low = low.defined() ? minimum(low, own_low) : own_low, high = high.defined() ? maximum(high, own_high) : own_high;
  }
  Array<Expr> parts;
  for (size_t i = 0; i < count; ++i)
    parts.push_back(
        to_integers(to_numbers(in, in[i], in[count + 2 * i], in[count + 2 * i + 1]), low, high, in.dtype(in[0])));
  return {concatenate(parts, in.axis(in.integer("dim", 1), in.rank(in[0]))), low, high};
}
Exprs normed_integers(LayerNode& in) {
  GraphNode node = in.node();
  node.op = "BatchNorm";
  node.attributes.set("fix_gamma", String("False"));
  Exprs inputs{typed(to_numbers(in, in[0], in[5], in[6])), in[1], in[2], in[3], in[4]};
  LayerNode floats(in.importer(), node, inputs);
  Expr out = typed(converters().at("BatchNorm")(floats).at(0));
  Range range = calibrated(in, out);
  return {to_integers(out, range.low, range.high, DataType::Int(8)), range.low, range.high};
}

/// What oneDNN computes as one for MXNet: layers as a graph of their own. In floats; a part that keeps integers is rejected.
Exprs fused(LayerNode& in) {
  if (in.flag("quantized")) in.unsupported("layers on integers that MXNet fused for oneDNN");
  if (in.node().graphs.size() != 1) in.invalid("it holds no graph");
  return in.importer().import_graph(*in.node().graphs[0], in.inputs());
}

}  // namespace

LayerRows quantized_rows() {
  return {
      {"_contrib_dequantize", dequantized},
      {"_contrib_quantize", quantized},
      {"_contrib_quantize_v2", quantized},
      {"_contrib_quantized_act", activated_integers},
      {"_contrib_quantized_batch_norm", normed_integers},
      {"_contrib_quantized_concat", concatenated_integers},
      {"_contrib_quantized_flatten", flattened_integers},
      {"_contrib_quantized_pooling", pooled_integers},
      {"_contrib_quantized_ring_buffer", buffered_integers},
      {"_sg_mkldnn_conv", fused},
      {"_sg_mkldnn_fully_connected", fused},
  };
}

}  // namespace tessera::mxnet

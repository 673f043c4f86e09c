#include "frontend/onnx/minifloat.h"

#include <set>

#include "frontend/common/parts.h"
#include "relay/attrs/minifloat.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// Operators whose results hold elements of an input, and of which input.
size_t moved_input(std::string_view op) { return op == "Where" ? 1 : 0; }
bool moves_elements(const Node& node) {
  static const std::set<std::string_view> movers{
      "Compress",       "Concat",   "DepthToSpace", "Expand",          "Flatten",   "Gather",
      "GatherElements", "GatherND", "Reshape",      "ReverseSequence", "Slice",     "SpaceToDepth",
      "Split",          "Squeeze",  "Tile",         "Transpose",       "Unsqueeze", "Where"};
  return node.domain.empty() && movers.count(node.op);
}

/// Operators that look at what a value says of itself, or pass it on as it is.
bool knows_minifloats(const Node& node) {
  static const std::set<std::string_view> knowing{"BitCast",
                                                  "Cast",
                                                  "CastLike",
                                                  "DequantizeLinear",
                                                  "If",
                                                  "Identity",
                                                  "Optional",
                                                  "OptionalGetElement",
                                                  "OptionalHasElement",
                                                  "QuantizeLinear",
                                                  "SequenceAt",
                                                  "SequenceConstruct",
                                                  "SequenceErase",
                                                  "SequenceInsert",
                                                  "SequenceLength",
                                                  "Shape",
                                                  "Size"};
  return knowing.count(node.op) && (node.domain.empty() || node.domain == "ai.onnx");
}

ElementType minifloat_in(const Value& value) {
  if (is_minifloat(value.element)) return value.element;
  if (value.sequence)
    for (const Value& item : *value.sequence)
      if (ElementType found = minifloat_in(item); found != ElementType::Undefined) return found;
  return ElementType::Undefined;
}

}  // namespace

void check_small_inputs(const Node& node, const Values& inputs) {
  for (const Value& value : inputs) {
    ElementType found = minifloat_in(value);
    if (found == ElementType::Undefined || knows_minifloats(node)) continue;
    if (moves_elements(node) && !value.sequence) {
      for (size_t i = moved_input(node.op); i < inputs.size(); ++i)
        if (is_minifloat(inputs[i].element) && inputs[i].element != found)
          throw Error(ValueError) << std::string(node.op) << " of " << element_name(found) << " and "
                                  << element_name(inputs[i].element);
      continue;
    }
    throw Error(OpNotImplemented) << std::string(node.op) << " of " << element_name(found)
                                  << " is not supported; cast it first";
  }
}

void mark_small_outputs(const Node& node, const Values& inputs, Values* outputs) {
  size_t from = moved_input(node.op);
  if (!moves_elements(node) || inputs.size() <= from) return;
  for (Value& output : *outputs)
    if (output.tensor.defined()) output.element = inputs[from].element;
}

Expr as_numbers(const Value& value) {
  if (!is_minifloat(value.element)) return value.tensor;
  return call_op("small_float_decode", {value.tensor},
                 make_attrs<MinifloatAttrs>([&](auto& attrs) { attrs.format = minifloat_name(value.element); }));
}

Value as_minifloat(Operation& in, Expr x, ElementType to, bool saturates, const std::string& rounding) {
  DataType from = in.dtype(x);
  // Integers and long floats are rounded once: all that a format holds is far from the ends of a float64.
  bool is_long = from.bits > 16 && from != DataType::Float(32);
  x = cast_if_needed(in, x, DataType::Float(is_long ? 64 : 32));
  Value out(call_op("small_float_encode", {x}, make_attrs<MinifloatAttrs>([&](auto& attrs) {
                      attrs.format = minifloat_name(to);
                      attrs.saturate = saturates;
                      attrs.rounding = rounding;
                    })));
  out.element = to;
  return out;
}

}  // namespace tessera::onnx

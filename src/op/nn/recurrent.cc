// Recurrent layers: all steps in one operator.

#include "op/nn/recurrent.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "op/records.h"

namespace tessera::op {
namespace {

using relay::RecurrentAttrs;

register_types<RecurrentAttrs> recurrent_attributes;

constexpr int kNumInputs = 11;
const char* const kRecurrentInputs[kNumInputs] = {"data",         "weight",      "reset_weight", "recurrent_bias",
                                                  "peepholes",    "initial_h",   "initial_c",    "lengths",
                                                  "weight_scale", "weight_sums", "weight_zero"};

topi::RecurrentCell cell_of(const RecurrentAttrs* attrs) {
  if (attrs->cell == "rnn") return topi::RecurrentCell::RNN;
  if (attrs->cell == "gru") return topi::RecurrentCell::GRU;
  if (attrs->cell == "lstm") return topi::RecurrentCell::LSTM;
  throw Error(TypeError) << "cell must be rnn, gru or lstm, but is \"" << attrs->cell << "\"";
}

double value_of(const PrimExpr& number) {
  if (auto* value = number.as<FloatImm>()) return value->value;
  if (auto* value = number.as<IntImm>()) return static_cast<double>(value->value);
  throw Error(TypeError) << "alphas and betas of activations must be constants";
}

std::string known_inputs() {
  std::string out;
  for (const char* name : kRecurrentInputs) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

/// The index in the call's tuple of each input there may be, or -1.
std::vector<int> indices_of_inputs(const RecurrentAttrs* attrs, size_t given) {
  std::vector<int> out(kNumInputs, -1);
  for (size_t i = 0; i < attrs->inputs.size(); ++i) {
    auto it = std::find_if(std::begin(kRecurrentInputs), std::end(kRecurrentInputs),
                           [&](const char* name) { return attrs->inputs[i] == name; });
    if (it == std::end(kRecurrentInputs))
      throw Error(TypeError) << "\"" << attrs->inputs[i] << "\" is no input; there are " << known_inputs();
    out[static_cast<size_t>(it - std::begin(kRecurrentInputs))] = static_cast<int>(i);
  }
  if (attrs->inputs.size() != given || out[0] < 0 || out[1] < 0)
    throw Error(TypeError) << "`inputs` must name all " << given << " tensors of the call, data and weight among them";
  return out;
}

void require_shape(const Type& type, const char* name, const Array<PrimExpr>& shape) {
  auto* tensor = type.as<TensorTypeNode>();
  bool fits = tensor && tensor->shape.size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) fits = relay::may_equal(tensor->shape[i], shape[i]);
  if (fits) return;
  throw Error(TypeError) << name << " must have the shape " << to_text(shape) << ", but is " << to_text(type);
}

bool recurrent_type(TypeQuery& query) {
  auto* attrs = query.attrs_as<RecurrentAttrs>();
  auto* given = query.tuple(0);
  if (!given || !query.is_known(0)) return false;
  const Array<Type>& types = given->fields_;
  const std::vector<int> at = indices_of_inputs(attrs, types.size());
  auto type = [&](size_t input) -> Type { return types[static_cast<size_t>(at[input])]; };
  const topi::RecurrentLayer layer = recurrent_layer(attrs);
  auto *data = type(0).as<TensorTypeNode>(), *weight = type(1).as<TensorTypeNode>();
  if (!data || rank_of(data) != 3)
    throw Error(TypeError) << "data must be (steps, batch, columns), but is " << to_text(type(0));
  if (!weight || rank_of(weight) != 5)
    throw Error(TypeError) << "weight must be (directions, blocks, hidden, gates, block), but is " << to_text(type(1));
  int64_t extents[5];
  for (int i = 0; i < 5; ++i) {
    const int64_t* extent = as_int(weight->shape[i]);
    if (!extent || *extent < 1) throw Error(TypeError) << "weight must have fixed extents, but is " << to_text(type(1));
    extents[i] = *extent;
  }
  const bool is_int8 = weight->dtype == DataType::Int(8);
  const auto [directions, blocks, depth, weights, lanes] = extents;
  const int64_t hidden = is_int8 ? layer.hidden : depth, block = is_int8 ? lanes / 4 : lanes;
  const int64_t gates = topi::gates_of(layer.cell), of_state = layer.resets_first() ? 2 : gates;
  if (directions != layer.directions || weights != of_state || block < 1 || hidden < 1 ||
      blocks != topi::ceil_div(hidden, block) || (is_int8 && (depth != topi::ceil_div(hidden, 4) || lanes % 4 != 0)))
    throw Error(TypeError) << "weight must be (" << layer.directions << ", ceildiv(hidden, block), "
                           << (is_int8 ? "ceildiv(hidden, 4), " : "hidden, ") << of_state
                           << (is_int8 ? ", 4 * block)" : ", block)") << ", but is " << to_text(type(1));
  if ((at[2] >= 0) != layer.resets_first())
    throw Error(TypeError) << "reset_weight is for a GRU without linear_before_reset, which must have it";
  if ((at[8] >= 0) != is_int8 || (at[9] >= 0) != is_int8 || (is_int8 && layer.resets_first()))
    throw Error(TypeError) << "weight_scale and weight_sums are for int8 weights, which must have them and take no "
                              "reset before their matmul";
  const bool is_wide = data->dtype == weight->dtype && data->dtype == DataType::Float(64);
  if (!(weight->dtype.is_floating() || is_int8) || !(is_wide || data->dtype == DataType::Float(32)) ||
      (weight->dtype.bits > 32 && !is_wide))
    throw Error(TypeError) << "data must be float32, and weight float32 or narrower, or both float64, but they are "
                           << data->dtype << " and " << weight->dtype;
  auto extent = [](int64_t value) { return PrimExpr(static_cast<int>(value)); };
  const PrimExpr &steps = data->shape[0], &batch = data->shape[1], ways = extent(directions), units = extent(hidden);
  require_shape(type(0), "data", {steps, batch, extent(directions * blocks * gates * block)});
  if (at[2] >= 0) require_shape(type(2), "reset_weight", {ways, extent(blocks), units, extent(1), extent(block)});
  if (at[3] >= 0) require_shape(type(3), "recurrent_bias", {ways, extent(blocks), extent(block)});
  if (at[4] >= 0) require_shape(type(4), "peepholes", {ways, extent(blocks), extent(3), extent(block)});
  for (size_t i : {5, 6})
    if (at[i] >= 0) require_shape(type(i), kRecurrentInputs[i], {ways, batch, units});
  for (size_t i : {8, 9, 10})
    if (at[i] >= 0) require_shape(type(i), kRecurrentInputs[i], {ways, extent(blocks), extent(gates), extent(block)});
  if (at[7] >= 0) {
    require_shape(type(7), "lengths", {batch});
    if (!type(7).as<TensorTypeNode>()->dtype.is_integral())
      throw Error(TypeError) << "lengths must be integers, but is " << to_text(type(7));
  }
  const DataType dtype = is_int8 ? data->dtype : weight->dtype;
  const Type last = TensorType({ways, batch, units}, dtype);
  Array<Type> results{TensorType({steps, ways, batch, units}, dtype), last};
  if (layer.cell == topi::RecurrentCell::LSTM) results.push_back(last);
  query.result(tuple_type(results));
  return true;
}

}  // namespace

topi::RecurrentLayer recurrent_layer(const RecurrentAttrs* attrs) {
  topi::RecurrentLayer out;
  out.cell = cell_of(attrs);
  if (attrs->direction != "forward" && attrs->direction != "reverse" && attrs->direction != "bidirectional")
    throw Error(TypeError) << "direction must be forward, reverse or bidirectional, but is \"" << attrs->direction
                           << "\"";
  out.directions = attrs->direction == "bidirectional" ? 2 : 1;
  out.is_reversed = attrs->direction == "reverse";
  out.clip = attrs->clip;
  out.linear_before_reset = attrs->linear_before_reset;
  out.input_forget = attrs->input_forget;
  out.hidden = attrs->hidden_size;
  const size_t count = topi::activations_of(out.cell) * static_cast<size_t>(out.directions);
  if (attrs->activations.size() != count || attrs->activation_alpha.size() != count ||
      attrs->activation_beta.size() != count)
    throw Error(TypeError) << "this layer has " << count << " activations, each with an alpha and a beta";
  for (size_t i = 0; i < count; ++i) {
    out.activations.push_back(
        {attrs->activations[i].str(), value_of(attrs->activation_alpha[i]), value_of(attrs->activation_beta[i])});
    if (!topi::is_recurrent_activation(out.activations.back().name))
      throw Error(TypeError) << "\"" << attrs->activations[i] << "\" is no activation of recurrent layers; there are "
                             << topi::recurrent_activations();
  }
  return out;
}

topi::RecurrentInputs recurrent_inputs(const RecurrentAttrs* attrs, const Tensors& tensors) {
  const std::vector<int> at = indices_of_inputs(attrs, tensors.size());
  auto get = [&](size_t input) { return at[input] < 0 ? te::Tensor() : tensors[static_cast<size_t>(at[input])]; };
  return {get(0), get(1), get(2), get(3), get(4), get(5), get(6), get(7), get(8), get(9), get(10)};
}

static void recurrent_records() {
  OpRecord("nn.recurrent")
      .doc(
          "A recurrent layer (RNN, GRU, LSTM) over all steps, in one or both directions, as ONNX defines it. `inputs` "
          "names "
          "the tensors of the tuple: data (steps, batch, directions * blocks * gates * block), what the gates get from "
          "the "
          "data, with biases; weight (directions, blocks, hidden, gates, block), by which the state is multiplied; "
          "reset_weight, of the last gate of a GRU without linear_before_reset, of which weight has the others; "
          "recurrent_bias (directions, blocks, block) of a GRU with it; peepholes (directions, blocks, 3, block); "
          "initial_h "
          "and initial_c (directions, batch, hidden); lengths (batch), limited to [0, steps]. Units lie in blocks, the "
          "last "
          "of which may have padding. Weights of int8 (directions, blocks, ceildiv(hidden_size, 4), gates, 4 * block) "
          "multiply the state quantised to uint8 by its range in each step; weight_scale, weight_sums and weight_zero "
          "(directions, blocks, gates, block) are the scales of their columns, the sums of columns less zero points, "
          "and "
          "those. Gives (steps, directions, batch, hidden), the last states and, of an LSTM, the last cells.")
      .attrs<RecurrentAttrs>()
      .input("data", "the tensors that `inputs` names", "Tuple of Tensors")
      .support_level(10)
      .type("Recurrent", recurrent_type)
      .fusion(Fusion::Opaque)
      .gradient(recurrent_gradient)
      .legalize(recurrent_on_target)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        auto* recurrent = attrs.as<RecurrentAttrs>();
        return topi::recurrent(recurrent_layer(recurrent), recurrent_inputs(recurrent, in));
      });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily recurrent_family{recurrent_records};

}  // namespace tessera::op

// A recurrent layer written out step by step, for its gradient and for targets whose kernels do not take all steps.

#include "op/nn/recurrent.h"
#include "relay/attrs/index.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/transform/function/normal_form.h"
#include "relay/transform/gradient/gradient.h"
#include "relay/walk.h"

namespace tessera::op {
namespace {

using namespace relay;

constexpr int64_t kMaxExpandedSteps = 64;  // where a kernel for all of them is there too

Expr activated_call(const topi::RecurrentActivation& by, const Expr& x, DataType dtype) {
  auto number = [dtype](double value) { return make_scalar(value, dtype); };
  const std::string& name = by.name;
  if (name == "tanh") return tanh(x);
  if (name == "sigmoid") return sigmoid(x);
  if (name == "relu") return maximum(x, number(0));
  if (name == "softsign") return divide(x, add(number(1), call_op("abs", {x})));
  if (name == "softplus") return add(maximum(x, number(0)), log(add(number(1), exp(negative(call_op("abs", {x}))))));
  if (name == "affine") return add(multiply(x, number(by.alpha)), number(by.beta));
  if (name == "leakyrelu") return where(less(x, number(0)), multiply(x, number(by.alpha)), x);
  if (name == "thresholdedrelu") return where(less(x, number(by.alpha)), number(0), x);
  if (name == "scaledtanh") return multiply(number(by.alpha), tanh(multiply(number(by.beta), x)));
  if (name == "hardsigmoid") return clip(add(multiply(x, number(by.alpha)), number(by.beta)), 0, 1);
  ICHECK(name == "elu") << "the type of a recurrent layer checks its activations";
  Expr below = multiply(number(by.alpha), subtract(exp(minimum(x, number(0))), number(1)));
  return where(less(x, number(0)), below, x);
}

/// The layer of a call of fixed steps and float weights. Gates and states are (batch, hidden).
class ExpandedRecurrent {
 public:
  ExpandedRecurrent(const RecurrentAttrs* attrs, const Array<Expr>& inputs, const Array<Type>& types)
      : layer_(recurrent_layer(attrs)), gates_(topi::gates_of(layer_.cell)) {
    auto* data = types[0].as<TensorTypeNode>();
    for (size_t i = 0; i < attrs->inputs.size(); ++i) {
      inputs_.emplace(attrs->inputs[i].str(), inputs[i]);
      if (attrs->inputs[i] == "data") data = types[i].as<TensorTypeNode>();
      if (attrs->inputs[i] != "weight") continue;
      auto* weight = types[i].as<TensorTypeNode>();
      blocks_ = *as_int(weight->shape[1]), hidden_ = *as_int(weight->shape[2]), block_ = *as_int(weight->shape[4]);
      dtype_ = weight->dtype;
    }
    sum_ = data->dtype;
    steps_ = *as_int(data->shape[0]);
  }

  int64_t steps() const { return steps_; }

  /// The results, as a tuple.
  Expr run() {
    Array<Expr> outputs, last_h, last_c;
    for (int64_t d = 0; d < layer_.directions; ++d) {
      activations_ = layer_.activations.data() + static_cast<size_t>(d) * topi::activations_of(layer_.cell);
      one_way(d, layer_.is_reversed || d == 1, &outputs, &last_h, &last_c);
    }
    auto finished = [&](const Array<Expr>& parts, int axis) { return to_result(stack(parts, axis)); };
    Array<Expr> results{finished(outputs, 1), finished(last_h, 0)};
    if (layer_.cell == topi::RecurrentCell::LSTM) results.push_back(finished(last_c, 0));
    return make_tuple(results);
  }

 private:
  bool has(const char* name) const { return inputs_.count(name) > 0; }
  Expr to_result(const Expr& x) const { return dtype_ == sum_ ? x : cast(x, dtype_); }
  Expr as_sum(const Expr& x) const { return dtype_ == sum_ ? x : cast(x, sum_); }
  Expr number(double value) const { return make_scalar(value, sum_); }
  Expr of_direction(const char* name, int64_t d) const {
    return squeeze(slice_axis(inputs_.at(name), 0, d, d + 1), int_array({0}));
  }
  Expr limited(const Expr& x) const { return layer_.clip > 0 ? clip(x, -layer_.clip, layer_.clip) : x; }
  Expr active(size_t i, const Expr& x) const { return activated_call(activations_[i], limited(x), sum_); }
  Expr gate(const Expr& x, int64_t i) const { return slice_axis(x, -1, i * hidden_, (i + 1) * hidden_); }

  /// (blocks, parts, block) to (parts * hidden).
  Expr units(const Expr& x, int64_t parts) const {
    Expr out = reshape(transpose(as_sum(x), int_array({1, 0, 2})), int_array({parts, blocks_ * block_}));
    return reshape(slice_axis(out, 1, 0, hidden_), int_array({parts * hidden_}));
  }
  /// (blocks, hidden, gates, block) to (gates * hidden, hidden).
  Expr weights(const Expr& x, int64_t gates) const {
    Expr out = transpose(as_sum(x), int_array({2, 0, 3, 1}));
    out = slice_axis(reshape(out, int_array({gates, blocks_ * block_, hidden_})), 1, 0, hidden_);
    return reshape(out, int_array({gates * hidden_, hidden_}));
  }
  /// Of one direction, (steps, batch, gates * hidden).
  Expr data(int64_t d) const {
    const int64_t width = blocks_ * block_, columns = gates_ * width;
    Expr out = slice_axis(inputs_.at("data"), 2, d * columns, (d + 1) * columns);
    out = transpose(reshape(out, int_array({0, 0, blocks_, gates_, block_})), int_array({0, 1, 3, 2, 4}));
    out = slice_axis(reshape(out, int_array({0, 0, gates_, width})), 3, 0, hidden_);
    return reshape(out, int_array({0, 0, gates_ * hidden_}));
  }
  Expr turned(const Expr& x, const Expr& lengths) const {
    if (!lengths) return call_op("reverse", {x}, make_attrs<ReverseAttrs>([](auto& a) { a.axis = PrimExpr(0); }));
    return call_op("reverse_sequence", {x, lengths}, make_attrs<ReverseSequenceAttrs>([](auto& a) {
                     a.seq_axis = 0;
                     a.batch_axis = 1;
                   }));
  }
  static Expr linear(const Expr& x, const Expr& weight) {
    return call_op(ops::dense, {x, weight}, make_attrs<DenseAttrs>([](auto&) {}));
  }

  void one_way(int64_t d, bool is_reversed, Array<Expr>* outputs, Array<Expr>* last_h, Array<Expr>* last_c) {
    weight_ = weights(of_direction("weight", d), layer_.resets_first() ? 2 : gates_);
    if (has("reset_weight")) reset_weight_ = weights(of_direction("reset_weight", d), 1);
    if (has("recurrent_bias")) bias_ = units(expand_dims(of_direction("recurrent_bias", d), 1), 1);
    if (has("peepholes")) peepholes_ = units(of_direction("peepholes", d), 3);
    Expr lengths;
    if (has("lengths")) {
      lengths = cast(inputs_.at("lengths"), DataType::Int(64));
      lengths = minimum(maximum(lengths, make_scalar(0, DataType::Int(64))),
                        make_scalar(static_cast<double>(steps_), DataType::Int(64)));
    }
    Expr all = data(d);
    if (is_reversed) all = turned(all, lengths);
    auto first = [&](const char* name) {
      if (has(name)) return as_sum(of_direction(name, d));
      return zeros_like(gate(squeeze(slice_axis(all, 0, 0, 1), int_array({0})), 0));
    };
    Expr h = first("initial_h"), c = layer_.cell == topi::RecurrentCell::LSTM ? first("initial_c") : Expr();
    Array<Expr> rows;
    for (int64_t t = 0; t < steps_; ++t) {
      Expr before = h, before_c = c;
      cell(squeeze(slice_axis(all, 0, t, t + 1), int_array({0})), &h, &c);
      Expr row = h;
      if (lengths) {  // past its end a sequence keeps its state and gives zeros
        Expr goes_on = expand_dims(less(make_scalar(static_cast<double>(t), DataType::Int(64)), lengths), 1);
        row = where(goes_on, h, number(0));
        h = where(goes_on, h, before);
        if (c) c = where(goes_on, c, before_c);
      }
      rows.push_back(row);
    }
    Expr output = stack(rows, 0);
    outputs->push_back(is_reversed ? turned(output, lengths) : output);
    last_h->push_back(h);
    last_c->push_back(c);
  }

  void cell(const Expr& x, Expr* h, Expr* c) const {
    if (layer_.cell == topi::RecurrentCell::RNN) {
      *h = active(0, add(x, linear(*h, weight_)));
    } else if (layer_.cell == topi::RecurrentCell::GRU) {
      *h = gru(x, *h);
    } else {
      lstm(x, h, c);
    }
  }
  Expr gru(const Expr& x, const Expr& h) const {
    Expr sums = linear(h, weight_);
    Expr update = active(0, add(gate(x, 0), gate(sums, 0))), reset = active(0, add(gate(x, 1), gate(sums, 1)));
    Expr inner;
    if (layer_.resets_first()) inner = linear(multiply(reset, h), reset_weight_);
    else inner = multiply(reset, bias_ ? add(gate(sums, 2), bias_) : gate(sums, 2));
    Expr fresh = active(1, add(gate(x, 2), inner));
    return add(multiply(subtract(number(1), update), fresh), multiply(update, h));
  }
  void lstm(const Expr& x, Expr* h, Expr* c) const {
    Expr sums = add(x, linear(*h, weight_));
    auto peek = [&](int64_t i, const Expr& seen) {
      Expr out = gate(sums, i);
      return active(0, peepholes_ ? add(out, multiply(gate(peepholes_, i), seen)) : out);
    };
    Expr input = peek(0, *c);
    Expr forget = layer_.input_forget ? subtract(number(1), input) : peek(2, *c);
    *c = add(multiply(forget, *c), multiply(input, active(1, gate(sums, 3))));
    *h = multiply(peek(1, *c), activated_call(activations_[2], *c, sum_));
  }

  topi::RecurrentLayer layer_;
  int64_t gates_, blocks_ = 0, hidden_ = 0, block_ = 0, steps_ = 0;
  DataType dtype_, sum_;
  std::unordered_map<std::string, Expr> inputs_;
  const topi::RecurrentActivation* activations_ = nullptr;
  Expr weight_, reset_weight_, bias_, peepholes_;
};

/// Steps that are a number of at least one, and weights that are floats.
bool can_expand(const RecurrentAttrs* attrs, const Array<Type>& types) {
  for (size_t i = 0; i < attrs->inputs.size(); ++i) {
    auto* type = types[i].as<TensorTypeNode>();
    if (attrs->inputs[i] == "data" && (!as_int(type->shape[0]) || *as_int(type->shape[0]) < 1)) return false;
    if (attrs->inputs[i] == "weight" && !type->dtype.is_floating()) return false;
  }
  return true;
}

Array<Expr> fields_of(const Expr& tuple, size_t count) {
  if (auto* given = tuple.as<relay::Tuple>()) return given->fields_;
  Array<Expr> out;
  for (size_t i = 0; i < count; ++i) out.push_back(make_get_item(tuple, static_cast<int>(i)));
  return out;
}

}  // namespace

/// The gradient of the sum of results times g, for parameters g.
Array<Expr> recurrent_gradient(const Expr& expr, const Expr& grad) {
  auto* call = expr.as<relay::Call>();
  auto* attrs = call->attrs_as<RecurrentAttrs>();
  const Array<Type> types = checked_type(call->args[0]).as<TupleType>()->fields_;
  const Array<Type> results = checked_type(expr).as<TupleType>()->fields_;
  if (!can_expand(attrs, types))
    throw Error(NotImplementedError)
        << "nn.recurrent has a gradient only for a number of steps that is known and weights that are floats";
  Array<relay::Var> params;
  Array<Expr> vars, values;
  auto param = [&](const Type& type, const Expr& value) -> Expr {
    params.push_back(make_local("x" + std::to_string(params.size()), type));
    values.push_back(value);
    return params.back();
  };
  const Array<Expr> inputs = fields_of(call->args[0], types.size()), gradients = fields_of(grad, results.size());
  for (size_t i = 0; i < types.size(); ++i) vars.push_back(param(types[i], inputs[i]));
  const Expr expanded = ExpandedRecurrent(attrs, vars, types).run();
  Expr total;
  for (size_t i = 0; i < results.size(); ++i) {
    Expr part = relay::sum(multiply(expanded.as<relay::Tuple>()->fields_[i], param(results[i], gradients[i])));
    total = total ? add(total, part) : part;
  }
  Function backward = first_order_gradient(make_function(params, total), IRModule());
  Map<relay::Var, Expr> by_param;
  for (size_t i = 0; i < values.size(); ++i) by_param.set(backward->params[i], values[i]);
  const Expr both = to_graph_normal_form(bind(backward->body, by_param));
  auto* all = both.as<relay::Tuple>()->fields_[1].as<relay::Tuple>();
  Array<Expr> out;
  for (size_t i = 0; i < types.size(); ++i) out.push_back(all->fields_[i]);
  return {make_tuple(out)};
}

Expr recurrent_on_target(const Op&, const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
                         const GraphEnvironment& environment) {
  if (!environment.target || !environment.target.has_key("gpu")) return nullptr;
  auto* layer = attrs.as<RecurrentAttrs>();
  const Array<Type> fields = types[0].as<TupleType>()->fields_;
  if (!can_expand(layer, fields)) return nullptr;
  ExpandedRecurrent expanded(layer, fields_of(args[0], fields.size()), fields);
  return expanded.steps() <= kMaxExpandedSteps ? expanded.run() : Expr();
}

}  // namespace tessera::op

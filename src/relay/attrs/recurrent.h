#pragma once
// Attributes of recurrent layers.

#include "ir/attrs.h"
#include "ir/prim/expr.h"

namespace tessera::relay {

/// `inputs` names the tensors that a call is given. Activations are those of one direction after the other, each with its alpha and
/// beta.
struct RecurrentAttrs : AttrsNode {
  String cell, direction = "forward";
  Array<String> inputs, activations;
  Array<PrimExpr> activation_alpha, activation_beta;
  double clip = 0;  // what goes into activations is limited to [-clip, clip]; 0: it is not
  bool linear_before_reset = false, input_forget = false;
  int32_t hidden_size = 0;  // where the weights do not tell: those of int8
  static constexpr NodeInfo info{"relay.attrs.RecurrentAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("cell", &RecurrentAttrs::cell);
    f("inputs", &RecurrentAttrs::inputs);
    f("activations", &RecurrentAttrs::activations);
    f("activation_alpha", &RecurrentAttrs::activation_alpha);
    f("activation_beta", &RecurrentAttrs::activation_beta);
    f("direction", &RecurrentAttrs::direction);
    f("clip", &RecurrentAttrs::clip);
    f("linear_before_reset", &RecurrentAttrs::linear_before_reset);
    f("input_forget", &RecurrentAttrs::input_forget);
    f("hidden_size", &RecurrentAttrs::hidden_size);
  }
};

}  // namespace tessera::relay

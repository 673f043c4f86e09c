#pragma once
// What the attributes of nn.recurrent say, for its record and for the rule of its kernel.

#include "op/rules.h"
#include "relay/attrs/recurrent.h"
#include "relay/graph_environment.h"
#include "topi/cpu/recurrent.h"

namespace tessera::op {

topi::RecurrentLayer recurrent_layer(const relay::RecurrentAttrs* attrs);
topi::RecurrentInputs recurrent_inputs(const relay::RecurrentAttrs* attrs, const Tensors& tensors);

/// By the layer written out step by step; an error where the steps are not a number.
Array<relay::Expr> recurrent_gradient(const relay::Expr& call, const relay::Expr& gradient);
/// The same for GPUs, where a kernel for all steps would be one thread; empty for other targets and for many steps.
relay::Expr recurrent_on_target(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args,
                                const Array<Type>& types, const relay::GraphEnvironment& environment);

}  // namespace tessera::op

#pragma once
// What the attributes of nn.recurrent say, for its record and for the rule of its kernel.

#include "op/rules.h"
#include "relay/attrs/recurrent.h"
#include "topi/cpu/recurrent.h"

namespace tessera::op {

topi::RecurrentLayer recurrent_layer(const relay::RecurrentAttrs* attrs);
topi::RecurrentInputs recurrent_inputs(const relay::RecurrentAttrs* attrs, const Tensors& tensors);

}  // namespace tessera::op

#pragma once
// What the attributes of nn.matmul_nbits say, for its record and for the rule of its kernel.

#include "op/rules.h"
#include "relay/attrs/matmul_nbits.h"
#include "topi/nn/matmul_nbits.h"

namespace tessera::op {

topi::NBitsMatmul nbits_matmul_of(const relay::MatmulNBitsAttrs* attrs, const Tensors& inputs);

}  // namespace tessera::op

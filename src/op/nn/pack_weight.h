#pragma once
// Constant weights as matmuls on CPUs read them.

#include "relay/graph_environment.h"

namespace tessera::op {

/// A dense layer or matmul with a constant weight as one with the weight in the panels that they read.
relay::Expr pack_weight(const Attrs& attrs, const Array<relay::Expr>& args, const Array<ObjectRef>& placeholders,
                        const Type& type, const relay::GraphEnvironment& environment);

}  // namespace tessera::op

#pragma once
// The activations of recurrent layers, as ONNX has them.

#include <string>

#include "ir/prim/expr.h"

namespace tessera::topi {

struct RecurrentActivation {
  std::string name;  // in lower case
  double alpha = 0, beta = 0;
  bool operator==(const RecurrentActivation&) const = default;
};
PrimExpr activated(const RecurrentActivation& by, const PrimExpr& x);

/// The names there are, for messages.
std::string recurrent_activations();
bool is_recurrent_activation(const std::string& name);

}  // namespace tessera::topi

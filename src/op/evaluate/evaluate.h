#pragma once
// Operators on constants while a model is compiled, by loops of the compiler itself: a kernel that runs once is not worth
// compiling. Weights are moved (layouts, transposes, padding), scaled and given Winograd's form; what is rarer is
// compiled as before.

#include <vector>

#include "relay/expr.h"

namespace tessera::op {

/// The call's result on these tensors of the host, by the loop that the operator has in its slot (kEvaluate in
/// relay/slots.h); null where it has none for the attributes or types.
NDArray evaluate(const relay::Call* call, const std::vector<NDArray>& args);

/// Loops for the slot, one file a group; each gives null for what it does not do.
NDArray evaluate_view(const relay::Call* call, const std::vector<NDArray>& args);
NDArray evaluate_transpose(const relay::Call* call, const std::vector<NDArray>& args);
NDArray evaluate_broadcast(const relay::Call* call, const std::vector<NDArray>& args);
NDArray evaluate_layout_transform(const relay::Call* call, const std::vector<NDArray>& args);
NDArray evaluate_pad(const relay::Call* call, const std::vector<NDArray>& args);
NDArray evaluate_concatenate(const relay::Call* call, const std::vector<NDArray>& args);
NDArray evaluate_arithmetic(const relay::Call* call, const std::vector<NDArray>& args);
NDArray evaluate_winograd_weight(const relay::Call* call, const std::vector<NDArray>& args);

/// An undefined tensor of the call's type.
NDArray result_of(const relay::Call* call);

}  // namespace tessera::op

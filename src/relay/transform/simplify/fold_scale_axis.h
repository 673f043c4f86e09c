#pragma once
// What ForwardFoldScaleAxis and BackwardFoldScaleAxis share: which operators let a scale pass, and how it meets a weight.

#include <optional>
#include <vector>

#include "relay/slots.h"

namespace tessera::relay {

/// A value may be scaled along these axes, one factor for each combination of their indices.
struct ScaleMessage {
  std::vector<int> axes;
  bool require_positive = false;  // the factors must be > 0
};
using MaybeScale = std::optional<ScaleMessage>;

/// The factors, one dimension per axis, when `factor` broadcasts against a tensor like `data` along `axes` only; empty
/// when it does not, or when the message asks for positive ones and these are not known to be.
Expr factors_along(const Expr& data, const Expr& factor, const ScaleMessage& message);
/// True when `other` varies along `axes` only, seen from `data`.
bool broadcasts_along(const Expr& data, const Expr& other, const std::vector<int>& axes);

/// f(x * s) = f(x) * s for s > 0.
bool keeps_positive_scale(const Call* call);
bool is_sum(const Call* call);  // add, subtract

/// An axis, with that within its blocks where it has one: in which a scale of channels has its dimensions.
inline std::vector<int> with_block(int axis, int block) {
  return block < 0 ? std::vector<int>{axis} : std::vector<int>{axis, block};
}

/// The channels of a layer whose weight may be scaled; nothing for other calls.
std::optional<LayerChannels> scaled_layer(const Call* call);

}  // namespace tessera::relay

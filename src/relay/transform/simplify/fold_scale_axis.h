#pragma once
// What ForwardFoldScaleAxis and BackwardFoldScaleAxis share: which operators let a scale pass, and how it meets a weight.

#include <optional>
#include <vector>

#include "relay/expr.h"

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

/// nn.relu and nn.leaky_relu: f(x * s) = f(x) * s for s > 0.
bool keeps_positive_scale(const Call* call);
bool is_sum(const Call* call);  // add, subtract

/// A convolution or matmul as its scales see it.
struct ScaledLayer {
  int in_axis, out_axis;      // of data and of the result
  int weight_in, weight_out;  // axes of the weight; weight_in is weight_out where channels are kept apart
  int weight_rank;
};
/// Nothing for other operators, and where the layouts hold channels in blocks.
std::optional<ScaledLayer> scaled_layer(const Call* call);

}  // namespace tessera::relay

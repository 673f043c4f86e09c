#pragma once
// Where two sides first disagree, layer by layer.

#include <optional>

#include "driver/cli/diff/compare.h"
#include "driver/cli/diff/sides.h"

namespace tessera::cli {

struct LayerDifference {
  LayerInfo layer;
  size_t index = 0, count = 0;  // which of how many layers that both have
  std::vector<int64_t> shape;
  std::string dtype;
  Difference difference;
  double error_before = 0;  // the largest absolute error of the layers before it
  /// It shows only in programs that keep few values: found by bisection, which takes for granted that what comes after a
  /// wrong layer is wrong too.
  bool by_bisection = false;
};

/// The layers that both sides have, in the order of the computation.
std::vector<LayerInfo> common_layers(Side& a, Side& b);

/// The first of these layers that disagrees. All of them are computed by programs that keep every layer (in groups of at most
/// `kMaxBytes`). Keeping a value hinders fusion, so that a fault of fusion may not show; then programs are tried that keep
/// one layer each.
std::optional<LayerDifference> first_difference(Side& a, Side& b, const std::vector<LayerInfo>& layers,
                                                const NamedTensors& inputs, const Tolerance& tolerance,
                                                bool outputs_differ);

}  // namespace tessera::cli

#pragma once
// Models that are lists of layers: imported, and looked at as `tessera inspect` does, which goes on where a node is rejected.

#include "expect_error.h"
#include "frontend/graph/importer.h"

/// Inputs without a shape get one.
inline void import_layers(tessera::frontend::GraphModel model, const tessera::frontend::LayerTable& table) {
  namespace frontend = tessera::frontend;
  for (frontend::GraphInput& input : model.inputs)
    if (!input.has_shape) input.shape = {1, 4, 6, 6}, input.has_shape = true;
  frontend::GraphOptions options;
  options.most_nodes = 2000;
  expect_value_or_error([&] { frontend::import_graph_model(model, table, options); });
  std::vector<frontend::UnsupportedNode> unsupported;
  expect_value_or_error([&] { frontend::import_graph_model(model, table, options, &unsupported); });
}

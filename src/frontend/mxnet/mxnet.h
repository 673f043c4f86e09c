#pragma once
// MXNet's symbols: a graph in JSON, and tensors in a file of its own format.

#include "frontend/graph/importer.h"

namespace tessera::mxnet {

using namespace frontend;  // NOLINT: what importers share is their language

using Params = std::unordered_map<std::string, NDArray>;

bool is_symbol(std::string_view bytes);
/// The graph; variables that have no values are its inputs, but for labels, which only training needs.
GraphModel read_symbol(std::string_view json, Params params);
/// Tensors by name, without "arg:" and "aux:".
Params read_params(std::string_view bytes, const std::string& what);
/// `net-symbol.json` with the `net-0000.params` (the last epoch) beside it.
GraphModel read_files(const std::string& path);

LayerRows control_rows();
LayerRows elementwise_rows();
LayerRows index_rows();
LayerRows nn_rows();
LayerRows quantized_rows();
LayerRows shape_rows();
LayerRows vision_rows();
LayerRows window_rows();
const LayerTable& converters();

}  // namespace tessera::mxnet

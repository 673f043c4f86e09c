#pragma once
// Caffe2's networks: one that fills tensors (init_net) and one that computes (predict_net), both NetDefs of protobuf.

#include "frontend/graph/importer.h"
#include "frontend/graph/protobuf.h"

namespace tessera::caffe2 {

using namespace frontend;  // NOLINT: what importers share is their language

bool is_net(std::string_view bytes);
/// What `predict` computes with the tensors that `init` fills. Inputs are those of its external inputs that have no values.
GraphModel read_nets(std::string_view init, std::string_view predict, const std::string& name);
/// `path` is either of the two files, of which the one that fills tensors has "init" in its name.
GraphModel read_files(const std::string& path);

LayerRows layer_rows();
LayerRows window_rows();
const LayerTable& converters();

}  // namespace tessera::caffe2

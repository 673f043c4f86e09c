#pragma once
// Caffe's networks: layers in a prototxt, weights in a caffemodel.

#include "frontend/graph/importer.h"
#include "frontend/graph/protobuf.h"

namespace tessera::caffe {

using namespace frontend;  // NOLINT: what importers share is their language

const ProtoMessage& net_message();
/// The old way to write layers: the field "layers" of a network, whose types are numbers.
std::string type_of_old_layer(const std::string& type);

bool is_prototxt(std::string_view bytes);
bool is_caffemodel(std::string_view bytes);
/// The layers of one network with the weights of the other's layers of the same name; those that only training has are left out.
GraphModel read_net(const Fields& layers, const Fields& weights);
/// Both from bytes, the layers as text or not.
GraphModel read_net(std::string_view layers, std::string_view weights, const std::string& name);
/// `path` is either of the two files.
GraphModel read_files(const std::string& path);

LayerRows detection_rows();
LayerRows elementwise_rows();
LayerRows shape_rows();
LayerRows window_rows();
const LayerTable& converters();

}  // namespace tessera::caffe

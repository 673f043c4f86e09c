#pragma once
// Darknet's networks: sections of a cfg, and weights in a file of floats in the order of the layers.

#include "frontend/graph/importer.h"

namespace tessera::darknet {

using namespace frontend;  // NOLINT: what importers share is their language

/// A section of a cfg: "[maxpool]" and its lines "size=2", whose values are text.
struct Section {
  std::string kind;  // by its full name: "conv" is "convolutional"
  Fields options;
};

bool is_cfg(std::string_view text);
/// All sections; the first one is the network's own. `name` is what errors call the file.
std::vector<Section> read_cfg(std::string_view text, const std::string& name);
/// Outputs are those of the last layer and of each [yolo] and [region], behind the latter what their boxes are decoded with, as
/// v0.10 has them: the mask ([yolo]), the anchors, and the numbers of the layer; the last such layer comes first. `shape` is that of
/// the input, empty: as the cfg says.
GraphModel read_network(const std::vector<Section>& sections, std::string_view weights,
                        const std::vector<int64_t>& shape, const std::string& name);
/// `path` is either of the two files.
GraphModel read_files(const std::string& path, const std::vector<int64_t>& shape);

/// The name of the only input.
inline constexpr const char* kInput = "data";

LayerRows layer_rows();
const LayerTable& converters();

}  // namespace tessera::darknet

// The importer as a function that Python calls.

#include "frontend/graph/python.h"
#include "frontend/keras/files.h"
#include "runtime/archive/files.h"
#include "runtime/registry.h"

namespace tessera::keras {
namespace {

Array<ObjectRef> import_config(const std::string& json, const Map<String, Array<NDArray>>& weights,
                               const std::string& layout, const Map<String, Array<PrimExpr>>& shapes) {
  Weights values;
  for (const auto& [layer, arrays] : weights) values[layer.str()].assign(arrays.begin(), arrays.end());
  return as_pair(import_keras(read_config(json, values), layout, graph_options(shapes)));
}

Array<ObjectRef> import_file(const std::string& path, const std::string& layout,
                             const Map<String, Array<PrimExpr>>& shapes) {
  MappedFile file(path, "the model");
  return as_pair(import_keras(read_file(file.bytes(), path), layout, graph_options(shapes)));
}

Globals keras_globals{
    {"frontend.keras.import_config", import_config},
    {"frontend.keras.import_file", import_file},
};

}  // namespace
}  // namespace tessera::keras

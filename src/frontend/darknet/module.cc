// The importer as functions that Python calls.

#include "frontend/darknet/darknet.h"
#include "frontend/graph/python.h"
#include "runtime/registry.h"

namespace tessera::darknet {
namespace {

std::vector<int64_t> input_shape(const GraphOptions& options) {
  auto found = options.shapes.find(kInput);
  return found == options.shapes.end() ? std::vector<int64_t>() : found->second;
}

Array<ObjectRef> import_bytes(const std::string& cfg, const AnyView& weights,
                              const Map<String, Array<PrimExpr>>& shapes, const Map<String, String>& dtypes) {
  const GraphOptions options = graph_options(shapes, dtypes);
  const GraphModel network =
      read_network(read_cfg(cfg, "the cfg"), borrowed_bytes(weights), input_shape(options), "the file of weights");
  return as_pair(import_graph_model(network, converters(), options));
}

Array<ObjectRef> import_files(const std::string& path, const Map<String, Array<PrimExpr>>& shapes,
                              const Map<String, String>& dtypes) {
  const GraphOptions options = graph_options(shapes, dtypes);
  return as_pair(import_graph_model(read_files(path, input_shape(options)), converters(), options));
}

Globals darknet_globals{
    {"frontend.darknet.import_bytes", import_bytes},
    {"frontend.darknet.import_files", import_files},
};

}  // namespace
}  // namespace tessera::darknet

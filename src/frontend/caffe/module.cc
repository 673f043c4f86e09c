// The importer as functions that Python calls.

#include "frontend/caffe/caffe.h"
#include "frontend/graph/python.h"
#include "runtime/registry.h"

namespace tessera::caffe {
namespace {

Array<ObjectRef> import_bytes(const AnyView& layers, const AnyView& weights, const Map<String, Array<PrimExpr>>& shapes,
                              const Map<String, String>& dtypes) {
  const GraphModel net = read_net(borrowed_bytes(layers), borrowed_bytes(weights), "the network");
  return as_pair(import_graph_model(net, converters(), graph_options(shapes, dtypes)));
}

Array<ObjectRef> import_files(const std::string& path, const Map<String, Array<PrimExpr>>& shapes,
                              const Map<String, String>& dtypes) {
  return as_pair(import_graph_model(read_files(path), converters(), graph_options(shapes, dtypes)));
}

Globals caffe_globals{
    {"frontend.caffe.import_bytes", import_bytes},
    {"frontend.caffe.import_files", import_files},
};

}  // namespace
}  // namespace tessera::caffe

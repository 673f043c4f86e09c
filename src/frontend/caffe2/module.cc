// The importer as functions that Python calls.

#include "frontend/caffe2/caffe2.h"
#include "frontend/graph/python.h"
#include "runtime/registry.h"

namespace tessera::caffe2 {
namespace {

Array<ObjectRef> import_bytes(const AnyView& init, const AnyView& predict, const Map<String, Array<PrimExpr>>& shapes,
                              const Map<String, String>& dtypes) {
  const GraphModel net = read_nets(borrowed_bytes(init), borrowed_bytes(predict), "the network");
  return as_pair(import_graph_model(net, converters(), graph_options(shapes, dtypes)));
}

Array<ObjectRef> import_files(const std::string& path, const Map<String, Array<PrimExpr>>& shapes,
                              const Map<String, String>& dtypes) {
  return as_pair(import_graph_model(read_files(path), converters(), graph_options(shapes, dtypes)));
}

Globals caffe2_globals{
    {"frontend.caffe2.import_bytes", import_bytes},
    {"frontend.caffe2.import_files", import_files},
};

}  // namespace
}  // namespace tessera::caffe2

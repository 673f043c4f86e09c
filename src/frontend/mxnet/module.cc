// The importer as functions that Python calls.

#include "frontend/graph/python.h"
#include "frontend/mxnet/mxnet.h"
#include "runtime/registry.h"

namespace tessera::mxnet {
namespace {

Array<ObjectRef> import_symbol(const std::string& json, const Map<String, NDArray>& params,
                               const Map<String, Array<PrimExpr>>& shapes, const Map<String, String>& dtypes) {
  Params values;
  for (const auto& [name, value] : params) values.emplace(name.str(), value);
  return as_pair(import_graph_model(read_symbol(json, std::move(values)), converters(), graph_options(shapes, dtypes)));
}

Array<ObjectRef> import_files(const std::string& path, const Map<String, Array<PrimExpr>>& shapes,
                              const Map<String, String>& dtypes) {
  return as_pair(import_graph_model(read_files(path), converters(), graph_options(shapes, dtypes)));
}

Globals mxnet_globals{
    {"frontend.mxnet.import_symbol", import_symbol},
    {"frontend.mxnet.import_files", import_files},
};

}  // namespace
}  // namespace tessera::mxnet

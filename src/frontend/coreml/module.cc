// The importer as functions that Python calls.

#include "frontend/coreml/coreml.h"
#include "frontend/graph/python.h"
#include "runtime/archive/files.h"
#include "runtime/registry.h"

namespace tessera::coreml {
namespace {

Array<ObjectRef> import_bytes(const AnyView& model, const Map<String, Array<PrimExpr>>& shapes) {
  return as_pair(
      import_graph_model(read_model(borrowed_bytes(model), "the model"), converters(), graph_options(shapes)));
}

Array<ObjectRef> import_file(const std::string& path, const Map<String, Array<PrimExpr>>& shapes) {
  MappedFile file(path, "the model");
  return as_pair(import_graph_model(read_model(file.bytes(), path), converters(), graph_options(shapes)));
}

Globals coreml_globals{
    {"frontend.coreml.import_bytes", import_bytes},
    {"frontend.coreml.import_file", import_file},
};

}  // namespace
}  // namespace tessera::coreml

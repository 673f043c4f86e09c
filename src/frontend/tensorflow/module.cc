// The importer as functions that Python calls.

#include "frontend/common/python.h"
#include "frontend/tensorflow/importer.h"
#include "runtime/registry.h"

namespace tessera::tensorflow {
namespace {

ImportOptions options_from(const Map<String, Array<PrimExpr>>& shapes, const Array<String>& outputs,
                           const std::string& layout) {
  ImportOptions out;
  out.shapes = frontend::shapes_from(shapes);
  for (const String& output : outputs) out.outputs.push_back(output.str());
  out.layout = layout;
  out.freeze_params = false;
  return out;
}

Array<ObjectRef> import_bytes(const AnyView& bytes, const Map<String, Array<PrimExpr>>& shapes,
                              const Array<String>& outputs, const std::string& layout) {
  const GraphDef graph = parse_graph(frontend::borrowed_bytes(bytes));
  Imported imported = import_graph(graph, options_from(shapes, outputs, layout));
  return {imported.mod, imported.params};
}

Array<ObjectRef> import_saved_model(const std::string& folder, const std::string& signature,
                                    const Map<String, Array<PrimExpr>>& shapes, const Array<String>& outputs,
                                    const std::string& layout) {
  SavedModel model(folder);
  Imported imported = import_graph(model.graph(), model.options(options_from(shapes, outputs, layout), signature));
  return {imported.mod, imported.params};
}

static Globals tensorflow_module_globals{
    {"frontend.tensorflow.import_bytes", import_bytes},
    {"frontend.tensorflow.import_saved_model", import_saved_model},
};

}  // namespace
}  // namespace tessera::tensorflow

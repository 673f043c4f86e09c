// The importer as functions that Python calls.

#include "frontend/tensorflow/importer.h"
#include "ir/prim/ops.h"
#include "runtime/registry.h"

namespace tessera::tensorflow {
namespace {

ImportOptions options_from(const Map<String, Array<PrimExpr>>& shapes, const Array<String>& outputs,
                           const std::string& layout) {
  ImportOptions out;
  for (const auto& [name, shape] : shapes) {
    std::vector<int64_t>& extents = out.shapes[name.str()];
    for (const PrimExpr& extent : shape) extents.push_back(as_int(extent) ? *as_int(extent) : -1);
  }
  for (const String& output : outputs) out.outputs.push_back(output.str());
  out.layout = layout;
  out.freeze_params = false;
  return out;
}

std::string_view borrowed_bytes(const AnyView& given) {
  if (given.code() == kTesseraBytes) {
    auto* bytes = static_cast<const TesseraByteArray*>(given.raw().v_handle);
    return {bytes->data, bytes->size};
  }
  if (auto* bytes = cast_or_null<BytesNode>(given.object())) return bytes->data;
  throw Error(TypeError) << "a TensorFlow graph is given as bytes, not as " << given.type_name();
}

Array<ObjectRef> import_bytes(const AnyView& bytes, const Map<String, Array<PrimExpr>>& shapes,
                              const Array<String>& outputs, const std::string& layout) {
  const GraphDef graph = parse_graph(borrowed_bytes(bytes));
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

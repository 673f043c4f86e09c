// The importer as functions that Python calls.

#include "frontend/common/python.h"
#include "frontend/tflite/importer.h"
#include "runtime/registry.h"

namespace tessera::tflite {
namespace {

ImportOptions options_from(const Map<String, Array<PrimExpr>>& shapes, const Map<String, String>& dtypes,
                           bool freeze_params) {
  ImportOptions out;
  out.shapes = frontend::shapes_from(shapes);
  out.dtypes = frontend::dtypes_from(dtypes);
  out.freeze_params = freeze_params;
  return out;
}

Array<ObjectRef> import_bytes(const AnyView& bytes, const Map<String, Array<PrimExpr>>& shapes,
                              const Map<String, String>& dtypes, bool freeze_params) {
  Imported imported =
      import_model(parse_model(frontend::borrowed_bytes(bytes), nullptr), options_from(shapes, dtypes, freeze_params));
  return {imported.mod, imported.params};
}

Array<ObjectRef> import_file(const std::string& path, const Map<String, Array<PrimExpr>>& shapes,
                             const Map<String, String>& dtypes, bool freeze_params) {
  Imported imported = import_model(read_model(path), options_from(shapes, dtypes, freeze_params));
  return {imported.mod, imported.params};
}

static Globals tflite_module_globals{
    {"frontend.tflite.import_bytes", import_bytes},
    {"frontend.tflite.import_file", import_file},
};

}  // namespace
}  // namespace tessera::tflite

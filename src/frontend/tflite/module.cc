// The importer as functions that Python calls.

#include "frontend/tflite/importer.h"
#include "ir/prim/ops.h"
#include "runtime/registry.h"

namespace tessera::tflite {
namespace {

ImportOptions options_from(const Map<String, Array<PrimExpr>>& shapes, const Map<String, String>& dtypes,
                           bool freeze_params) {
  ImportOptions out;
  for (const auto& [name, shape] : shapes) {
    std::vector<int64_t>& extents = out.shapes[name.str()];
    for (const PrimExpr& extent : shape) extents.push_back(as_int(extent) ? *as_int(extent) : -1);
  }
  for (const auto& [name, dtype] : dtypes) out.dtypes[name.str()] = DataType(dtype.str());
  out.freeze_params = freeze_params;
  return out;
}

/// The caller's own bytes, which live as long as the call.
std::string_view borrowed_bytes(const AnyView& given) {
  if (given.code() == kTesseraBytes) {
    auto* bytes = static_cast<const TesseraByteArray*>(given.raw().v_handle);
    return {bytes->data, bytes->size};
  }
  if (auto* bytes = cast_or_null<BytesNode>(given.object())) return bytes->data;
  throw Error(TypeError) << "a TFLite model is given as bytes, not as " << given.type_name();
}

Array<ObjectRef> import_bytes(const AnyView& bytes, const Map<String, Array<PrimExpr>>& shapes,
                              const Map<String, String>& dtypes, bool freeze_params) {
  Imported imported =
      import_model(parse_model(borrowed_bytes(bytes), nullptr), options_from(shapes, dtypes, freeze_params));
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

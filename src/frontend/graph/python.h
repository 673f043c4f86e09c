#pragma once
// What functions that Python calls take and give.

#include "frontend/graph/importer.h"
#include "ir/prim/ops.h"

namespace tessera::frontend {

inline GraphOptions graph_options(const Map<String, Array<PrimExpr>>& shapes, const Map<String, String>& dtypes = {}) {
  GraphOptions out;
  out.freeze_params = false;
  for (const auto& [name, shape] : shapes) {
    std::vector<int64_t>& extents = out.shapes[name.str()];
    for (const PrimExpr& extent : shape) extents.push_back(as_int(extent) ? *as_int(extent) : -1);
  }
  for (const auto& [name, dtype] : dtypes) out.dtypes[name.str()] = DataType(dtype.str());
  return out;
}

/// What Python gives as bytes, valid while the call lasts.
inline std::string_view borrowed_bytes(const AnyView& given) {
  if (given.code() == kTesseraBytes) {
    auto* bytes = static_cast<const TesseraByteArray*>(given.raw().v_handle);
    return {bytes->data, bytes->size};
  }
  if (auto* bytes = cast_or_null<BytesNode>(given.object())) return bytes->data;
  throw Error(TypeError) << "a model is given as bytes, not as " << given.type_name();
}

inline Array<ObjectRef> as_pair(const ImportedGraph& imported) { return {imported.mod, imported.params}; }

}  // namespace tessera::frontend

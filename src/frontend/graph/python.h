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

inline Array<ObjectRef> as_pair(const ImportedGraph& imported) { return {imported.mod, imported.params}; }

}  // namespace tessera::frontend

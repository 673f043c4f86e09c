#pragma once
// What functions that Python calls take and give.

#include "frontend/common/python.h"
#include "frontend/graph/importer.h"

namespace tessera::frontend {

inline GraphOptions graph_options(const Map<String, Array<PrimExpr>>& shapes, const Map<String, String>& dtypes = {}) {
  GraphOptions out;
  out.freeze_params = false;
  out.shapes = shapes_from(shapes);
  out.dtypes = dtypes_from(dtypes);
  return out;
}

inline Array<ObjectRef> as_pair(const Imported& imported) { return {imported.mod, imported.params}; }

}  // namespace tessera::frontend

#pragma once
// What functions that Python calls take and give.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/any.h"
#include "base/array.h"
#include "base/map.h"
#include "ir/prim/ops.h"

namespace tessera::frontend {

/// Shapes by name; extents that are no numbers are -1.
inline std::unordered_map<std::string, std::vector<int64_t>> shapes_from(const Map<String, Array<PrimExpr>>& given) {
  std::unordered_map<std::string, std::vector<int64_t>> out;
  for (const auto& [name, shape] : given) {
    std::vector<int64_t>& extents = out[name.str()];
    for (const PrimExpr& extent : shape) extents.push_back(as_int(extent) ? *as_int(extent) : -1);
  }
  return out;
}

inline std::unordered_map<std::string, DataType> dtypes_from(const Map<String, String>& given) {
  std::unordered_map<std::string, DataType> out;
  for (const auto& [name, dtype] : given) out[name.str()] = DataType(dtype.str());
  return out;
}

/// The caller's own bytes, which live as long as the call: models are too large to be copied.
inline std::string_view borrowed_bytes(const AnyView& given) {
  if (given.code() == kTesseraBytes) {
    auto* bytes = static_cast<const TesseraByteArray*>(given.raw().v_handle);
    return {bytes->data, bytes->size};
  }
  if (auto* bytes = cast_or_null<BytesNode>(given.object())) return bytes->data;
  throw Error(TypeError) << "a model is given as bytes, not as " << given.type_name();
}

}  // namespace tessera::frontend

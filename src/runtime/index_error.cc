#include "runtime/index_error.h"

#include <algorithm>

#include "runtime/registry.h"

namespace tessera {

Error index_error(const std::string& where, int64_t index, int64_t extent) {
  Error out(IndexError);
  out << where << ": index " << index << " is outside; the axis has " << extent << " elements";
  if (extent > 0) out << ", so that an index is " << -extent << " to " << extent - 1;
  return out;
}

void throw_index_errors(std::span<IndexErrorRecord> records, const std::vector<std::string>& texts) {
  for (size_t i = 0; i < records.size(); ++i) {
    if (!records[i].is_set) continue;
    Error error = index_error(texts[i], records[i].index, records[i].extent);
    std::fill(records.begin(), records.end(), IndexErrorRecord());
    throw error;
  }
}

namespace {

Globals index_error_globals{{"runtime.IndexError", [](const std::string& where, int64_t index, int64_t extent) {
                               throw index_error(where, index, extent);
                             }}};

}  // namespace
}  // namespace tessera

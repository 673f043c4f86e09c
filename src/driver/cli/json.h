#pragma once
// What commands print for programs, with --json: one JSON object on one line.

#include "base/json.h"

namespace tessera::cli {

using JsonObject = Map<String, ObjectRef>;

/// A number; a Boolean is written as 0 or 1.
template <class T>
ObjectRef json_value(const T& given) {
  return box(Any(given));
}
inline Array<ObjectRef> json_list(const std::vector<std::string>& texts) {
  Array<ObjectRef> out;
  for (const std::string& text : texts) out.push_back(String(text));
  return out;
}

/// The kernel cache, as `cache` and `doctor` tell of it.
JsonObject cache_facts();

}  // namespace tessera::cli

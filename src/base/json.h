#pragma once
// JSON text to values and back: objects are Maps, lists Arrays, numbers the boxed number nodes.

#include "base/any.h"

namespace tessera {

/// Reads one JSON value. Bad text is a ValueError that says where; nesting is limited to 1000 levels.
ObjectRef parse_json(std::string_view text);

/// Writes a value as JSON on one line, map keys sorted. Numbers, strings, booleans, Maps with String keys and Arrays.
std::string to_json(const ObjectRef& value);

}  // namespace tessera

#pragma once
// Saving any object graph as text and reading it back, in v0.10's node-graph format:
//   {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "tir.Add", "attrs": {"a": "2", ...}}, ...],
//    "b64ndarrays": [...], "attrs": {"tvm_version": "0.10.0"}}
// Node 0 is the null reference. Sharing survives; depth does not matter in either direction.

#include <string>
#include <string_view>

#include "base/object.h"

namespace tessera {

/// Without spans the text is the same wherever the object comes from.
enum class Spans { Keep, LeaveOut };
std::string save_json(const ObjectRef& object, Spans spans = Spans::Keep);

/// Reads what save_json wrote. Nothing in the text is trusted: indices out of range, cycles, unknown types, fields of
/// the wrong type, missing fields and forged tensor sizes are errors that say which node is wrong.
ObjectRef load_json(std::string_view text);

}  // namespace tessera

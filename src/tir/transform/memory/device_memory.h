#pragma once
// Memory with dimensions, in a scope that only the device knows (textures, tightly coupled memory).

#include "tir/stmt.h"

namespace tessera {

/// Where `let` takes such memory (nd_mem_alloc_with_scope): the same as calls of the device's own functions, which are
/// found by name, such as "device_api.hexagon.alloc_nd", and given the device, the element type, scope, rank and shape.
/// The memory is given back ("free_nd") behind the body. An empty result where `let` does something else.
Stmt call_device_memory(const LetStmt* let, const PrimExpr& device_type, const PrimExpr& device_id);

}  // namespace tessera

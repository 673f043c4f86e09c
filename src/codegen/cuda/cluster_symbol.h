#pragma once

namespace tessera::codegen {

/// The key of an AttrStmt around the body of a kernel; its value: blocks, neighbours along blockIdx.x, that run together and may
/// reach each other's shared memory.
inline constexpr const char* kClusterBlocks = "cluster_blocks";

}  // namespace tessera::codegen

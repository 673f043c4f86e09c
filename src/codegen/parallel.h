#pragma once
// What schedules say to code generators about parallel loops.

namespace tessera::attr {

/// Annotation of a parallel loop: an integer. A loop of unknown extent that turns out to be shorter runs on one thread.
inline constexpr const char* kMinParallelExtent = "least_parallel_extent";

}  // namespace tessera::attr

#pragma once
// What schedules and passes say to code generators about parallel loops.

namespace tessera::attr {

/// Annotation of a parallel loop: an integer. A loop of unknown extent that turns out to be shorter runs on one thread.
inline constexpr const char* kMinParallelExtent = "least_parallel_extent";

/// A statement that each thread runs, in which they share the iterations of parallel loops. Its value, where it is no number, is how many
/// tasks there are, with 0 for as many as there are threads.
inline constexpr const char* kParallelLaunchPoint = "pragma_parallel_launch_point";

}  // namespace tessera::attr

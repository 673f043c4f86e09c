#pragma once
// Kernels whose dynamic extents may be broadcast to each other, which are seldom: a version for each likely case.

#include "kernel/schedule_rule.h"

namespace tessera::kernel {

/// What the kernel computes where a condition over its extents holds.
struct ExtentVersion {
  PrimExpr condition;
  relay::Function function;
  size_t equations = 0;  // in the condition: a pair that is equal may make others known
};

/// The rule "extent_versions": where two extents are equal, or one of them is 1, is asked once a call, not for each element.
///   a: (64, h, w), b: (64, u, v)   =>   if h == u and w == v: kernel of (64, h, w), (64, h, w)
///                                       else if w == v: kernel of (64, h, w), (64, u, w)
///                                       else if v == 1: kernel of (64, h, w), (64, u, 1) else: (64, h, 1), (64, u, v)
/// Each version is scheduled by whatever rule is cheapest for it. Kernels that do more than broadcast have the first case and the
/// general one.
std::optional<Plan> match_extent_versions(Subject& subject);
void apply_extent_versions(Subject& subject, const Plan& plan);

}  // namespace tessera::kernel

#pragma once
// Kernels whose leading axes have dynamic extents and are independent: a batch of images, rows of a text.

#include "kernel/schedule_rule.h"

namespace tessera::kernel {

/// What one iteration of the leading axes computes.
struct LeadingAxes {
  std::vector<Var> extents;   // of the axes, which are the first of every result
  relay::Function iteration;  // the function with extents of 1 for them
  int64_t elements = 1;       // known ones of the largest tensor of an iteration
};

/// The rule "leading_axes": a kernel of which each iteration of its dynamic leading axes reads and writes only its own elements is
/// the kernel of one iteration, scheduled by whatever rule is cheapest for its extents, in a loop.
///   y: (n, 64, 56, 56)     =>     for i in range(n): kernel of (1, 64, 56, 56) at x + i * 200704, y + i * 200704
/// That it holds is seen from the tensor expressions. Matmuls with a weight that only the leading axes share are left alone.
std::optional<Plan> match_leading_axes(Subject& subject);
void apply_leading_axes(Subject& subject, const Plan& plan);

}  // namespace tessera::kernel

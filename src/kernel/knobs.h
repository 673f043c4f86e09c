#pragma once
// The knobs of plans: what a rule decided, as numbers that can be read, and moved.

#include <string>

#include "base/map.h"
#include "ir/pass/pass.h"

namespace tessera::kernel {

/// Values of knobs by rule, for all kernels that the rule schedules: {"matmul": {"rows": 6}}. Tuners and tests set it.
inline constexpr const char* kKnobs = "kernel.knobs";

/// The plan with the values that the options give for the rule. A name that the plan does not have is an error that lists its knobs.
ObjectRef moved(const ObjectRef& knobs, const char* rule, const PassContext& passes);

/// "rows=13, vectors=2"
std::string knobs_text(const ObjectRef& knobs);

}  // namespace tessera::kernel

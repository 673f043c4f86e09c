#pragma once
// The knobs of plans: what a rule decided, as numbers that can be read, and moved.

#include <string>

#include "base/map.h"
#include "ir/pass/pass.h"

namespace tessera::kernel {

/// Values of knobs by rule, for all kernels that the rule schedules: {"matmul": {"rows": 6}}. Tuners and tests set it.
inline constexpr const char* kKnobs = "kernel.knobs";

/// True for the numbers and choices of a plan.
bool is_knob(const Field& field);
int64_t knob_value(const Object* plan, const Field& field);

/// The plan with these values. A name that it does not have is an error that lists those it has.
ObjectRef with_knobs(const ObjectRef& knobs, const char* rule, const Map<String, ObjectRef>& values);
/// The plan with the values that the options give for the rule. A name that the plan does not have is an error that lists its knobs.
ObjectRef moved(const ObjectRef& knobs, const char* rule, const PassContext& passes);

/// "rows=13, vectors=2"
std::string knobs_text(const ObjectRef& knobs);

}  // namespace tessera::kernel

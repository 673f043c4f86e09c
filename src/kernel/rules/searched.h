#pragma once
// Kernels by schedules that a search found before, for builds with relay.backend.use_auto_scheduler.

#include "kernel/schedule_rule.h"

namespace tessera::kernel {

inline constexpr const char* kUseAutoScheduler = "relay.backend.use_auto_scheduler";

/// The rule "auto_scheduler": asks the records in force (auto_scheduler.ApplyHistoryBest) for a TE schedule of the kernel's tensors.
std::optional<Plan> match_searched(Subject& subject);

}  // namespace tessera::kernel

#pragma once
// Programs of blocks, scheduled stage by stage by the rules of the table.

#include "kernel/schedule_rule.h"

namespace tessera::kernel {

/// Element-wise stages are inlined into what uses them, unless a reduction would compute them again and again; then each
/// stage that is left gets the cheapest rule that fits, reductions first. Rules and plans are added to `chosen`.
PrimFunc schedule_blocks(const PrimFunc& function, const CompileEnvironment& environment, Choices* chosen = nullptr,
                         const std::string& kernel = "", const std::vector<ScheduleRule>& rules = schedule_rules());

}  // namespace tessera::kernel

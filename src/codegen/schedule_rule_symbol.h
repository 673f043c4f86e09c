#pragma once
// Which schedule rules made a kernel, by which plans: from its program into the library, where tools find it.

namespace tessera::codegen {

/// The attribute of a kernel's program that names the schedule rules that made it: "attention", "te_schedule(softmax_rows.cpu)", and
/// where stages have rules of their own all of them, "pad, contraction".
inline constexpr const char* kScheduleRule = "tessera.schedule_rule";
/// The text as data of the library, under this name with that of the kernel behind it.
inline constexpr const char* kScheduleRuleSymbol = "__tessera_schedule_rule_";

/// The attribute of a kernel's program that says what those of its rules decided that have knobs:
/// ["matmul(rows=13, vectors=2, step=768)"].
inline constexpr const char* kSchedulePlans = "tessera.schedule_plans";
/// The same in the library, a line for each.
inline constexpr const char* kSchedulePlansSymbol = "__tessera_schedule_plans_";

}  // namespace tessera::codegen

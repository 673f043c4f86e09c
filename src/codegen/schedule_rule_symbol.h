#pragma once
// Which schedule rules made a kernel: from its program into the library, where tools find it.

namespace tessera::codegen {

/// The attribute of a kernel's program that names the schedule rules that made it: "attention", "te_schedule(softmax_rows.cpu)", and
/// where stages have rules of their own all of them, "pad, contraction".
inline constexpr const char* kScheduleRule = "tessera.schedule_rule";
/// The text as data of the library, under this name with that of the kernel behind it.
inline constexpr const char* kScheduleRuleSymbol = "__tessera_schedule_rule_";

}  // namespace tessera::codegen

#pragma once
// The options of a target kind: its own and those that every kind has.

#include "ir/target/target.h"

namespace tessera {

/// Names and types, sorted by name.
std::vector<std::pair<std::string, OptionType>> target_options(const TargetKind& kind);
/// The type of one option; a ValueError that lists the options when there is none of that name.
OptionType target_option_type(const TargetKind& kind, const std::string& name);

}  // namespace tessera

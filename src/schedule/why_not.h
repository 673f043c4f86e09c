#pragma once
// Reasons of checks that answer false.

#include "schedule/state.h"

namespace tessera::schedule {

/// `return fail(why_not, "the reason")`: false, and the reason where one is asked for.
inline bool fail(std::string* why_not, std::string reason) {
  if (why_not) *why_not = std::move(reason);
  return false;
}
/// The name of a block as messages show it.
inline std::string named(const BlockNode* block) { return quoted(block->name_hint); }

}  // namespace tessera::schedule

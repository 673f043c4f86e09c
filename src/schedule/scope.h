#pragma once
// What blocks of one scope have to do with one another: who waits for whom, and whether what a block reads has been
// written when it runs.

#include "schedule/state.h"

namespace tessera::schedule {

/// Why one block must stay behind another: it reads what the other wrote, writes it again, or writes what it read.
enum class DepKind : int { RAW = 0, WAW = 1, WAR = 2, Opaque = 3 };

struct BlockDependency {
  Cursor from, to;
  DepKind kind;
  Buffer buffer;
};

/// The dependencies among the blocks directly inside `scope`, in the order of the program.
std::vector<BlockDependency> dependencies(const BlockRealize* scope, const GlobalVar& function);

/// Every element that the block at `consumer` reads and another block of its scope writes has been written in the same
/// iteration of the loops that both stand in. `why_not` says what could not be shown.
bool is_region_covered(const Cursor& consumer, std::string* why_not = nullptr);
/// The same for the block and for all that read what it writes.
bool is_covered_around(const Cursor& block, std::string* why_not = nullptr);

/// The scope computes stage after stage: every block reads only what is complete by then, and nothing that was read is
/// overwritten. Blocks of such a scope may be moved as long as producers stay before consumers.
bool is_stage_pipeline(const BlockRealize* scope, const GlobalVar& function, std::string* why_not = nullptr);
/// Rejects a block that is not such a stage of its scope: what it reads is overwritten later, what it writes was read
/// before, or it or one of its consumers is not covered.
void require_stage(const Cursor& block);

/// True when the guard of the block holds wherever its axes are inside their domains: it only guards the ends that
/// loops run over.
bool is_guard_of_domain(const Cursor& block);
/// Rejects a block whose guard does more.
void require_domain_guard(const Cursor& block);

}  // namespace tessera::schedule

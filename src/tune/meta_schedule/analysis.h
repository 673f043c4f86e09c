#pragma once
// What rules ask about blocks before they schedule them.

#include <optional>
#include <unordered_set>

#include "ir/target/target.h"
#include "tune/meta_schedule/traced.h"

namespace tessera::meta_schedule {

using schedule::State;

/// The block still exists.
bool has_block(const Schedule& sch, const RV& block);
/// The block is the body of its function.
bool is_root(const Cursor& block);
/// Every block of the function but its root runs over spatial axes alone.
bool is_spatial_function(const Schedule& sch, const RV& block);
bool is_spatial(const BlockNode* block);
/// The axes of the block are its loops, one for one.
bool has_trivial_bindings(const Cursor& block);
/// Spatial axes that an operand does not depend on: what is read is read again.
bool needs_multi_level_tiling(const Cursor& block);
/// A reduction long enough for several threads to share: more than `min_reduction` long, or longer than its spatial loops,
/// which are no more than `max_spatial`.
bool needs_shared_reduction(const Cursor& block, int64_t max_spatial, int64_t min_reduction);
/// The block copies, element by element, perhaps with operations on the way.
bool is_write_cache(const BlockNode* block);

/// What the axes of the blocks below make of the loop: DataPar, CommReduce, or Opaque where they disagree.
IterType loop_type(const For* loop, const GlobalVar& function);
std::optional<int64_t> loop_extent(const For* loop);
/// Whether block or thread indices run the loop.
bool is_block_index(const For* loop);
bool is_thread_index(const For* loop);

/// How the elements read are found from the one written: each read index is a written one, perhaps shifted, or constant.
struct ReadPattern {
  bool exists = false, surjective = false, injective = false, ordered = false, no_const_read = false,
       no_shift_read = false;
};
ReadPattern read_pattern(const BufferRegion& read, const BufferRegion& write);

/// The annotation under `key`, or an empty reference.
ObjectRef note_of(const BlockNode* block, const char* key);
inline bool has_note(const BlockNode* block, const char* key) { return note_of(block, key).defined(); }
std::optional<int64_t> int_note(const BlockNode* block, const char* key);
inline bool is_tiled(const BlockNode* block) { return has_note(block, note::kTilingStructure); }

bool has_op(const Stmt& stmt, const std::unordered_set<std::string>& ops);
bool has_condition(const BlockRealize* realize);

/// True when the primitive, tried on a copy of the program, is not rejected.
bool is_possible(const Schedule& sch, const std::function<void(State&)>& primitive);

/// Puts reduction loops inside spatial ones and makes one of them.
struct FusedReduction {
  RV loop;
  int spatial_loops = 0;
};
FusedReduction fuse_reduction(const Traced& sch, const RV& block);

/// The number of cores the target has: its option, or this machine's.
int64_t core_count(const Target& target);

}  // namespace tessera::meta_schedule

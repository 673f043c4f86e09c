#pragma once
// The rewrites of a schedule; each file of primitive/ says and does one.

#include "schedule/state.h"
#include "tir/index_map.h"

namespace tessera::schedule {

// ---- primitive/get.cc --------------------------------------------------------------------------------------
BlockRef get_block(const State& state, const String& name, const String& function);
std::vector<LoopRef> get_loops(const State& state, const BlockRef& block);
std::vector<BlockRef> get_child_blocks(const State& state, const Cursor& cursor);
std::vector<BlockRef> get_producers(const State& state, const BlockRef& block);
std::vector<BlockRef> get_consumers(const State& state, const BlockRef& block);

// ---- sampling: `random` is the state of the generator; a decision is followed where given, and set ------------
int64_t sample_categorical(int64_t* random, const Array<ObjectRef>& candidates, const Array<ObjectRef>& probs,
                           ObjectRef* decision);
std::vector<int64_t> sample_perfect_tile(const State& state, int64_t* random, const LoopRef& loop, int parts,
                                         int max_innermost_factor, ObjectRef* decision);
LoopRef sample_compute_location(const State& state, int64_t* random, const BlockRef& block, ObjectRef* decision);

// ---- loops -------------------------------------------------------------------------------------------------
/// One factor may be empty: it becomes what the others leave.
std::vector<LoopRef> split(State& state, const LoopRef& loop, const std::vector<PrimExpr>& factors,
                           bool preserve_unit_iters);
LoopRef fuse(State& state, const std::vector<LoopRef>& loops, bool preserve_unit_iters);
void reorder(State& state, const std::vector<LoopRef>& loops);
LoopRef add_unit_loop(State& state, const Cursor& cursor);
void parallel(State& state, const LoopRef& loop);
void vectorize(State& state, const LoopRef& loop);
void unroll(State& state, const LoopRef& loop);
void bind(State& state, const LoopRef& loop, const String& thread_axis);

// ---- annotations and storage -------------------------------------------------------------------------------
void annotate(State& state, const Cursor& cursor, const String& key, const ObjectRef& value);
void unannotate(State& state, const Cursor& cursor, const String& key);
void storage_align(State& state, const BlockRef& block, int buffer_index, int axis, int factor, int offset);
void set_scope(State& state, const BlockRef& block, int buffer_index, const String& scope);

// ---- computation -------------------------------------------------------------------------------------------
void compute_inline(State& state, const BlockRef& block);
void reverse_compute_inline(State& state, const BlockRef& block);
BlockRef cache_read(State& state, const BlockRef& block, int buffer_index, const String& scope,
                    const std::vector<BlockRef>& consumers);
BlockRef cache_write(State& state, const BlockRef& block, int buffer_index, const String& scope);
void compute_at(State& state, const BlockRef& block, const LoopRef& loop, bool preserve_unit_loops, int index);
void reverse_compute_at(State& state, const BlockRef& block, const LoopRef& loop, bool preserve_unit_loops, int index);
BlockRef decompose_reduction(State& state, const BlockRef& block, const LoopRef& loop);
BlockRef rfactor(State& state, const LoopRef& loop, int factor_axis);

// ---- layouts and padding -----------------------------------------------------------------------------------
BlockRef reindex(State& state, const BlockRef& block, int buffer_index, bool is_write);
void transform_layout(State& state, const BlockRef& block, int buffer_index, bool is_write, const IndexMap& map,
                      const IndexMap& pad_value);
void transform_block_layout(State& state, const BlockRef& block, const IndexMap& map);
void set_axis_separator(State& state, const BlockRef& block, int buffer_index, bool is_write,
                        const Array<PrimExpr>& separators);
void pad_einsum(State& state, const BlockRef& block, const std::vector<int>& padding);
BlockRef decompose_padding(State& state, const BlockRef& block, const LoopRef& loop);

// ---- blocks of blocks and instructions ---------------------------------------------------------------------
BlockRef blockize(State& state, const LoopRef& loop);
void tensorize(State& state, const Cursor& cursor, const String& intrin);

// ---- nests that others made --------------------------------------------------------------------------------
///     for i: padded(i);  for j: sum(j);  for k: out(k)      =>      block "out" { nest }
/// `nest` computes what `block` does from what it and the `fused` blocks before it read. Only `block` may write what others
/// read. The nest stands in a block without axes, marked kNest, which handles to all of them mean from now on and which
/// reads and writes the whole of their buffers: nothing else can be moved into it, and it stays behind what it needs.
BlockRef replace_by_nest(State& state, const BlockRef& block, const std::vector<BlockRef>& fused, const Stmt& nest);
inline constexpr const char* kNest = "schedule.nest";
bool is_nest(const Cursor& cursor);
/// The function with each nest instead of its block, when everything is scheduled.
PrimFunc open_nests(const PrimFunc& function);

}  // namespace tessera::schedule

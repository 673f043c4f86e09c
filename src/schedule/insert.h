#pragma once
// The body of a scope as statements, to put new ones between them.

#include "schedule/state.h"

namespace tessera::schedule {

/// The block that `cursor` stands in; a ScheduleError for a root block.
const BlockRealize* require_scope_of(const Cursor& cursor);
/// The statements of a body, whether one holds a block, and which of them holds the block `inside`.
std::vector<Stmt> statements_of(const Stmt& body);
inline std::vector<Stmt> statements_of(const BlockRealize* scope) { return statements_of(scope->block->body); }
bool contains(const Stmt& stmt, const BlockNode* block);
size_t position_of(const std::vector<Stmt>& parts, const BlockNode* inside);
/// Gives the scope its new body and more buffers.
void set_scope_body(State& state, const GlobalVar& function, const BlockRealize* scope, const std::vector<Stmt>& parts,
                    const std::vector<Buffer>& extra);

/// Loops named ax0, ax1, ... around a block whose axes v0, v1, ... run through `region`. `build` is given the axes and
/// returns the block without them, `predicate` the loops' values of the axes and returns where the block runs. `domains` are those
/// of the axes where they are more than the region, `types` what they are where not all are spatial.
using OfIndices = std::function<PrimExpr(const Array<PrimExpr>& indices)>;
Stmt make_nest(const Array<Range>& region, const std::function<BlockNode(const Array<PrimExpr>& axes)>& build,
               const OfIndices& predicate = nullptr, const Array<Range>& domains = {},
               const std::vector<IterType>& types = {});
/// Loops like these, by the names that `vars` gives their variables, around `body`, which has those names already.
Stmt renamed_loops(const std::vector<const For*>& loops, const Map<Var, PrimExpr>& vars, Stmt body);
/// The block in the middle of a nest of loops.
const BlockNode* block_of(const Stmt& nest);
/// Regions of one element.
BufferRegion point_region(const Buffer& buffer, const Array<PrimExpr>& indices);

}  // namespace tessera::schedule

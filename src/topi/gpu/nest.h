#pragma once
// Pieces of kernels that are written as nests: loops over blocks and threads, memory, guards.

#include <functional>
#include <vector>

#include "tir/stmt.h"
#include "topi/cpu/contraction/register_tile.h"
#include "topi/cpu/number.h"

namespace tessera::topi {

using NestBody = std::function<Stmt(const PrimExpr&)>;

/// A loop whose iterations are blocks or threads: "blockIdx.x", "threadIdx.y". The index is a number even of one iteration.
Stmt thread_loop(const char* tag, const PrimExpr& extent, const NestBody& body);
/// A loop that the device's compiler unrolls; of one iteration, that iteration.
Stmt unrolled_loop(const char* name, int64_t extent, const NestBody& body);
/// `body`, whose unrolled loops stay loops in the program, marked for the device's compiler.
Stmt keep_unrolled_loops(const Stmt& body);
/// `body`, which orders its own accesses of shared memory: no barrier is added to it.
Stmt with_own_barriers(const Stmt& body);
/// `body` of a kernel, of which a multiprocessor has registers for `blocks` blocks.
Stmt with_min_blocks(int64_t blocks, const Stmt& body);
/// Elements 0, ... of `lanes` as one access, where there are several: a vectorized loop.
Stmt each_lane(int64_t lanes, const NestBody& body);
/// `body` where the condition holds.
Stmt guarded(const PrimExpr& condition, const Stmt& body);
/// A barrier of all threads of a block, for shared memory.
Stmt shared_barrier();
Stmt store_to(const Buffer& buffer, const PrimExpr& index, const PrimExpr& value);
PrimExpr load_from(const Buffer& buffer, const PrimExpr& index);
/// Memory of one dimension: "local", "shared", "shared.dyn".
Buffer memory_of(const char* name, DataType dtype, int64_t elements, const char* scope);
/// `buffers` exist inside `body`.
Stmt all_allocated(const std::vector<Buffer>& buffers, Stmt body);

/// `a + b`, `a * b`, `min` or `max`, whichever `operation` is.
PrimExpr combine(const PrimExpr& operation, const PrimExpr& a, const PrimExpr& b);
/// `result` = the `partial`s of all threads along `thread` combined as `operation` does; both buffers have one element.
Stmt combine_threads(const PrimExpr& operation, const PrimExpr& identity, const Buffer& partial, const Buffer& result,
                     const PrimExpr& thread);

/// The elements of a compact tensor as one dimension. Empty where it is not compact, or its number of elements is not known or
/// passes what 32 bits count.
Buffer as_one_dimension(const Buffer& buffer);

/// A number as digits of these extents, the last one runs fastest. The first is not reduced: it is right for numbers in range.
std::vector<PrimExpr> digits_of(PrimExpr number, const std::vector<PrimExpr>& extents);
PrimExpr product_of(const std::vector<PrimExpr>& extents);

}  // namespace tessera::topi

#pragma once
// What can be true of the loop programs of a module between passes. The table of passes says which pass sees to which.

#include "ir/pass/table.h"

namespace tessera {

extern const Property no_block_init;      // blocks say in their bodies where a reduction begins
extern const Property no_block_vars;      // blocks use the loops around them
extern const Property no_buffer_views;    // blocks have no match_buffer
extern const Property no_blocks;          // statements and loops alone
extern const Property no_buffer_realize;  // functions from TE have allocations
extern const Property flat_memory;  // other functions index memory by one number, or one for each physical dimension
extern const Property no_prefetch;  // no statement Prefetch
extern const Property no_vectorized_loops;  // vectors instead
extern const Property no_parallel_loops;    // one thread
extern const Property no_virtual_threads;   // copies or loops instead
extern const Property no_bfloat16;          // values are float32, memory is uint16
extern const Property no_asserts;           // no statement AssertStmt

}  // namespace tessera

#pragma once
// Blocks of rows of a convolution: the data that all its channels read stays in L2.

#include "topi/cpu/contraction/tile_contraction.h"

namespace tessera::topi {

/// The bytes of a tensor, of one element along dynamic axes.
int64_t bytes_of(const Buffer& buffer);

/// Chooses `block_rows` and `copies_block` of `knobs`, whose tile is chosen. `data` is what all lanes read the same element of;
/// it may be copied where it `is_input`, not a stage of its own.
void choose_row_blocks(const ContractionPlan& plan, const BufferLoad& data, int64_t weight_bytes, bool is_input,
                       const Machine& machine, ContractionKnobsNode* knobs);

}  // namespace tessera::topi

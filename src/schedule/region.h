#pragma once
// The part of a buffer that blocks touch while loops run.

#include "arith/int_set.h"
#include "schedule/state.h"

namespace tessera::schedule {

/// What the block at `cursor` touches of a region over all iterations of the loops `relaxed`; other loops are points.
/// Clipped to the buffer.
Array<arith::IntSet> touched(const Cursor& cursor, const BufferRegion& region, const std::vector<const For*>& relaxed,
                             arith::Analyzer& analyzer);
/// The same where it is exactly a box; an empty reference when that cannot be shown. Guards are not counted: the box may
/// stick out of the domain of the block.
Array<arith::IntSet> exact_box(const Cursor& cursor, const BufferRegion& region, const std::vector<const For*>& relaxed,
                               arith::Analyzer& analyzer);
/// The part of one dimension that is touched while the axes of the block run through their domains; nothing when that is
/// not known.
arith::IntSet domain_box(const Cursor& cursor, const Range& range, arith::Analyzer& analyzer);
/// The smallest box around both; either may be empty.
Array<arith::IntSet> hull(const Array<arith::IntSet>& a, const Array<arith::IntSet>& b, arith::Analyzer& analyzer);
/// The box as ranges, `whole` where an end is not known.
Array<Range> ranges_of(const Array<arith::IntSet>& box, const Buffer& buffer, arith::Analyzer& analyzer);
/// What the regions cover while `iters` run through their domains; not clipped, the whole of an unknown dimension.
Array<BufferRegion> relax(const Array<BufferRegion>& regions, const Array<IterVar>& iters, arith::Analyzer& analyzer);

}  // namespace tessera::schedule

#pragma once
// The maps of split and fuse between a parent axis and its parts, both ways: indices, domains and intervals.
// A split's parent is  min + outer * extent(inner) + inner;  a fused axis is  outer * extent(inner) + inner, from 0.

#include <utility>

#include "tir/loops/interval.h"

namespace tessera::loops {

/// x divided by y, rounded up; exact division where the remainder is known to be zero.
PrimExpr ceil_quotient(const PrimExpr& x, const PrimExpr& y, arith::Analyzer& analyzer);

// ---- split -------------------------------------------------------------------------------------------------

/// The domains (outer, inner) of a split by `factor`, or into `nparts` where factor is empty. A part that is known to be
/// longer than the whole axis shrinks to it unless `keep_length` (threads have the length they are said to have).
std::pair<Range, Range> split_domains(const Range& parent, const PrimExpr& factor, const PrimExpr& nparts,
                                      bool keep_length, arith::Analyzer& analyzer);
PrimExpr split_parent_index(const PrimExpr& outer, const PrimExpr& inner, const Range& parent,
                            const Range& inner_domain);
std::pair<PrimExpr, PrimExpr> split_part_indices(const PrimExpr& index, const Range& parent, const Range& inner_domain);
/// True when outer * inner covers the parent and nothing beyond it.
bool split_is_exact(const Range& parent, const Range& outer, const Range& inner, arith::Analyzer& analyzer);
/// The parent's interval when its parts run through theirs; the whole domain when both do.
Interval split_parent_interval(const Interval& outer, const Interval& inner, const Range& parent,
                               const Range& outer_domain, const Range& inner_domain, arith::Analyzer& analyzer);

// ---- fuse --------------------------------------------------------------------------------------------------

Range fused_domain(const Range& outer, const Range& inner, arith::Analyzer& analyzer);
PrimExpr fused_index(const PrimExpr& outer, const PrimExpr& inner, const Range& outer_domain,
                     const Range& inner_domain);
std::pair<PrimExpr, PrimExpr> fuse_part_indices(const PrimExpr& fused, const Range& outer_domain,
                                                const Range& inner_domain);
/// The parts' intervals when the fused axis runs through its own; whole rows where it may cross the end of one.
std::pair<Interval, Interval> fuse_part_intervals(const Interval& fused, const Range& fused_domain,
                                                  const Range& outer_domain, const Range& inner_domain,
                                                  arith::Analyzer& analyzer);

/// True when the interval is the whole of `domain`.
bool is_whole(const Interval& interval, const Range& domain, arith::Analyzer& analyzer);

}  // namespace tessera::loops

#pragma once
// How loops stand for the axes of a computation. TE relations and the split and fuse of block schedules are such maps.

#include <vector>

#include "tir/loops/interval.h"

namespace tessera::loops {

/// x divided by y, rounded up; exact division where the remainder is known to be zero.
PrimExpr ceil_quotient(const PrimExpr& x, const PrimExpr& y, arith::Analyzer& analyzer);

/// True when the interval is the whole of `domain`.
bool is_whole(const Interval& interval, const Range& domain, arith::Analyzer& analyzer);

/// A map between axes and the loops that run through them. It carries domains and indices both ways and intervals from loops to
/// axes:
///
///   split   axis  =  min(axis) + outer * extent(inner) + inner
///   fuse    loop  =  (outer - min(outer)) * extent(inner) + (inner - min(inner))
///   shift   loop  =  axis - min(axis)
///   unit    a loop of one iteration, for no axis
///
/// All loops begin at 0. Lists are in order, an outer axis or loop before the inner.
class LoopMap {
 public:
  using Ranges = std::vector<Range>;
  using Indices = std::vector<PrimExpr>;
  using Intervals = std::vector<Interval>;

  /// Into loops of which the inner one has `factor` iterations, or the outer one `nparts` where factor is empty.
  static LoopMap split(PrimExpr factor, PrimExpr nparts = PrimExpr());
  static LoopMap fuse() { return LoopMap(Kind::Fuse); }
  static LoopMap shift() { return LoopMap(Kind::Shift); }
  static LoopMap unit() { return LoopMap(Kind::Unit); }

  /// The loop of a split whose length is stated; 0 for other maps.
  size_t stated_loop() const { return factor_ ? 1 : 0; }

  /// The domains of the loops. The stated loop of a split that is known to be longer than the whole axis shrinks to it unless
  /// `keep_length` (threads have the length they are said to have).
  Ranges loop_domains(const Ranges& axes, bool keep_length, arith::Analyzer& analyzer) const;

  Indices axis_indices(const Indices& loops, const Ranges& axis_domains, const Ranges& loop_domains) const;
  Indices loop_indices(const Indices& axes, const Ranges& axis_domains, const Ranges& loop_domains) const;

  /// The intervals of the axes when the loops run through theirs: a whole domain where all loops run through all of theirs, or
  /// where a fused loop may cross the end of a row.
  Intervals axis_intervals(const Intervals& loops, const Ranges& axis_domains, const Ranges& loop_domains,
                           arith::Analyzer& analyzer) const;

  /// Loops of a split may run beyond the axis.
  bool may_overrun() const { return kind_ == Kind::Split; }
  /// True when the loops are known to run through the axes and nothing beyond them.
  bool is_exact(const Ranges& axis_domains, const Ranges& loop_domains, arith::Analyzer& analyzer) const;

 private:
  enum class Kind { Split, Fuse, Shift, Unit };
  explicit LoopMap(Kind kind) : kind_(kind) {}

  Kind kind_;
  PrimExpr factor_, nparts_;  // of a split
};

}  // namespace tessera::loops

#pragma once
// What the relations of a stage carry between its axes: domains down to the loops, intervals and indices up to the
// axes of the operation, and the guards that follow.

#include <unordered_map>
#include <unordered_set>

#include "te/schedule.h"
#include "tir/loops/interval.h"

namespace tessera::te {

/// Ranges of axes, in the order they were found.
using Bounds = Map<IterVar, Range>;
template <class V>
using AxisMap = std::unordered_map<const IterVarNode*, V>;
using AxisSet = std::unordered_set<const IterVarNode*>;

/// Whether every axis must be known, or relations on unknown ones are passed over (for questions about some axes only).
enum class Axes { All, Known };

/// Domains of all axes from those of the root axes.
void pass_down_domains(const StageNode* stage, Bounds* bounds, arith::Analyzer& analyzer, Axes which = Axes::All);

/// Intervals of the root axes from those of the leaves.
void pass_up_intervals(const StageNode* stage, const Bounds& bounds, AxisMap<loops::Interval>* intervals,
                       arith::Analyzer& analyzer);

/// Values of the root axes from those of the leaves, and the other way.
void pass_up_indices(const StageNode* stage, const Bounds& bounds, AxisMap<PrimExpr>* values, Axes which = Axes::All);
void pass_down_indices(const StageNode* stage, const Bounds& bounds, AxisMap<PrimExpr>* values, Axes which = Axes::All);

/// Sets of flags, merged along the relations. Axes not in the map have none.
void pass_down_flags(const StageNode* stage, AxisMap<int>* flags);
void pass_up_flags(const StageNode* stage, AxisMap<int>* flags);

/// Intervals of loop variables by their bounds, for `guards`.
class LoopIntervals {
 public:
  explicit LoopIntervals(const Bounds& bounds);
  void add(const Var& var, const Range& range) { of_[var.get()] = loops::Interval::of(range); }
  loops::IntervalOf lookup() const;

 private:
  std::unordered_map<const VarNode*, loops::Interval> of_;
};

/// Conditions under which `values` stay inside the domains, those that cannot be proven. With `skip_domain` the
/// operation's own domain is not asked for, only the relations' (a split that does not divide).
std::vector<PrimExpr> guards(const StageNode* stage, const Bounds& bounds, const AxisMap<PrimExpr>& values,
                             bool skip_domain, const AxisSet& skip, const loops::IntervalOf& loop_of,
                             arith::Analyzer& analyzer);

}  // namespace tessera::te

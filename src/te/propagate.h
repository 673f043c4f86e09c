#pragma once
// What the relations of a stage carry between its axes: domains down to the loops, intervals and indices up to the
// axes of the operation, and the guards that follow.

#include <unordered_map>
#include <unordered_set>

#include "te/schedule.h"
#include "tir/loops/loop_map.h"

namespace tessera::te {

/// Ranges of axes, in the order they were found.
using Bounds = Map<IterVar, Range>;
template <class V>
using AxisMap = std::unordered_map<const IterVarNode*, V>;
using AxisSet = std::unordered_set<const IterVarNode*>;

/// Whether every axis must be known, or relations on unknown ones are passed over (for questions about some axes only).
enum class Axes { All, Known };

/// The relations of a stage, read once. They are those of that moment: a stage that is split again has others.
class Relations {
 public:
  explicit Relations(const StageNode* stage);

  /// Domains of all axes from those of the root axes.
  void pass_down_domains(Bounds* bounds, arith::Analyzer& analyzer, Axes which = Axes::All) const;

  /// Intervals of the root axes from those of the leaves.
  void pass_up_intervals(const Bounds& bounds, AxisMap<loops::Interval>* intervals, arith::Analyzer& analyzer) const;

  /// Values of the root axes from those of the leaves, and the other way.
  void pass_up_indices(const Bounds& bounds, AxisMap<PrimExpr>* values, Axes which = Axes::All) const;
  void pass_down_indices(const Bounds& bounds, AxisMap<PrimExpr>* values, Axes which = Axes::All) const;

  /// Sets of flags, merged along the relations. Axes not in the map have none.
  void pass_down_flags(AxisMap<int>* flags) const;
  void pass_up_flags(AxisMap<int>* flags) const;

  /// Conditions under which `values` stay inside the domains, those that cannot be proven. With `skip_domain` the
  /// operation's own domain is not asked for, only the relations' (a split that does not divide).
  std::vector<PrimExpr> guards(const Bounds& bounds, const AxisMap<PrimExpr>& values, bool skip_domain,
                               const AxisSet& skip, const loops::VarIntervals& loops, arith::Analyzer& analyzer) const;

 private:
  /// One relation as a map, with the axes on either side.
  struct Relation {
    loops::LoopMap map;
    std::vector<IterVar> axes, loops;
  };
  AxisSet axes_of_threads() const;
  AxisSet axes_that_overrun(const Bounds& bounds, const AxisMap<PrimExpr>& values, arith::Analyzer& analyzer) const;

  Stage stage_;
  std::vector<Relation> down_;  // from the root axes to the loops
};

/// The relations of the stages of a schedule that no longer changes.
class RelationsOfStages {
 public:
  const Relations& operator[](const Stage& stage) { return of_.try_emplace(stage.get(), stage.get()).first->second; }

 private:
  std::unordered_map<const StageNode*, Relations> of_;
};

/// Some axes of an operation in terms of the leaves that run through them.
struct OverLeaves {
  Bounds domains;                    // of the axes, of their leaves and of all between
  AxisMap<PrimExpr> values;          // of the same, by variables of the leaves
  std::vector<PrimExpr> conditions;  // under which values are inside their domains; those that cannot be proven
};
/// A leaf is known by the variable that `variable_of` gives for it, or by its value where it has one iteration.
OverLeaves over_leaves(const StageNode* stage, const Relations& relations, const std::vector<IterVar>& axes,
                       const std::function<Var(const IterVar& leaf)>& variable_of);

/// Intervals of loop variables by their bounds, for `guards`.
loops::VarIntervals intervals_of(const Bounds& bounds);

}  // namespace tessera::te

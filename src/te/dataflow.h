#pragma once
// Changing the graph under a schedule: operations replaced, stages inserted.

#include "te/propagate.h"

namespace tessera::te {

/// Operations that others now stand for.
class Replacements {
 public:
  void set(const Operation& from, const Operation& to) { map_[from.get()] = {from, to}; }
  /// The tensor to read instead, after all replacements in turn; empty when it stays.
  Tensor other(const Tensor& tensor) const;

 private:
  std::unordered_map<const OperationNode*, std::pair<Operation, Operation>> map_;  // the key is kept alive
};

/// Redirects every stage's reads, producers first, so that changes travel to all that depend on them.
void replace_dataflow(const Schedule& sch, Replacements* replaced);

/// Gives a stage another operation and no loops but that operation's axes; its consumers read the new one.
void replace_stage_op(const Schedule& sch, const Stage& stage, const Operation& op);

/// The body where all conditions hold. Elsewhere reductions skip the point, and other bodies give zero.
PrimExpr only_inside(const std::vector<PrimExpr>& conditions, const PrimExpr& body);

enum class Side { Before, After };
/// A stage for `op` next to `where`, in the same group.
Stage insert_stage(const Schedule& sch, const Operation& op, const Stage& where, Side side);

}  // namespace tessera::te

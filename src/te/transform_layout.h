#pragma once
// Stages whose results lie in memory otherwise than they are written: `stage.transform_layout(lambda i, j: [j, i])`.

#include "te/schedule.h"
#include "tir/index_map.h"

namespace tessera::te {

/// Element `original_variables` goes to `transformed_variables`.
struct Transform : IterVarRelationNode {
  Array<IterVar> original_variables, transformed_variables;
  IndexMap forward_transformation, inverse_transformation;
  static constexpr NodeInfo info{"Transform", &IterVarRelationNode::info};
  static void fields(auto f) {
    f("original_variables", &Transform::original_variables);
    f("transformed_variables", &Transform::transformed_variables);
    f("forward_transformation", &Transform::forward_transformation);
    f("inverse_transformation", &Transform::inverse_transformation);
  }
};

/// Lays the stage's result out by `map`, which may leave elements unused; they hold zero. The loops of a compute
/// follow: its new axes are returned. `axis_separators` say where physical dimensions begin.
Array<IterVar> transform_layout(const Stage& stage, const IndexMap& map, const Array<PrimExpr>& axis_separators);

/// Rewrites the operations of a schedule that is being normalised: stages with a layout compute in it, and what reads
/// them reads there. The stages then have no Transform left, and stand for the new operations.
void apply_layouts(const Schedule& sch);

}  // namespace tessera::te

#pragma once
// A loop of which a run decides how often: its states, and whatever else its body changes, go from one iteration to the next.

#include "frontend/torch/scope.h"

namespace tessera::torch {

/// One iteration: the condition to go on, and the states after it.
struct Iteration {
  Value goes_on;
  Values states;
};
using IterationOf = std::function<Iteration(const Value& index, const Values& states)>;

/// The states after the last iteration. `limit` may be left out; `start` is the first condition.
Values loop_at_run_time(const Operation& in, const Expr& limit, const Expr& start, Values states,
                        const IterationOf& body);

/// A condition without dimensions.
Expr scalar_truth(const Operation& in, const Value& condition);

}  // namespace tessera::torch

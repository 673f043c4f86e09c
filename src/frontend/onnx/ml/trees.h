#pragma once
// Ensembles of decision trees.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

Values tree_ensemble(Operation& in);
Values tree_ensemble_regressor(Operation& in);

/// Scores (rows, targets) of trees in the older form, whose leaves give what lists that begin with `prefix` say. With one
/// target, whatever they are said to give to.
Expr tree_scores(Operation& in, const std::string& prefix, int64_t targets);
/// A list of numbers of an attribute: of floats, or as a tensor of doubles.
std::vector<double> tree_numbers(Operation& in, const std::string& name);

/// NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT of scores (rows, targets).
Expr with_post_transform(Operation& in, const Expr& scores, const std::string& name);

}  // namespace tessera::onnx

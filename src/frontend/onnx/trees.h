#pragma once
// Ensembles of decision trees.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

Values tree_ensemble(Operation& in);
Values tree_ensemble_regressor(Operation& in);

/// NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT of scores (rows, targets).
Expr with_post_transform(Operation& in, const Expr& scores, const std::string& name);

}  // namespace tessera::onnx

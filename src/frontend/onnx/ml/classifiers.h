#pragma once
// What classifiers of ai.onnx.ml share. Labels are whole numbers: those that are strings would be chosen at run time, where
// no strings exist.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

Values svm_classifier(Operation& in);
Values svm_regressor(Operation& in);

/// The first input as rows of float32.
Expr feature_rows(Operation& in);
/// A float32 tensor and number.
Expr float_constant(const std::vector<float>& values, const std::vector<int64_t>& shape);
Expr float_number(double value);
/// The labels by number. `ints`: the attribute of those that are whole numbers.
Ints class_labels(Operation& in, const char* ints);
/// The label of the greatest score of each row, the first of equal ones.
Expr label_of_greatest(const Ints& labels, const Expr& scores);

}  // namespace tessera::onnx

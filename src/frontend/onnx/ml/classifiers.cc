#include "frontend/onnx/ml/classifiers.h"

#include <algorithm>
#include <set>

#include "base/dtypes.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/ml/trees.h"
#include "ir/prim/ops.h"
#include "relay/attrs/reduce.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// The second label where `is_second` (rows, 1), else the first.
Expr one_of_two(const Expr& is_second, int64_t second, int64_t first) {
  return squeeze(where(is_second, make_ints({second}), make_ints({first})), int_array({1}));
}

// ---- linear ---------------------------------------------------------------------------------------------------------

Values linear_classifier(Operation& in) {
  std::vector<float> weights = in.numbers("coefficients"), biases = in.numbers("intercepts");
  Ints labels = class_labels(in, "classlabels_ints");
  Expr x = feature_rows(in);
  if (in.rank(x) != 2) in.invalid("features are rows of a matrix");
  const int64_t* extent = as_int(in.shape(x)[1]);
  if (!extent && biases.empty()) in.unknown("the number of features must be known", x);
  auto count = static_cast<int64_t>(weights.size());
  int64_t classes = !biases.empty() ? static_cast<int64_t>(biases.size()) : *extent > 0 ? count / *extent : 0;
  int64_t features = classes > 0 ? count / classes : 0;
  if (features < 1 || classes * features != count || (extent && *extent != features))
    in.invalid("the coefficients or intercepts do not fit the features");
  Expr scores = matmul_like_numpy(in, x, transpose(float_constant(weights, {classes, features})));
  if (!biases.empty()) scores = add(scores, float_constant(biases, {classes}));
  std::string transform = in.text("post_transform", "NONE");
  size_t named = labels.size();
  if (classes > 1) {
    if (static_cast<int64_t>(named) < classes) in.invalid("there are fewer labels than rows of coefficients");
    Expr label = label_of_greatest(labels, scores);
    return {label, with_post_transform(in, scores, transform)};
  }
  if (named == 2) {
    Expr label = one_of_two(greater(scores, float_number(0)), labels[1], labels[0]);
    return {label, with_post_transform(in, concatenate({negative(scores), scores}, 1), transform)};
  }
  if (named != 1) in.invalid("one row of coefficients has one label or two");
  Expr label = one_of_two(greater(scores, float_number(0)), labels[0], 0);
  return {label, with_post_transform(in, scores, transform)};
}

// ---- trees ----------------------------------------------------------------------------------------------------------

Values tree_ensemble_classifier(Operation& in) {
  Ints labels = class_labels(in, "classlabels_int64s"), ids = in.integers("class_ids");
  auto classes = static_cast<int64_t>(labels.size());
  std::string transform = in.text("post_transform", "NONE");
  bool is_one_sided = classes <= 2 && std::set<int64_t>(ids.begin(), ids.end()).size() == 1;
  std::vector<double> weights = tree_numbers(in, "class_weights");
  if (classes < 2) in.unsupported("fewer than two classes");
  if (!is_one_sided) {
    Expr scores = tree_scores(in, "class_", classes);
    return {label_of_greatest(labels, scores), with_post_transform(in, scores, transform)};
  }
  // Leaves speak of one class only: what they say is of the second one, as a probability where all weights are positive.
  bool is_positive = std::all_of(weights.begin(), weights.end(), [](double weight) { return weight >= 0; });
  Expr score = tree_scores(in, "class_", 1);
  Expr label = one_of_two(greater(score, float_number(is_positive ? 0.5 : 0)), labels[1], labels[0]);
  if (is_positive) return {label, concatenate({subtract(float_number(1), score), score}, 1)};
  return {label, with_post_transform(in, concatenate({negative(score), score}, 1), transform)};
}

/// Maps do not exist here: the scores stay a tensor, whose columns are the classes in the order of the attribute.
Values zip_map(Operation& in) { return {cast_if_needed(in, in[0], kFloat32)}; }

}  // namespace

Expr float_constant(const std::vector<float>& values, const std::vector<int64_t>& shape) {
  return numbers_of({values.begin(), values.end()}, shape, kFloat32);
}

Expr float_number(double value) { return make_scalar(value, kFloat32); }

Expr feature_rows(Operation& in) {
  Expr x = cast_if_needed(in, in[0], kFloat32);
  return in.rank(x) == 1 ? expand_dims(x, 0) : x;
}

Ints class_labels(Operation& in, const char* ints) {
  Ints labels = in.integers(ints);
  if (labels.empty() && !in.texts("classlabels_strings").empty())
    in.unsupported("labels that are strings; convert the model with whole numbers as labels");
  return labels;
}

Expr label_of_greatest(const Ints& labels, const Expr& scores) {
  Expr index =
      call_op("argmax", {scores}, make_attrs<ArgReduceAttrs>([](auto& attrs) { attrs.axis = int_array({1}); }));
  return take(make_ints(labels), index, 0);
}

Rows classifier_rows() {
  return {
      {"LinearClassifier", 1, linear_classifier, kMlDomain},
      {"SVMClassifier", 1, svm_classifier, kMlDomain},
      {"SVMRegressor", 1, svm_regressor, kMlDomain},
      {"TreeEnsembleClassifier", 1, tree_ensemble_classifier, kMlDomain},
      {"ZipMap", 1, zip_map, kMlDomain},
  };
}

}  // namespace tessera::onnx

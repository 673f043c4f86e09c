// Operators of ai.onnx.ml that are tensor operators under other names: features, labels, linear models.

#include <algorithm>
#include <cmath>
#include <map>

#include "base/dtypes.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/ml/texts.h"
#include "frontend/onnx/ml/trees.h"
#include "frontend/onnx/tensor_ops/checked_indices.h"
#include "relay/attrs/search.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }
std::vector<int64_t> length_of(const std::vector<float>& values) { return {static_cast<int64_t>(values.size())}; }

Values array_feature_extractor(Operation& in) {
  Expr x = in.rank(in[0]) == 1 ? expand_dims(in[0], 0) : in[0];
  return {checked_take(in, x, reshape(in[1], int_array({-1})), static_cast<int>(in.rank(x)) - 1)};
}

Values binarizer(Operation& in) {
  DataType dtype = in.dtype(in[0]);
  return {cast(greater(in[0], make_scalar(in.number("threshold", 0), dtype)), dtype)};
}

/// (x - offset) * scale, one of each for all features or for each.
Values scaler(Operation& in) {
  std::vector<float> offset = in.numbers("offset"), scale = in.numbers("scale");
  Expr out = cast_if_needed(in, in[0], kFloat32);
  if (!offset.empty()) out = subtract(out, numbers_of(doubles(offset), length_of(offset), kFloat32));
  if (!scale.empty()) out = multiply(out, numbers_of(doubles(scale), length_of(scale), kFloat32));
  return {out};
}

/// Rows divided by their norm; rows of zeros stay.
Values normalizer(Operation& in) {
  std::string kind = in.text("norm", "MAX");
  Expr x = cast_if_needed(in, in[0], kFloat32), norm;
  Array<PrimExpr> axis = int_array({static_cast<int64_t>(in.rank(x)) - 1});
  if (kind == "MAX") norm = reduce("max", x, axis, true);
  else if (kind == "L1") norm = sum(call_op("abs", {x}), axis, true);
  else if (kind == "L2") norm = sqrt(sum(multiply(x, x), axis, true));
  else in.invalid("the norm is MAX, L1 or L2");
  return {divide(x, where(equal(norm, make_scalar(0, kFloat32)), make_scalar(1, kFloat32), norm))};
}

/// What stands for missing values is replaced by a number for each feature, or one for all.
Values imputer(Operation& in) {
  DataType dtype = in.dtype(in[0]);
  if (!is_float(dtype)) {
    Ints values = in.integers("imputed_value_int64s");
    Expr missing = make_constant(int_scalar(in.integer("replaced_value_int64", 0), kInt64));
    return {where(equal(in[0], missing), make_ints(values), in[0])};
  }
  std::vector<float> values = in.numbers("imputed_value_floats");
  double missing = in.number("replaced_value_float", 0);
  Expr is_missing = std::isnan(missing) ? call_op("isnan", {in[0]}) : equal(in[0], make_scalar(missing, dtype));
  return {where(is_missing, numbers_of(doubles(values), length_of(values), dtype), in[0])};
}

Values feature_vectorizer(Operation& in) {
  Array<Expr> parts;
  for (size_t i = 0; i < in.size(); ++i) {
    Expr x = cast_if_needed(in, in[i], kFloat32);
    parts.push_back(in.rank(x) == 1 ? expand_dims(x, 1) : x);
  }
  return {concatenate(parts, 1)};
}

Values linear_regressor(Operation& in) {
  std::vector<float> weights = in.numbers("coefficients"), biases = in.numbers("intercepts");
  int64_t targets = in.integer("targets", 1);
  if (targets < 1 || static_cast<int64_t>(weights.size()) % targets)
    in.invalid("the coefficients do not fit the targets");
  int64_t features = static_cast<int64_t>(weights.size()) / targets;
  Expr matrix = numbers_of(doubles(weights), {targets, features}, kFloat32);
  Expr x = cast_if_needed(in, in[0], kFloat32);
  if (in.rank(x) == 1) x = expand_dims(x, 0);
  const int64_t* columns = as_int(in.shape(x)[in.rank(x) - 1]);  // those that have no coefficient do not count
  if (columns && *columns > features) x = slice(x, static_cast<int>(in.rank(x)) - 1, 0, features);
  Expr out = matmul_like_numpy(in, x, transpose(matrix));
  if (!biases.empty()) out = add(out, numbers_of(doubles(biases), length_of(biases), kFloat32));
  return {with_post_transform(in, out, in.text("post_transform", "NONE"))};
}

// ---- labels ---------------------------------------------------------------------------------------------------------

/// Keys or values of a label encoder: numbers as a tensor, or strings.
struct Column {
  std::vector<std::string> texts;
  std::optional<NDArray> numbers;
  size_t size() const { return numbers ? static_cast<size_t>(numbers->size()) : texts.size(); }
};

Column column_of(Operation& in, const std::string& prefix) {
  if (std::vector<std::string> texts = in.texts(prefix + "strings"); !texts.empty()) return {texts, {}};
  if (Ints ints = in.integers(prefix + "int64s"); !ints.empty()) return {{}, make_ints(ints).as<Constant>()->data};
  if (std::vector<float> floats = in.numbers(prefix + "floats"); !floats.empty())
    return {{}, numbers_of(doubles(floats), length_of(floats), kFloat32).as<Constant>()->data};
  if (std::optional<Value> value = in.tensor_value(prefix + "tensor")) {
    if (value->texts) return {value->texts->items, {}};
    return {{}, value->tensor.as<Constant>()->data};
  }
  in.invalid("there is neither " + prefix + "strings nor " + prefix + "int64s, floats or tensor");
}

/// The default of numbers: an attribute of their type, or a tensor of one element.
double default_number(Operation& in, DataType dtype) {
  if (std::optional<NDArray> given = in.tensor("default_tensor"))
    return read_float(given->dtype(), given->data<char>());
  return is_float(dtype) ? in.number("default_float", -0.0) : static_cast<double>(in.integer("default_int64", -1));
}

Values encode_texts(Operation& in, const Column& keys, const Column& values) {
  const Texts& x = in.texts(0);
  std::map<std::string, size_t> index_of;
  for (size_t i = 0; i < keys.texts.size(); ++i) index_of[keys.texts[i]] = i;
  if (!values.numbers) {
    std::string otherwise = in.text("default_string", "_Unused");
    Texts out{x.shape, {}};
    for (const std::string& item : x.items) {
      auto found = index_of.find(item);
      out.items.push_back(found == index_of.end() ? otherwise : values.texts[found->second]);
    }
    return {Value::of(std::move(out))};
  }
  DataType dtype = values.numbers->dtype();
  double otherwise = default_number(in, dtype);
  NDArray out = NDArray::empty(x.shape, dtype);
  char* at = out.data<char>();
  for (const std::string& item : x.items) {
    auto found = index_of.find(item);
    if (found == index_of.end()) write_float(dtype, otherwise, at);
    else std::copy_n(values.numbers->data<char>() + found->second * size_t(dtype.bytes()), dtype.bytes(), at);
    at += dtype.bytes();
  }
  return {make_constant(out)};
}

/// Numbers are looked up among sorted keys.
Values label_encoder(Operation& in) {
  Column keys = column_of(in, "keys_"), values = column_of(in, "values_");
  if (keys.size() != values.size()) in.invalid("there are not as many keys as values");
  if (in.is_texts(0)) {
    if (keys.numbers) in.invalid("the keys are numbers, the input is strings");
    return encode_texts(in, keys, values);
  }
  if (!keys.numbers) in.invalid("the keys are strings, the input is numbers");
  if (!values.numbers) in.unsupported("numbers that become strings");
  Expr x = in[0];
  DataType key_type = in.dtype(x), dtype = values.numbers->dtype();
  std::map<double, double> pairs;
  std::optional<double> of_nan;
  auto at = [](const NDArray& data, size_t i) {
    return read_float(data.dtype(), data.data<char>() + i * size_t(data.dtype().bytes()));
  };
  for (size_t i = 0; i < keys.size(); ++i) {
    double key = at(*keys.numbers, i), value = at(*values.numbers, i);
    if (std::isnan(key)) of_nan = value;
    else pairs[key] = value;
    constexpr double kExact = 9007199254740992;
    if (!is_float(key_type) && std::fabs(key) > kExact) in.unsupported("keys beyond 2^53");
  }
  std::vector<double> sorted, results;
  for (const auto& [key, value] : pairs) sorted.push_back(key), results.push_back(value);
  auto count = static_cast<int64_t>(sorted.size());
  Expr out = make_scalar(default_number(in, dtype), dtype);
  if (count == 0) {
    out = broadcast_to_like(out, x);
  } else {
    Expr table = numbers_of(sorted, {count}, key_type);
    Expr index = call_op("searchsorted", {table, reshape(x, int_array({-1}))},
                         make_attrs<SearchSortedAttrs>([](auto& attrs) { attrs.dtype = DataType::Int(64); }));
    index = clip(reshape_like(index, x), 0, static_cast<double>(count - 1));
    out = where(equal(take(table, index, 0), x), take(numbers_of(results, {count}, dtype), index, 0), out);
  }
  if (of_nan && is_float(key_type)) out = where(call_op("isnan", {x}), make_scalar(*of_nan, dtype), out);
  return {out};
}

}  // namespace

Rows ml_rows() {
  return {
      {"ArrayFeatureExtractor", 1, array_feature_extractor, kMlDomain},
      {"Binarizer", 1, binarizer, kMlDomain},
      {"FeatureVectorizer", 1, feature_vectorizer, kMlDomain},
      {"Imputer", 1, imputer, kMlDomain},
      {"LabelEncoder", 2, label_encoder, kMlDomain},
      {"LinearRegressor", 1, linear_regressor, kMlDomain},
      {"Normalizer", 1, normalizer, kMlDomain},
      {"Scaler", 1, scaler, kMlDomain},
      {"TreeEnsemble", 5, tree_ensemble, kMlDomain},
      {"TreeEnsembleRegressor", 1, tree_ensemble_regressor, kMlDomain},
  };
}

}  // namespace tessera::onnx

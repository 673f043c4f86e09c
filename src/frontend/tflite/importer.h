#pragma once
// From a TFLite model to a Relay module. Operators that are TensorFlow's by another name are converted by its table
// (frontend/tensorflow/operation.h); those of quantised tensors stay in integers (qnn).

#include "frontend/common/imported.h"
#include "frontend/tflite/model.h"
#include "ir/module.h"

namespace tessera::tflite {

using namespace frontend;  // NOLINT: what importers share is their language
using tensorflow::Attribute;
using tensorflow::Operation;
using tensorflow::Value;
using tensorflow::Values;

/// An operator of the model as its converter sees it: beside the expressions what the file says of the tensors.
class Node : public Operation {
 public:
  Node(Operation operation, std::vector<const Tensor*> in, std::vector<const Tensor*> out)
      : Operation(std::move(operation)), in_(std::move(in)), out_(std::move(out)) {}

  /// How the integers of an input or result are meant; not given where they are plain numbers.
  const Quantization& quantized_input(size_t i) const;
  const Quantization& quantized_output(size_t i) const;
  bool is_quantized() const;  // some input or result is
  DataType output_type(size_t i) const;
  const Tensor* output_tensor(size_t i) const { return i < out_.size() ? out_[i] : nullptr; }
  const Tensor* input_tensor(size_t i) const { return i < in_.size() ? in_[i] : nullptr; }
  /// The same with other expressions as inputs.
  Node with_inputs(Values inputs) const;

 private:
  std::vector<const Tensor*> in_, out_;  // null: left out
};

using Converter = std::function<Values(Node&)>;

/// What becomes of quantised tensors.
enum class Quantized {
  AsFloats,  // they are dequantized, and the results quantised again
  ByTable,   // the same; of one 8-bit input all 256 results are computed beforehand
  Moves,     // elements are moved or chosen: they stay integers, and are requantised only where scales differ
  ByItself,  // the converter looks at it
};

/// A builtin operator.
struct Row {
  int code;
  const char* name;
  Quantized quantized;
  Converter convert;
};
using Rows = std::vector<Row>;

Rows arithmetic_rows();
Rows contraction_rows();
Rows control_rows();
Rows plain_rows();
Rows recurrent_rows();

/// Custom operators, by name.
struct CustomRow {
  const char* name;
  Converter convert;
};
std::vector<CustomRow> detection_rows();

/// A converter of TensorFlow's table.
Converter as(const char* op);

struct ImportOptions {
  std::unordered_map<std::string, std::vector<int64_t>> shapes;  // of inputs; -1 is unknown
  std::unordered_map<std::string, DataType> dtypes;
  bool freeze_params = true;  // constants of the file become constants; else parameters of the function
};

/// All operators that no converter takes are listed in one error.
Imported import_model(const Model& model, const ImportOptions& options);

Survey survey_model(const Model& model, const ImportOptions& options);
/// Operators that some node of the model uses and no converter takes, sorted.
std::vector<std::string> unsupported_operators(const Model& model);
/// How an operator is called.
std::string operator_name(const Operator& node);

}  // namespace tessera::tflite

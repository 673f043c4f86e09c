#pragma once
// A TFLite file as plain structures. Names and data are views into the file's bytes, which the model keeps.

#include <memory>
#include <string_view>

#include "frontend/tensorflow/operation.h"
#include "runtime/ndarray.h"

namespace tessera::tflite {

/// Numbers of element types in files.
enum class TensorKind : int8_t {
  Float32 = 0,
  Float16 = 1,
  Int32 = 2,
  UInt8 = 3,
  Int64 = 4,
  String = 5,
  Bool = 6,
  Int16 = 7,
  Complex64 = 8,
  Int8 = 9,
  Float64 = 10,
  Complex128 = 11,
  UInt64 = 12,
  Resource = 13,
  Variant = 14,
  UInt32 = 15,
  UInt16 = 16,
  Int4 = 17,
  BFloat16 = 18,
  Int2 = 19,
  UInt4 = 20,
};
/// The type in memory; Void for those that no tensor has here. Integers of few bits take a byte each.
DataType memory_type(TensorKind kind);

/// value = scale * (integer - zero point); vectors vary along an axis.
struct Quantization {
  std::vector<float> scale;
  std::vector<int64_t> zero;
  int axis = 0;
  bool is_given() const { return !scale.empty(); }
};

struct Dimension {
  bool is_sparse = false;
  int64_t dense_size = 0;
  std::vector<int64_t> segments, indices;
};
/// How the elements of a tensor lie that are not zero.
struct Sparsity {
  std::vector<int32_t> order, blocks;
  std::vector<Dimension> dimensions;
};

struct Tensor {
  std::string_view name;
  TensorKind kind = TensorKind::Float32;
  std::vector<int32_t> shape, signature;  // signature: -1 where a run decides; empty: as `shape`
  std::string_view data;                  // of constants
  Quantization quantization;
  std::shared_ptr<const Sparsity> sparsity;
  bool is_variable = false;
};

struct Operator {
  int code = 0;             // of the builtin operators
  std::string_view custom;  // the name of another one
  int version = 1;
  std::vector<int32_t> inputs, outputs;  // indices of tensors; -1 is one that is left out
  tensorflow::Attributes attributes;     // of its options
};

struct Subgraph {
  std::string_view name;
  std::vector<Tensor> tensors;
  std::vector<int32_t> inputs, outputs;
  std::vector<Operator> operators;
};

/// Names for the inputs and outputs of a subgraph, as a program calls it.
struct Signature {
  std::string_view key;
  std::vector<std::pair<std::string_view, int64_t>> inputs, outputs;
  int64_t subgraph = 0;
};

struct Model {
  std::vector<Subgraph> subgraphs;
  std::vector<Signature> signatures;
  std::shared_ptr<const void> memory;  // what the views point into
};

/// True for bytes that carry the mark of a TFLite file.
bool is_tflite(std::string_view bytes);
/// Reads a model from memory, which is kept through `owner`; without one it is copied where it does not lie aligned.
Model parse_model(std::string_view bytes, std::shared_ptr<const void> owner);
Model read_model(const std::string& path);

/// The contents of a constant.
NDArray to_ndarray(const Tensor& tensor);

}  // namespace tessera::tflite
